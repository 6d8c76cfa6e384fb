// One event as people read it: in the list and in the map's popup.
import { city } from './city.js';
import { correctedText } from './corrections.js';
import { h, icon, setText } from './elements.js';
import { levelMeter } from './levels.js';
import { knows, t } from './strings.js';
import { ago, at, duration } from './times.js';
import { user } from './user.js';

const STALE_S = 15 * 60;
const BY_HAND = 'operator';
const DETECTED = 'detector';
const ICONS = { TrafficJam: 'jam', ParkingFull: 'parking' };

export const eventIcon = (event) => ICONS[event.type] ?? 'event';

export const eventTitle = (event) =>
  knows(`event.${event.type}`) ? t(`event.${event.type}`) : t('event.other', { type: event.type });

/** Values in the ground atoms: `city_averageSpeed("…",3050)` says 30.5 km/h. */
function measured(atoms) {
  const text = atoms.join(' ');
  const value = (name) => text.match(new RegExp(`${name}\\("[^"]*",(-?\\d+)`))?.[1];
  const reading = text.match(/\breading\("[^"]*",\d+,"[^"]*",(\d+),(\d+)\)/);
  return {
    speed: value('averageSpeed') ?? reading?.[1],
    count: value('vehicleCount') ?? reading?.[2],
    occupied: value('occupiedPlaces') ?? reading?.[1],
    capacity: value('totalPlaces') ?? reading?.[2],
  };
}

/** Why the event is there, in words. */
export function causeInWords(event) {
  const { confirmed = [], opened = [] } = event.causes ?? {};
  const found = measured(confirmed.length ? confirmed : opened);
  if (event.request === BY_HAND) return t('event.cause.hand');
  if (event.request === DETECTED) return t('event.cause.detected');
  const rule = knows(`event.cause.${event.type}`)
    ? t(`event.cause.${event.type}`)
    : t('event.cause.other', { request: event.request ?? '?' });
  if (event.type === 'TrafficJam' && found.speed && found.count) {
    const speed = Number(found.speed) / 100;
    return `${t('event.cause.traffic', { speed, count: found.count })} ${rule}`;
  }
  if (event.type === 'ParkingFull' && found.occupied && found.capacity) {
    return `${t('event.cause.parking', found)} ${rule}`;
  }
  return rule;
}

function row(name) {
  const value = h('dd');
  const label = h('dt', {}, name);
  return { element: h('div', {}, label, value), label, value };
}

/** A card and the function that brings it up to date; `heading` is its level (h3). */
export function eventCard(event, { heading = 'h3', onShow } = {}) {
  const title = h(heading, {}, h('span', { class: 'badge', 'data-type': event.type }, icon(eventIcon(event))), eventTitle(event));
  const level = levelMeter();
  const place = h('p', { class: 'card-place' }, event.place.name);
  const since = row(t('event.since'));
  const confirmed = row(t('event.confirmed'));
  const ended = row(t('event.ended'));
  const corrected = h('p', { class: 'quiet' });
  const cause = h('p', {});
  const atoms = h('ul', { class: 'atoms' });
  const why = h('details', { class: 'why' }, h('summary', {}, t('event.why')), cause,
    h('div', { 'data-for': 'developer', hidden: !user.isDeveloping }, h('p', { class: 'quiet' }, t('event.facts')), atoms));
  const show = onShow && h('button', { type: 'button', class: 'link', onclick: onShow }, t('event.show'));
  const element = h('article', { class: 'event', 'data-event': event.id },
    h('header', {}, title, level.meter), place,
    h('dl', { class: 'facts' }, since.element, confirmed.element, ended.element), corrected,
    h('footer', {}, why, show));

  function update(now) {
    const current = city.events.get(event.id) ?? event;
    const until = current.endMs ?? now;
    const lasted = duration((until - current.startMs) / 1000);
    const silentS = (until - current.confirmedMs) / 1000;
    level.show(current.level);
    element.toggleAttribute('data-ended', current.endMs !== null);
    confirmed.element.toggleAttribute('data-stale', current.endMs === null && silentS > STALE_S);
    const length = t(current.endMs === null ? 'event.for' : 'event.lasted', { duration: lasted });
    setText(since.value, `${at(current.startMs, now)} · ${length}`);
    setText(confirmed.value, ago(Math.max(0, now - current.confirmedMs) / 1000));
    ended.element.hidden = current.endMs === null;
    if (current.endMs !== null) setText(ended.value, at(current.endMs, now));
    const correction = correctedText(current);
    corrected.hidden = correction === null;
    setText(corrected, correction ?? '');
    setText(cause, causeInWords(current));
    const { opened = [], confirmed: confirming = [], ended: ending = [] } = current.causes ?? {};
    const facts = [...new Set([...opened, ...confirming, ...ending])];
    if (atoms.shown !== facts.join('\n')) {
      atoms.shown = facts.join('\n');
      atoms.replaceChildren(...facts.map((atom) => h('li', {}, h('code', {}, atom))));
    }
  }

  update(city.now());
  return { element, update };
}
