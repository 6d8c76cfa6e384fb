// What has happened in the meeting, newest first; what is new is said once to screen readers.
import { ask, query } from 'citywise/api.js';
import { button } from 'citywise/doing.js';
import { h, keyed, setHidden, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { atSecondOf } from 'citywise/times.js';
import { happenedWords } from './happened-words.js';
import { pathOf } from './meeting-store.js';

const SHOWN = 5;
const PAGE = 30;
const MOST = 200; // What was before stands in the minutes.
const APART_MS = 1000; // From one question to the next, however much happens.
const EVERY_MS = 1500;
const RETRY_MS = 3000;
const MOST_SAID = 4;

export function meetingNotices(store) {
  let entries = []; // As the meeting has them now: what somebody withdraws goes here too.
  let isMore = false; // Whether there are earlier ones.
  let limit = PAGE;
  let opened = null; // The time of the first view.
  let lastSaid = null; // The newest entry that was there before.
  let waiting = [];
  let isLoading = false;
  let hurry = () => null; // Ends the pause.
  let isStale = false; // Something has happened since it was asked what has.
  const said = h('p', { class: 'visually-hidden', role: 'log', 'aria-live': 'polite', 'aria-atomic': 'true' });
  const none = h('p', { class: 'quiet' }, t('meetings.notices.none'));
  const newest = h('ol', { class: 'notices-log' });
  const earlier = h('ol', { class: 'notices-log' });
  const beyond = button(t('meetings.notices.more'), () => lookBack(), { small: true });
  const more = h('details', { class: 'why', hidden: true }, h('summary', {}, t('meetings.notices.earlier')), earlier, beyond);
  const element = h('div', {}, newest, none, more, said);
  setInterval(() => say(), EVERY_MS);

  /** Several at once are said as one, so that nobody is read to without end. */
  function say() {
    if (!waiting.length) return;
    said.textContent = waiting.slice(-MOST_SAID).join(' ');
    waiting = [];
  }

  /** Read what has happened; whatever happens meanwhile is read after it, at once but for a pause. */
  async function load() {
    opened ??= Date.parse(store.view.now);
    isStale = true;
    if (isLoading) return;
    isLoading = true;
    while (isStale) {
      isStale = false;
      await Promise.all([ask(pathOf(store.id, `/entries${query({ limit })}`)).then(take, again), pause()]);
    }
    isLoading = false;
  }

  function pause() {
    return new Promise((end) => {
      hurry = end;
      setTimeout(end, APART_MS);
    });
  }

  function again(error) {
    if (!error.status || error.status >= 500) setTimeout(load, RETRY_MS);
  }

  function take(page) {
    ({ entries } = page);
    isMore = page.next !== null && limit < MOST;
    hear();
    show();
  }

  /** What was there when the page was opened is no news. */
  function hear() {
    const fresh = entries.filter(({ id, at }) => (lastSaid === null ? Date.parse(at) > opened : id > lastSaid));
    waiting.push(...happenedWords(fresh, store.view).reverse().map(({ words }) => words));
    lastSaid = Math.max(lastSaid ?? 0, ...entries.map(({ id }) => id));
  }

  function lookBack() {
    limit = Math.min(limit + PAGE, MOST);
    hurry();
    load();
  }

  function show() {
    const notices = happenedWords(entries, store.view);
    const line = () => h('li', {}, h('span', { class: 'item-time' }), h('span', {}));
    const fill = (list, some) => keyed(list, some, ({ id }) => id, line, (row, { at, words, kind }) => {
      row.dataset.kind = kind;
      setText(row.firstChild, atSecondOf(at, store.now()));
      setText(row.lastChild, words);
    });
    fill(newest, notices.slice(0, SHOWN));
    fill(earlier, notices.slice(SHOWN));
    none.hidden = notices.length > 0;
    more.hidden = notices.length <= SHOWN && !isMore;
    setHidden(beyond, !isMore, () => more.firstChild);
  }

  store.addEventListener('view', load);
  return { element, update: () => null };
}
