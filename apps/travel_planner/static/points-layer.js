// Places of interest and what is on in them, loaded when somebody wants to see them.
import { ask } from 'citywise/api.js';
import { city } from 'citywise/city.js';
import { h, icon } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { at } from 'citywise/times.js';

const { L } = window;

/** The layer; `openCard(card, latLng, marker)` shows one. */
export class PointsLayer {
  constructor(map, openCard) {
    this.openCard = openCard;
    this.layer = L.markerClusterGroup({
      showCoverageOnHover: false, maxClusterRadius: 44, disableClusteringAtZoom: 16, spiderfyOnMaxZoom: false,
      iconCreateFunction: (cluster) => this.#many(cluster.getChildCount()),
    });
    this.layer.on('add', () => this.#load());
  }

  async #load() {
    if (this.loaded) return;
    this.loaded = true;
    try {
      const { features } = await ask('/points.geojson?kind=venue,event,place');
      this.layer.addLayers(features.map((feature) => this.#marker(feature)));
    } catch {
      this.loaded = false; // Asked again when it is shown again.
    }
  }

  #many(count) {
    const html = h('div', { class: 'point-pin point-many' }, h('span', { 'aria-hidden': 'true' }, String(count)), h('span', { class: 'visually-hidden' }, t('plan.points.many', { count })));
    return L.divIcon({ html, className: 'pin-root', iconSize: [0, 0] });
  }

  #marker({ geometry: { coordinates: [lon, lat] }, properties: { name, detail, kind, starts } }) {
    const html = h('div', { class: 'point-pin', 'data-kind': kind }, icon('star'), h('span', { class: 'visually-hidden' }, name));
    const marker = L.marker([lat, lon], { icon: L.divIcon({ html, className: 'pin-root', iconSize: [0, 0] }), keyboard: true });
    marker.on('click keypress', (event) => {
      if (event.type === 'keypress' && event.originalEvent.key !== 'Enter') return;
      const when = starts && at(Date.parse(starts), city.now());
      const go = h('button', { type: 'button', class: 'button', onclick: () => {
        document.dispatchEvent(new CustomEvent('plan-point', { detail: { end: 'to', point: { lat, lon, name, kind, detail } } }));
      } }, t('plan.goto'));
      const element = h('article', {}, h('header', {}, h('h2', {}, name)), h('p', {}, [detail, when].filter(Boolean).join(' · ')), h('div', { class: 'actions' }, go));
      this.openCard({ element, update() {} }, marker.getLatLng(), marker);
    });
    return marker;
  }
}
