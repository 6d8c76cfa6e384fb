// One's own word in the meeting: the hand, mute, where one is; and what the host asks.
import { h, icon, setText } from '../elements.js';
import { attempt, button } from '../meetings/doing.js';
import { radioChips } from '../plan/radio-chips.js';
import { t } from '../strings.js';

const PLACES = ['unknown', 'private', 'public'];

/** What is answered to what the host asks: the word on the button and what is then said. */
const ANSWERS = { mute: { muted: true }, unmute: { muted: false }, speak: { hand: false } };

const toggle = (symbol, act) => {
  const word = h('span', {});
  const button = h('button', { type: 'button', class: 'button meet-toggle', onclick: act }, icon(symbol), word);
  return { button, word };
};

export function ownWord(seat) {
  const say = (word, said) => attempt(() => seat.say(word), said);
  const hand = toggle('hand', () => say({ hand: !seat.me.hand }, t(seat.me.hand ? 'meet.said.lowered' : 'meet.said.raised')));
  const mute = toggle('muted', () => say({ muted: !seat.me.muted }, t(seat.me.muted ? 'meet.said.unmuted' : 'meet.said.muted')));
  const place = radioChips({
    name: 'surroundings', title: t('meet.place'), choices: PLACES.map((each) => [each, t(`meet.place.${each}`)]),
    onChange: (value) => say({ surroundings: value }, t(`meet.said.${value}`)),
  });
  const asks = h('p', {});
  const answer = button('', () => say(ANSWERS[seat.me.asked.what], t(`meet.answered.${seat.me.asked.what}`)), { primary: true });
  const asked = h('div', { class: 'meet-asked', role: 'status' }, icon('bell'), asks, answer);
  const element = h('section', { class: 'meet-card own-word', 'aria-label': t('meet.word') },
    h('div', { class: 'meet-toggles' }, hand.button, mute.button), place.element);

  function update({ me }) {
    hand.button.setAttribute('aria-pressed', String(me.hand));
    mute.button.setAttribute('aria-pressed', String(me.muted));
    setText(hand.word, t(me.hand ? 'meet.hand.lower' : 'meet.hand.raise'));
    setText(mute.word, t(me.muted ? 'meet.unmute' : 'meet.mute'));
    place.set(me.says);
    asked.hidden = !me.asked;
    if (!me.asked) return;
    setText(asks, t(`meet.asked.${me.asked.what}`));
    setText(answer, t(`meet.answer.${me.asked.what}`));
  }

  return { element, asked, update };
}
