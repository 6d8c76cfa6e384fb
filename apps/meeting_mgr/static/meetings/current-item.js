// What the meeting is at: the item, whose it is, the time left, and who cannot take part.
import { attempt, button } from 'citywise/doing.js';
import { h, icon, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { atMinute } from 'citywise/times.js';
import { attendanceWords, nameOf, openItems } from './agenda-words.js';
import { leftWords, overTime } from './when-words.js';

const MORE_MINUTES = 5;
const MINUTE_S = 60;

export function currentItem(store) {
  const kicker = h('p', { class: 'now-kicker' });
  const title = h('h2', { class: 'now-title' });
  const who = h('p', { class: 'now-who' });
  const away = h('p', { class: 'now-away' });
  const left = h('p', { class: 'now-left' });
  const bar = h('progress', { max: 1, 'aria-label': t('meetings.now.done') });
  const next = button(t('meetings.do.next'), () => goOn(store), { primary: true, symbol: icon('next') });
  const more = button(t('meetings.do.extend', { n: MORE_MINUTES }), () => attempt(() => store.act('extend', { minutes: MORE_MINUTES }), t('meetings.said.extend', { n: MORE_MINUTES })));
  const element = h('section', { class: 'now-bar', 'aria-label': t('meetings.now') },
    h('div', { class: 'now-what' }, kicker, title, who, away),
    h('div', { class: 'now-time' }, left, bar, h('div', { class: 'now-does' }, next, more)));

  function update(view, now) {
    const item = view.agenda.find(({ id }) => id === view.current?.item);
    element.hidden = view.state !== 'running';
    if (element.hidden) return;
    const following = openItems(view)[0];
    setText(kicker, item ? t('meetings.now.number', { n: view.agenda.indexOf(item) + 1, count: view.agenda.length }) : t('meetings.now'));
    setText(title, item?.title ?? t(following ? 'meetings.now.none' : 'meetings.now.over'));
    setText(who, item ? [item.speaker && nameOf(view, item.speaker), item.sensitive && t('meetings.item.sensitive')].filter(Boolean).join(' · ') : '');
    setText(away, item ? attendanceWords(view, item) : '');
    more.hidden = bar.hidden = left.hidden = !item;
    next.lastChild.textContent = t(following ? 'meetings.do.next' : 'meetings.do.finish');
    next.hidden = !item && !following;
    if (item) showTime(view, item, now);
  }

  function showTime(view, item, now) {
    const { began } = view.current;
    const over = overTime(item, began, now);
    const whole = item.minutes * MINUTE_S;
    setText(left, leftWords(item, began, now));
    left.toggleAttribute('data-late', over > 0);
    left.title = t('meetings.since', { time: atMinute(Date.parse(began)) });
    bar.value = Math.min(1, (over + whole) / whole);
  }

  return { element, update };
}

/** The next item; the way back is to the one before. */
async function goOn(store) {
  const before = store.view.current?.item;
  const following = openItems(store.view)[0];
  const said = following ? t('meetings.said.next', { title: following.title }) : t('meetings.said.last');
  await attempt(() => store.act('next', before ? { item: before } : {}), said, before ? () => store.act('go_to', { item: before }) : null);
}
