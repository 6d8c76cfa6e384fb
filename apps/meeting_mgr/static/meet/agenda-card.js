// The agenda as one sees it: what comes when, whose it is, and what is one's own.
import { h, keyed } from 'citywise/elements.js';
import { itemCells } from '../meetings/item-cells.js';
import { leftWords } from '../meetings/when-words.js';
import { t } from 'citywise/strings.js';

export function agendaCard() {
  const list = h('ol', { class: 'agenda' });
  const none = h('p', { class: 'empty' }, t('meet.agenda.none'));
  const element = h('section', { class: 'meet-agenda', 'aria-labelledby': 'agenda-title' }, h('h2', { id: 'agenda-title' }, t('meetings.agenda')), list, none);

  function update({ agenda, current }, now) {
    none.hidden = agenda.length > 0;
    keyed(list, agenda, ({ id }) => id, () => {
      const cells = itemCells();
      return Object.assign(cells.element, { cells });
    }, (row, item) => {
      row.toggleAttribute('data-mine', item.mine);
      const left = current?.item === item.id ? leftWords(item, current.began, now) : null;
      row.cells.update(item, item.mine ? t('meet.agenda.mine') : item.speaker, left);
    });
  }

  return { element, update };
}
