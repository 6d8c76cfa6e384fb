// The live map: folium made the map itself, we add what changes.
import { city, dated } from './city.js';
import { h, setText } from './elements.js';
import { garageCard } from './garage-list.js';
import { historyOf } from './history-chart.js';
import { kindCard } from './kind-list.js';
import { middle } from './parameter-shapes.js';
import { roadCard } from './road-list.js';
import { breath } from './slices.js';
import { t } from './strings.js';

const NEAR_ZOOM = 14.5;
const FAR_ZOOM = 13; // Below it garages are dots.
const OUTLYING = 0.06; // Share of points at each edge that need not be in the first view.

/** The bounds of most places: a few roads far out would make all others small. */
function core(places) {
  const points = places.flatMap(({ geometry }) =>
    (geometry.type === 'Point' ? [geometry.coordinates] : geometry.coordinates));
  const corner = (share) => [1, 0].map((axis) => {
    const sorted = points.map((point) => point[axis]).sort((a, b) => a - b);
    return sorted[Math.round(share * (sorted.length - 1))];
  });
  return [corner(OUTLYING), corner(1 - OUTLYING)];
}

/** The live map; a page with more to show on it extends this. */
export class CityMap extends HTMLElement {
  async connectedCallback() {
    const holder = this.querySelector('.folium-map');
    const { map, events } = holder.cityMap;
    map.attributionControl.setPrefix(false); // Who made the data is named; the library is in the licences.
    this.map = map;
    await breath();
    const [{ RoadsLayer }, { GaragesLayer }, { EventsLayer }, { LabelsLayer }, { KindLayers }, { GroundLayer }, { OwnLayers }] = await Promise.all([
      import('./roads-layer.js'), import('./garages-layer.js'), import('./events-layer.js'),
      import('./labels-layer.js'), import('./kind-layer.js'), import('./ground-layer.js'),
      import('./own-layers.js'),
    ]);
    const openCard = (...args) => this.open(...args);
    this.roads = new RoadsLayer(map, openCard);
    this.garages = new GaragesLayer(map, openCard);
    this.events = new EventsLayer(map, events, openCard);
    this.labels = new LabelsLayer(map);
    new GroundLayer(map, (quarters) => this.labels.add(quarters));
    this.layers = { events: this.events, roads: this.roads, garages: this.garages };
    this.kinds = new KindLayers(this, map, openCard);
    new OwnLayers(this, map, openCard);
    this.#label(holder);
    this.#switches();
    new ResizeObserver(() => map.invalidateSize({ pan: false })).observe(holder);
    const far = () => this.toggleAttribute('data-far', map.getZoom() < FAR_ZOOM);
    map.on('zoomend', far);
    far();
    document.addEventListener('show-event', (event) => {
      event.preventDefault();
      this.#showEvent(event.detail);
    });
    const wanted = new URLSearchParams(location.search);
    if (wanted.has('pick')) import('./map-pick.js').then(({ pickOn }) => pickOn(this, wanted.get('pick') === 'line'));
    this.ready?.(map);
    city.follow(() => this.show());
  }

  /** Show what is now, step by step; in view first, so that what is drawn is drawn once. */
  *show() {
    const now = city.time();
    this.#state();
    yield;
    if (city.loaded && city.places.size && !this.fitted) this.fit();
    yield;
    yield* this.roads.update(now);
    yield* this.garages.update(now);
    yield* this.kinds.update(now);
    this.events.update();
    yield;
    this.labels.update();
    if (this.popup?.isOpen()) this.#updateCard(now);
  }

  // A card that grew must be laid out again to stay in view.
  #updateCard(now) {
    const before = this.card.element.offsetHeight;
    this.card.update(now);
    if (this.card.element.offsetHeight !== before) this.popup.update();
  }

  #state() {
    const state = this.querySelector('.map-state');
    const key = !city.loaded ? (city.failed ? 'map.failed' : 'map.loading') : city.places.size ? '' : 'map.empty';
    state.hidden = !key;
    if (key) setText(state, t(key));
  }

  // Places may have become known after the server made the page.
  fit() {
    this.fitted = true;
    const wanted = new URLSearchParams(location.search);
    if (wanted.has('event')) {
      this.#showEvent(wanted.get('event'));
      return;
    }
    if (city.places.has(wanted.get('place'))) {
      this.#showPlace(city.places.get(wanted.get('place')));
      return;
    }
    this.map.fitBounds(core([...city.places.values()]), { padding: [8, 8], animate: false });
  }

  async #showEvent(id) {
    let event = city.events.get(id);
    if (!event) {
      const response = await fetch(`/api/v1/events/${encodeURIComponent(id)}`);
      if (!response.ok) return;
      event = dated(await response.json());
    }
    if (typeof event.place.lat !== 'number') return;
    this.map.setView([event.place.lat, event.place.lon], Math.max(this.map.getZoom(), NEAR_ZOOM), { animate: false });
    this.events.show(event);
  }

  /** Whether a point, as [lat, lon], is anywhere near the city. */
  isNear(at) {
    const points = [...city.places.values()].map(({ geometry }) => (geometry.type === 'Point' ? geometry.coordinates : geometry.coordinates[0]));
    return !points.length || window.L.latLngBounds(points.map(([lon, lat]) => [lat, lon])).pad(0.5).contains(at);
  }

  /** Open the card of a road or garage, at its middle. */
  #showPlace(place) {
    const [lon, lat] = middle(place.geometry);
    const card = ({ road: roadCard, garage: garageCard }[place.kind] ?? kindCard)(place, 'h2');
    this.map.setView([lat, lon], NEAR_ZOOM, { animate: false });
    this.open(card, [lat, lon]);
  }

  /** Show a card at a point; `marker` gets the focus back. */
  open(card, latLng, marker, offset = [0, -6]) {
    const narrow = this.clientWidth < 480;
    const place = city.places.get(card.element.dataset.place);
    if (place?.sensors?.length) card.element.append(historyOf(place));
    this.card = card;
    this.popup = window.L.popup({
      offset, minWidth: 230, maxWidth: narrow ? 290 : 330, autoPanPaddingTopLeft: [16, 64], autoPanPaddingBottomRight: [16, 16], className: 'city-popup',
    }).setLatLng(latLng).setContent(card.element).openOn(this.map);
    const element = this.popup.getElement();
    const close = element.querySelector('.leaflet-popup-close-button');
    close.setAttribute('aria-label', t('map.close'));
    element.setAttribute('role', 'dialog');
    element.setAttribute('aria-label', card.element.querySelector('h2').textContent);
    element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      this.popup.close();
      marker?.getElement()?.focus();
    });
    card.element.addEventListener('toggle', () => this.popup.update(), true);
    close.focus({ preventScroll: true });
  }

  #label(holder) {
    for (const [name, key] of [['in', 'map.zoom.in'], ['out', 'map.zoom.out']]) {
      const button = holder.querySelector(`.leaflet-control-zoom-${name}`);
      button.title = t(key);
      button.setAttribute('aria-label', t(key));
    }
  }

  #switches() {
    this.querySelector('.legend').addEventListener('change', ({ target }) => this.turn(target));
  }

  /** Show the layer of a switch, or not; one that is not there yet is turned when it is. */
  turn(input) {
    const layer = this.layers[input.dataset.layer]?.layer;
    if (!layer) return;
    if (input.checked) layer.addTo(this.map);
    else layer.remove();
  }
}

customElements.define('city-map', CityMap);
