// One's own word in the meeting: the hand, mute, where one is; and what the host asks.
import { attempt, button } from 'citywise/doing.js';
import { h, icon, setText } from 'citywise/elements.js';
import { abilityOf, withWhy } from '../meetings/ability-words.js';
import { radioChips } from 'citywise/radio-chips.js';
import { t } from 'citywise/strings.js';

const PLACES = ['unknown', 'private', 'public'];

/** What is answered to what the host asks: the word on the button and what is then said. */
const ANSWERS = { mute: { muted: true }, unmute: { muted: false }, speak: { hand: false }, present: { presents: true } };

const toggle = (symbol, act) => {
  const word = h('span', {});
  const button = h('button', { type: 'button', class: 'button meet-toggle', onclick: act }, icon(symbol), word);
  return { button, word };
};

/** The part; one's screen is shown in the `room`, where the meeting has one. */
export function ownWord(seat, room) {
  const say = (word, said) => attempt(() => seat.say(word), said);
  const hand = toggle('hand', () => say({ hand: !seat.me.hand }, t(seat.me.hand ? 'meet.said.lowered' : 'meet.said.raised')));
  const mute = toggle('muted', () => say({ muted: !seat.me.muted }, t(seat.me.muted ? 'meet.said.unmuted' : 'meet.said.muted')));
  const stop = toggle('share', () => say({ presents: false }, t('meet.said.presents')));
  const place = radioChips({
    name: 'surroundings', title: t('meet.place'), choices: PLACES.map((each) => [each, t(`meet.place.${each}`)]),
    onChange: (value) => choose(value),
  });
  let chosen = null; // Until the meeting has heard it.
  const asks = h('p', {});
  const answer = button('', () => reply(), { primary: true });
  const refuse = button(t('meet.refuse.present'), () => say({ presents: false }, t('meet.refused.present')));
  const asked = h('div', { class: 'meet-asked', role: 'status' }, icon('bell'), asks, answer, refuse);
  const element = h('section', { class: 'meet-card own-word', 'aria-label': t('meet.word') },
    h('div', { class: 'meet-toggles' }, hand.button, mute.button, stop.button), place.element);

  function update({ me }) {
    hand.button.setAttribute('aria-pressed', String(me.hand));
    mute.button.setAttribute('aria-pressed', String(me.muted));
    setText(hand.word, t(me.hand ? 'meet.hand.lower' : 'meet.hand.raise'));
    setText(mute.word, t(me.muted ? 'meet.unmute' : 'meet.mute'));
    setText(stop.word, t('meet.present.stop'));
    place.set(chosen ?? me.says);
    stop.button.hidden = !me.presents || room.isOpen; // There it is stopped where it is shown.
    asked.hidden = !me.asked;
    if (me.asked) showAsked(me);
  }

  async function choose(value) {
    chosen = value;
    await say({ surroundings: value }, t(`meet.said.${value}`));
    if (chosen !== value) return; // Something else was chosen meanwhile.
    chosen = null;
    place.set(seat.me.says);
  }

  function showAsked({ asked: { what }, ...me }) {
    const share = abilityOf(me, 'share');
    const isHindered = what === 'present' && share.state === 'off';
    const why = isHindered ? withWhy(t('meet.is.off', { what: t('meetings.can.share') }), share.because) : '';
    setText(asks, [t(`meet.asked.${what}`), why].filter(Boolean).join(' '));
    setText(answer, t(what === 'present' && room.isClosed ? 'meet.room.open' : `meet.answer.${what}`));
    answer.disabled = isHindered;
    refuse.hidden = what !== 'present';
  }

  /** A screen is shown in the room, where there is one: it says itself that it is. */
  function reply() {
    const { what } = seat.me.asked;
    if (what === 'present' && room.isClosed) return room.enter();
    if (what === 'present' && room.isOpen) return room.shareScreen();
    return say(ANSWERS[what], t(`meet.answered.${what}`));
  }

  return { element, asked, update };
}
