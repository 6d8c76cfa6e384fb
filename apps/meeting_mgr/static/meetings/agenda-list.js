// The agenda as it stands: what is done, what is on, what comes when, and who can take part.
import { attempt, button } from 'citywise/doing.js';
import { h, keyed, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { attendance, attendanceWords, canWords, countWords, nameOf, namesOf } from './agenda-words.js';
import { verbs } from './ability-words.js';
import { itemCells } from './item-cells.js';
import { isOpen } from './meeting-store.js';

export function agendaList(store) {
  const list = h('ol', { class: 'agenda' });
  const none = h('p', { class: 'empty' }, t('meetings.agenda.none'));
  const element = h('div', {}, list, none);

  function update(view) {
    none.hidden = view.agenda.length > 0;
    keyed(list, view.agenda, ({ id }) => id, () => {
      const card = itemCard(store);
      return Object.assign(card.element, { card });
    }, (row, item) => row.card.update(item, view));
  }

  return { element, update };
}

function itemCard(store) {
  let item = null;
  const who = h('p', { class: 'item-who' });
  const words = h('p', {});
  const needs = h('p', { class: 'quiet' });
  const go = button(t('meetings.do.go_to'), () => goTo(), { small: true });
  const summary = h('summary', {}, t('meetings.item.who'));
  const more = h('details', { class: 'why' }, summary, words, needs, h('p', { class: 'person-does' }, go));
  const cells = itemCells(who, more);
  const { element } = cells;

  function update(current, view) {
    item = current;
    element.dataset.item = item.id;
    cells.update(item, nameOf(view, item.speaker));
    showWho(view);
  }

  function showWho(view) {
    const isAhead = isOpen(view) && (item.state === 'open' || item.state === 'current');
    const found = attendance(item);
    const { can, unknown, cannot, missing } = found;
    who.hidden = more.hidden = !isAhead;
    if (!isAhead) return;
    if (missing.length) who.dataset.ok = 'false';
    else if (cannot.length || unknown.length || !can.length) delete who.dataset.ok;
    else who.dataset.ok = 'true';
    setText(who, [countWords(found), cannot.length ? attendanceWords(view, item) : null].filter(Boolean).join(' · '));
    const named = cannot.length ? `${attendanceWords(view, item, Infinity)}.` : '';
    setText(words, [can.length ? t('meetings.item.canall', { names: canWords(view, item) }) : unknown.length ? '' : t('meetings.item.nobody'),
      unknown.length ? t('meetings.item.whounknown', { names: namesOf(view, unknown) }) : '', named].filter(Boolean).join(' '));
    setText(needs, [item.needs.length ? t('meetings.item.needs', { what: verbs(item.needs) }) : null,
      item.listeners.length ? t('meetings.item.listeners', { what: verbs(item.listeners) }) : null].filter(Boolean).join(' '));
    summary.setAttribute('aria-label', `${t('meetings.item.who')}: ${item.title}`);
    go.setAttribute('aria-label', `${t('meetings.do.go_to')}: ${item.title}`);
    go.hidden = view.state !== 'running' || item.state !== 'open';
  }

  function goTo() {
    const before = store.view.current?.item;
    return attempt(() => store.act('go_to', { item: item.id }), t('meetings.said.next', { title: item.title }), before ? () => store.act('go_to', { item: before }) : null);
  }

  return { element, update };
}
