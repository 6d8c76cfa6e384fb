// Stops of the timetables; each opens its board.
import { ask, query } from 'citywise/api.js';
import { h } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { toast } from 'citywise/toast.js';
import { clockOf, nameOf } from './line-card.js';
import { PinsLayer } from './pins-layer.js';

const MOST = 8; // Departures on a card.
const AGAIN_MS = 20_000;

/** One departure: when, what, where to. */
function departureItem({ departs, planned, realtime, headsign, ...leg }) {
  const isCancelled = realtime === 'cancelled';
  const isOther = planned && clockOf(planned) !== clockOf(departs);
  const time = h('time', { datetime: departs }, clockOf(departs));
  const due = isOther ? [' ', h('span', { class: 'visually-hidden' }, t('plan.leg.planned')), h('s', { class: 'leg-planned' }, clockOf(planned))] : [];
  return h('li', { 'data-realtime': realtime },
    h('span', {}, isCancelled ? h('s', {}, time) : time, ...due),
    h('strong', {}, nameOf(leg)), h('span', {}, headsign),
    isCancelled ? h('em', {}, t('trip.broken.trip_cancelled')) : null);
}

/** The card of a stop: its next departures, renewed while it is open, and the ways on. */
function boardCard({ id, geometry: { coordinates: [lon, lat] }, properties: { name } }) {
  const list = h('ol', { class: 'board' });
  const said = h('p', { class: 'quiet', role: 'status' }, t('list.loading'));
  const go = (end) => h('button', { type: 'button', class: 'button', onclick: () =>
    document.dispatchEvent(new CustomEvent('plan-point', { detail: { end, point: { lat, lon, name } } })) }, t(`plan.take.travel.${end}`));
  const element = h('article', {}, h('header', {}, h('h2', {}, name)), list, said, h('div', { class: 'actions' }, go('from'), go('to')));
  let askedAt = -Infinity;

  async function load() {
    try {
      const { departures, alerts } = await ask(`/stops/${encodeURIComponent(id)}/departures${query({ limit: MOST })}`);
      list.replaceChildren(...departures.map(departureItem));
      said.textContent = alerts.length ? alerts.map(({ header }) => header).join(' · ') : departures.length ? '' : t('plan.board.none');
    } catch {
      said.textContent = t('list.failed');
    }
  }

  const update = () => {
    if (performance.now() - askedAt < AGAIN_MS) return;
    askedAt = performance.now();
    load();
  };
  update();
  return { element, update };
}

/** The layer; `openCard(card, latLng, marker)` shows one. */
export const stopsLayer = (openCard) => new PinsLayer({
  address: '/stops.geojson', picture: 'transit', many: 'plan.stops.many', kind: 'stop-pin', apart: 15,
  card: boardCard, openCard, failed: () => toast(t('plan.stops.none')),
});
