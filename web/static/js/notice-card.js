// One notice as people read it.
import { query } from './api.js';
import { city } from './city.js';
import { amendedText } from './corrections.js';
import { h, icon, keyed, setText } from './elements.js';
import { levelMeter } from './levels.js';
import { noticeActions } from './notice-actions.js';
import { adviceOf } from './notice-advice.js';
import { aboutName, noticeName, whatHappened } from './notice-words.js';
import { showOnMap } from './show-event.js';
import { t } from './strings.js';
import { at, duration } from './times.js';

/** Where it is said why an instance told something, or what it knew. */
export const whyAddress = ({ instance, notice, about, id }) => `/apps/traces${query({ instance, notice, about, id })}`;

/**
 * A card and the function that brings it up to date; `heading` is its level, `isTrial` says
 * that there is no such notice yet.
 */
export function noticeCard(notice, { heading = 'h3', isTrial = false } = {}) {
  const title = h('span', {});
  const level = levelMeter((level) => t('notice.criticality', { level }));
  const what = h('p', { class: 'card-what' });
  const text = h('p', { class: 'card-place' });
  const amended = h('p', { class: 'quiet' });
  const since = h('p', { class: 'quiet' });
  const seen = h('span', { class: 'chip', 'data-ok': 'true' }, t('notice.seen'));
  const show = h('button', { type: 'button', class: 'link', onclick: () => showOnMap(element, notice.about.id) }, t('event.show'));
  const why = h('a', { href: whyAddress({ ...notice, about: notice.about.id }) }, t('notice.why'),
    h('span', { class: 'visually-hidden' }, ` ${noticeName(notice)}`));
  const isOwn = notice.about.type === 'own';  // of an app's Python: no rule to explain it by
  const advice = adviceOf();
  const actions = isTrial ? null : noticeActions(notice);
  const element = h('article', { class: 'notice-card', 'data-notice': notice.id, tabindex: isTrial ? null : '-1' },
    h('header', {}, h(heading, {}, h('span', { class: 'badge' }, icon('bell')), title), level.meter),
    what, text, amended, advice.element, actions?.held, h('footer', {}, since, seen, show, isTrial || isOwn ? null : why), actions?.element);

  function update(current, now) {
    setText(title, current.title);
    setText(what, whatHappened(current) ?? '');
    setText(text, current.text);
    const correction = amendedText(current, aboutName(current));
    amended.hidden = correction === null;
    setText(amended, correction ?? '');
    const late = current.late_s ? t('notice.late', { time: duration(current.late_s) }) : '';
    setText(since, `${t('notice.since', { time: at(Date.parse(current.opened), now) })} ${late}`.trim());
    advice.update(current);
    level.show(current.criticality);
    seen.hidden = !current.acknowledged;
    element.toggleAttribute('data-acknowledged', Boolean(current.acknowledged));
    show.hidden = !city.events.has(current.about.id);
    actions?.update(current);
  }

  return { element, update };
}

/** Make the items of a list cards of `shown` notices, reusing those that are there. */
export function noticeCards(list, shown, heading) {
  const now = city.now();
  keyed(list, shown, (notice) => notice.id, (notice) => {
    const card = noticeCard(notice, { heading });
    return Object.assign(h('li', {}, card.element), { card });
  }, (item, notice) => item.card.update(notice, now));
}
