// One person in the meeting: five icons, why not, and what the host can ask of them.
import { attempt, button, confirmed } from 'citywise/doing.js';
import { h, icon, keyed, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { abilityIcons } from './ability-icons.js';
import { abilityWords, CAPABILITIES, lacking, lackingWords, placeWords, since } from './ability-words.js';
import { isOpen } from './meeting-store.js';

const WORDS = ['', 'on', 'off']; // As sensed, or the host's word.
const MARKED = { hand: 'hand', muted: 'muted', presents: 'share' }; // Marks with an icon.

export function personCard(store) {
  let person = null;
  const name = h('h3', {});
  const marks = h('p', { class: 'person-marks' });
  const icons = abilityIcons();
  const why = h('ul', { class: 'abilities-why' });
  const called = () => (person.device > 1 ? t('meetings.device', { name: person.name, n: person.device }) : person.name);
  const said = (key) => t(`meetings.said.${key}`, { name: called() });
  const act = (what, more) => store.act(what, { person: person.id, ...more });
  const ask = button(t('meetings.do.ask'), () => attempt(() => act('ask_to_speak'), said('ask')), { small: true, symbol: icon('speak') });
  const mute = button('', () => turnMute(), { small: true, symbol: icon('muted') });
  const muteWord = mute.lastChild;
  const present = button(t('meetings.do.present'), () => attempt(() => act('ask_to_present'), said('present')), { small: true, symbol: icon('share') });
  const hand = button(t('meetings.do.hand_over'), () => handOver(), { small: true });
  const remove = button(t('meetings.do.remove'), () => sendAway(), { small: true, danger: true });
  const rows = CAPABILITIES.map((capability) => overrideRow(capability, (word) => setWord(capability, word)));
  const summary = h('summary', {}, t('meetings.details'));
  const more = h('details', { class: 'why person-more' }, summary, h('ul', { class: 'override-rows' }, ...rows.map(({ element }) => element)),
    h('div', { class: 'person-does' }, hand, present, remove));
  const does = h('div', { class: 'person-does' }, ask, mute);
  const element = h('li', { class: 'person' }, h('div', { class: 'person-head' }, name, marks), icons.element, why, more, does);

  function update(current, view, now) {
    person = current;
    element.dataset.person = person.id;
    element.setAttribute('aria-label', called());
    element.toggleAttribute('data-left', Boolean(person.left || person.away));
    setText(name, called());
    showMarks(view);
    const isOver = Boolean(person.left) || !isOpen(view);
    more.hidden = isOver; // Who is away has a seat still, and can be removed.
    icons.element.hidden = why.hidden = does.hidden = isOver || Boolean(person.away);
    if (isOver) return;
    icons.update(person, now);
    keyed(why, lacking(person), ({ state, because }) => `${state} ${because}`, ({ state }) => h('li', { 'data-state': state }),
      (line, group) => setText(line, [lackingWords(group), since(group.since, now)].filter(Boolean).join(' · ')));
    setText(muteWord, t(person.muted ? 'meetings.do.unmute' : 'meetings.do.mute'));
    for (const [each, word] of [[ask, t('meetings.do.ask')], [mute, muteWord.textContent], [present, t('meetings.do.present')], [hand, t('meetings.do.hand_over')], [remove, t('meetings.do.remove')]]) {
      each.setAttribute('aria-label', `${word}: ${called()}`);
    }
    summary.setAttribute('aria-label', `${t('meetings.details')}: ${called()}`);
    hand.hidden = !view.current?.item || !person.attendee;
    rows.forEach((row) => row.update(person, now));
  }

  function showMarks(view) {
    const speaks = view.current && view.agenda.some(({ id, speaker }) => id === view.current.item && speaker && speaker === person.attendee);
    const isThere = !person.left && !person.away;
    const words = [speaks && 'speaker', person.left && 'left', person.away && 'away', person.hand && isThere && 'hand', person.muted && isThere && 'muted', person.presents && isThere && isOpen(view) && 'presents', person.asked && isThere && `asked.${person.asked.what}`, person.arrives && !person.left && 'arrives', !person.attendee && 'uninvited', person.attendee && person.required === false && 'optional'].filter(Boolean);
    keyed(marks, words, (word) => word, (word) => h('span', { class: 'mark', 'data-mark': word }, MARKED[word] ? icon(MARKED[word]) : null, word === 'arrives' ? placeWords(person) : t(`meetings.mark.${word}`)),
      (mark, word) => word === 'arrives' && setText(mark, placeWords(person)));
  }

  const turnMute = () => attempt(() => act(person.muted ? 'unmute' : 'mute'), said(person.muted ? 'unmute' : 'mute'));

  function handOver() {
    const item = store.item(store.view.current?.item);
    const before = store.view.people.find(({ attendee }) => attendee && attendee === item?.speaker);
    const undo = before && (() => store.act('hand_over', { person: before.id, item: item.id }));
    return attempt(() => act('hand_over', { item: item.id }), said('hand_over'), undo);
  }

  function setWord(capability, word) {
    const before = person.overrides?.[capability] ?? null;
    const words = (value) => store.override(person.id, { [capability]: value });
    return attempt(() => words(word || null), said('override'), () => words(before));
  }

  async function sendAway() {
    const meant = await confirmed({ title: t('meetings.remove.title', { name: called() }), text: t('meetings.remove.text'), word: t('meetings.do.remove'), tick: t('meetings.remove.keep') });
    if (meant) await attempt(() => act('remove', { keep_link: meant.isTicked }), said(meant.isTicked ? 'remove' : 'remove.link'));
  }

  return { element, update };
}

/** A line that tells of one capability, with the host's own word on it. */
function overrideRow(capability, onWord) {
  const words = h('span', {});
  let known = '';
  const select = h('select', { onchange: () => say() }, ...WORDS.map((word) => h('option', { value: word }, t(`meetings.word.${word || 'sensed'}`))));
  const element = h('li', {}, words, select);

  async function say() {
    if (!(await onWord(select.value))) select.value = known;
  }

  function update(person, now) {
    known = person.overrides?.[capability] ?? '';
    setText(words, abilityWords(person, capability, now));
    select.setAttribute('aria-label', t('meetings.override', { what: t(`meetings.ability.${capability}`), name: person.name }));
    if (document.activeElement !== select) select.value = known;
  }

  return { element, update };
}
