// What has happened in the meeting, newest first; what is new is said once to screen readers.
import { h, keyed } from '../elements.js';
import { t } from '../strings.js';
import { atSecond } from '../times.js';
import { changesBetween } from './view-changes.js';

const MOST = 30;
const SHOWN = 5;
const EVERY_MS = 1500;
const MOST_SAID = 4;

export function meetingNotices(store) {
  let notices = [];
  let waiting = [];
  let serial = 0;
  const said = h('p', { class: 'visually-hidden', role: 'log', 'aria-live': 'polite', 'aria-atomic': 'true' });
  const none = h('p', { class: 'quiet' }, t('meetings.notices.none'));
  const recent = h('ol', { class: 'notices-log' });
  const earlier = h('ol', { class: 'notices-log' });
  const more = h('details', { class: 'why', hidden: true }, h('summary', {}, t('meetings.notices.earlier')), earlier);
  const element = h('div', {}, recent, none, more, said);
  setInterval(() => say(), EVERY_MS);

  /** Several at once are said as one, so that nobody is read to without end. */
  function say() {
    if (!waiting.length) return;
    said.textContent = waiting.slice(-MOST_SAID).join(' ');
    waiting = [];
  }

  function show() {
    const line = ({ at, words, kind }) => h('li', { 'data-kind': kind }, h('span', { class: 'item-time' }, atSecond(at)), h('span', {}, words));
    const fill = (list, some) => keyed(list, some, ({ id }) => id, line, () => null);
    fill(recent, notices.slice(0, SHOWN));
    fill(earlier, notices.slice(SHOWN));
    none.hidden = notices.length > 0;
    more.hidden = notices.length <= SHOWN;
  }

  return {
    element,
    update: () => null,
    /** Hear of a new view; `before` is the last one, or null for the first. */
    hear(before, view) {
      if (!before) return;
      const at = store.now();
      const fresh = changesBetween(before, view).map(({ kind, words }) => ({ kind, words, at, id: (serial += 1) }));
      if (!fresh.length) return;
      waiting.push(...fresh.map(({ words }) => words));
      notices = [...fresh.reverse(), ...notices].slice(0, MOST);
      show();
    },
  };
}
