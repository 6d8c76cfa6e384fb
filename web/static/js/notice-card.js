// One notice as people read it.
import { city } from './city.js';
import { h, icon, setText } from './elements.js';
import { levelMeter } from './levels.js';
import { showOnMap } from './show-event.js';
import { t } from './strings.js';
import { at } from './times.js';

/** A card and the function that brings it up to date; `heading` is its level. */
export function noticeCard(notice, { heading = 'h3' } = {}) {
  const title = h('span', {});
  const level = levelMeter('notice.criticality');
  const text = h('p', { class: 'card-place' });
  const since = h('p', { class: 'quiet' });
  const show = h('button', { type: 'button', class: 'link', onclick: () => showOnMap(element, notice.about.id) }, t('event.show'));
  const element = h('article', { class: 'notice-card', 'data-notice': notice.id },
    h('header', {}, h(heading, {}, h('span', { class: 'badge' }, icon('bell')), title), level.meter),
    text, h('footer', {}, since, show));

  function update(current, now) {
    setText(title, current.title);
    setText(text, current.text);
    setText(since, t('notice.since', { time: at(Date.parse(current.opened), now) }));
    level.show(current.criticality);
    show.hidden = !city.events.has(current.about.id);
  }

  return { element, update };
}
