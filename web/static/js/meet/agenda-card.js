// The agenda as one sees it: what comes when, whose it is, and what is one's own.
import { h, keyed, setText } from '../elements.js';
import { t } from '../strings.js';
import { atMinute, duration } from '../times.js';

function row() {
  const time = h('span', { class: 'item-time' });
  const title = h('h3', {});
  const state = h('span', { class: 'item-state' });
  const facts = h('p', { class: 'item-facts quiet' });
  const element = h('li', { class: 'item' }, time, h('div', { class: 'item-what' }, h('div', { class: 'item-title' }, title, state), facts));
  return Object.assign(element, { cells: { time, title, state, facts } });
}

/** “8 min left”, or by how much it is over time. */
function leftWords(item, began, now) {
  const left = Math.round(item.minutes * 60 - (now - Date.parse(began)) / 1000);
  return left < 0 ? t('meetings.now.late', { time: duration(-left) }) : t('meetings.now.left', { time: duration(left) });
}

/** “Talk · 20 min · Bob · sensitive” */
function factWords({ type, minutes, mine, speaker, sensitive }) {
  const whose = mine ? t('meet.agenda.mine') : speaker;
  return [t(`meetings.type.${type}`), duration(minutes * 60), whose, sensitive && t('meetings.item.sensitive')].filter(Boolean).join(' · ');
}

export function agendaCard() {
  const list = h('ol', { class: 'agenda' });
  const none = h('p', { class: 'empty' }, t('meet.agenda.none'));
  const element = h('section', { class: 'meet-agenda', 'aria-labelledby': 'agenda-title' }, h('h2', { id: 'agenda-title' }, t('meetings.agenda')), list, none);

  function update(view, now) {
    none.hidden = view.agenda.length > 0;
    keyed(list, view.agenda, ({ id }) => id, row, (element, item) => {
      const { cells } = element;
      const begins = item.began ?? item.starts;
      element.dataset.state = item.state;
      element.toggleAttribute('data-mine', item.mine);
      setText(cells.time, item.state === 'put_off' || !begins ? '–' : atMinute(Date.parse(begins)));
      setText(cells.title, item.title);
      const isCurrent = view.current?.item === item.id;
      const word = item.state === 'open' ? '' : t(`meetings.item.${item.state}`);
      setText(cells.state, isCurrent ? `${word} · ${leftWords(item, view.current.began, now)}` : word);
      setText(cells.facts, factWords(item));
    });
  }

  return { element, update };
}
