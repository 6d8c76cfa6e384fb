// Stops of the timetables, loaded when somebody wants to see them; each opens its board.
import { ask, query } from 'citywise/api.js';
import { h, icon } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { toast } from 'citywise/toast.js';
import { clockOf, nameOf } from './line-card.js';

const { L } = window;
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
function boardCard(id, name, [lat, lon]) {
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
export class StopsLayer {
  constructor(openCard) {
    this.openCard = openCard;
    this.layer = L.markerClusterGroup({
      showCoverageOnHover: false, maxClusterRadius: 44, disableClusteringAtZoom: 15, spiderfyOnMaxZoom: false, chunkedLoading: true,
      iconCreateFunction: (cluster) => this.#many(cluster.getChildCount()),
    });
    this.layer.on('add', () => this.#load());
  }

  async #load() {
    if (this.loaded) return;
    this.loaded = true;
    try {
      const { features } = await ask('/stops.geojson');
      this.layer.addLayers(features.map((feature) => this.#marker(feature)));
    } catch {
      this.loaded = false; // Asked again when it is shown again.
      toast(t('plan.stops.none'));
    }
  }

  #many(count) {
    const html = h('div', { class: 'point-pin point-many stop-pin' }, h('span', { 'aria-hidden': 'true' }, String(count)), h('span', { class: 'visually-hidden' }, t('plan.stops.many', { count })));
    return L.divIcon({ html, className: 'pin-root', iconSize: [0, 0] });
  }

  #marker({ id, geometry: { coordinates: [lon, lat] }, properties: { name } }) {
    const html = h('div', { class: 'point-pin stop-pin' }, icon('transit'), h('span', { class: 'visually-hidden' }, name));
    const marker = L.marker([lat, lon], { icon: L.divIcon({ html, className: 'pin-root', iconSize: [0, 0] }), keyboard: true });
    marker.on('click keypress', (event) => {
      if (event.type === 'keypress' && event.originalEvent.key !== 'Enter') return;
      this.openCard(boardCard(id, name, [lat, lon]), marker.getLatLng(), marker);
    });
    return marker;
  }
}
