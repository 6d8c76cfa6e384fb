// All who are in the meeting, to be filtered and sorted, and who is still missed.
import { h, keyed, setText } from 'citywise/elements.js';
import { locale, t } from 'citywise/strings.js';
import { abilityOf, CAPABILITIES } from './ability-words.js';
import { isOpen } from './meeting-store.js';
import { personCard } from './person-card.js';

const isThere = ({ left, away }) => !left && !away;
const isOn = (capability) => (person) => abilityOf(person, capability).state === 'on';
const FILTERS = {
  all: () => true,
  speak: (person) => isThere(person) && isOn('speak')(person),
  share: (person) => isThere(person) && isOn('share')(person),
  limited: (person) => isThere(person) && CAPABILITIES.some((each) => abilityOf(person, each).state === 'off'),
  hand: (person) => isThere(person) && person.hand,
};
const byName = (a, b) => a.name.localeCompare(b.name, locale);
const first = (test) => (a, b) => test(b) - test(a);
const ORDERS = {
  name: byName,
  speak: first(isOn('speak')),
  share: first(isOn('share')),
  required: first(({ required }) => Boolean(required)),
  room: first(({ presence }) => presence?.state === 'room'),
};

/** “1 of 3 can speak now · 1 unknown”: people, who can what one of their devices lets them. */
function summaryWords(people) {
  const alike = [...Map.groupBy(people, ({ attendee, id }) => attendee ?? id).values()];
  const any = (state) => (devices) => devices.some((each) => abilityOf(each, 'speak').state === state);
  const unknown = alike.filter((devices) => !any('on')(devices) && any('unknown')(devices)).length;
  return [t('meetings.summary', { n: alike.filter(any('on')).length, count: alike.length }), unknown && t('meetings.item.unknown', { count: unknown })].filter(Boolean).join(' · ');
}

export function peopleList(store) {
  let filter = 'all';
  const summary = h('p', { class: 'people-summary' });
  const chips = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, h('button', {
    type: 'button', class: 'filter-chip', 'aria-pressed': String(name === filter), onclick: () => choose(name),
  })]));
  const order = h('select', { id: 'people-order', onchange: () => show() }, ...Object.keys(ORDERS).map((name) => h('option', { value: name }, t(`meetings.order.${name}`))));
  const list = h('ul', { class: 'people' });
  const none = h('p', { class: 'empty', hidden: true });
  const absent = h('p', { class: 'people-absent' });
  const tools = h('div', { class: 'people-tools' }, h('div', { class: 'filter-chips', role: 'group', 'aria-label': t('meetings.filter') }, ...Object.values(chips)),
    h('span', { class: 'people-order' }, h('label', { for: 'people-order' }, t('meetings.order')), order));
  const element = h('div', { class: 'people-panel' }, summary, tools, list, none, absent);

  function choose(name) {
    filter = name;
    for (const [each, chip] of Object.entries(chips)) chip.setAttribute('aria-pressed', String(each === name));
    show();
  }

  const show = () => update(store.view, store.now());

  function update(view, now) {
    const there = view.people.filter(isThere);
    setText(summary, summaryWords(there));
    summary.hidden = tools.hidden = !isOpen(view) || there.length === 0;
    for (const [name, chip] of Object.entries(chips)) setText(chip, t(`meetings.filter.${name}`, { n: view.people.filter(FILTERS[name]).length }));
    const shown = view.people.filter(FILTERS[filter]).sort((a, b) => isThere(b) - isThere(a) || Boolean(a.left) - Boolean(b.left) || ORDERS[order.value](a, b) || byName(a, b));
    keyed(list, shown, ({ id }) => id, () => {
      const card = personCard(store);
      return Object.assign(card.element, { card });
    }, (item, person) => item.card.update(person, view, now));
    none.hidden = shown.length > 0;
    setText(none, t(view.people.length ? 'meetings.none.like' : 'meetings.none'));
    absent.hidden = view.absent.length === 0;
    setText(absent, t('meetings.absent', { names: view.absent.map(({ name, required }) => (required ? name : t('meetings.absent.optional', { name }))).join(', ') }));
  }

  return { element, update };
}
