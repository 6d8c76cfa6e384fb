// Sensors on a map by how they fare. The list of the operator's page says the same to who uses no map.
import { city } from './city.js';
import { h, icon, setText } from './elements.js';
import { kindName } from './kinds.js';
import { t } from './strings.js';

const VENDOR = '/assets/vendor/leaflet/';
const ICONS = { silent: 'muted', implausible: 'event', stuck: 'pause', ok: 'check' };
export const STATES = Object.keys(ICONS); // The worst first.

let loading;

/** Leaflet, loaded when the first map is made. */
const leaflet = () => (loading ??= new Promise((done, failed) => {
  document.head.prepend(h('link', { rel: 'stylesheet', href: `${VENDOR}leaflet.css` })); // Ours come after it.
  document.head.append(h('script', { src: `${VENDOR}leaflet.js`, onload: () => done(window.L), onerror: () => {
    loading = null;
    failed(new Error('leaflet'));
  } }));
}));

/** How a sensor fares: of what is implausible, what repeats itself is told apart. */
export const healthOf = ({ state, reasons }) => (state === 'implausible' && reasons.every(({ check }) => check === 'stuck') ? 'stuck' : state);

const worstOf = (sensors) => STATES.find((state) => sensors.some((sensor) => healthOf(sensor) === state));

/** A place's sensors in words, each with its reasons. */
function card(sensors, wordsOf) {
  const [{ place }] = sensors;
  return h('article', {}, h('h3', {}, place.name ?? place.id), ...sensors.map((sensor) => h('div', { class: 'sensor-told' },
    h('p', {}, `${kindName(sensor.kind)}: ${t(`sensor.${healthOf(sensor)}`)}`), h('ul', { class: 'bullets' }, ...sensor.reasons.map((reason) => h('li', {}, wordsOf(reason)))))));
}

/** The map; `wordsOf(reason)` words why a sensor is thought to be wrong. */
export class SensorMap {
  #places = new Map();

  /** Make one in an element, once Leaflet is there. */
  static async in(element, wordsOf) {
    await leaflet();
    return new SensorMap(element, wordsOf);
  }

  constructor(element, wordsOf) {
    const { L } = window;
    this.wordsOf = wordsOf;
    const holder = h('div', { class: 'sensor-map-holder', role: 'region', 'aria-label': t('sensor.map.label') });
    this.counts = new Map(STATES.map((state) => [state, h('span', {})]));
    const legend = [...this.counts].map(([state, count]) => h('li', {}, h('span', { class: 'sensor-pin', 'data-state': state }, icon(ICONS[state])), count));
    element.append(holder, h('ul', { class: 'sensor-legend' }, ...legend));
    this.map = L.map(holder, { minZoom: 9, maxZoom: 18, zoomSnap: 0.5 });
    this.map.attributionControl.setPrefix(false);
    for (const [name, key] of [['in', 'map.zoom.in'], ['out', 'map.zoom.out']]) {
      const button = holder.querySelector(`.leaflet-control-zoom-${name}`);
      button.title = t(key);
      button.setAttribute('aria-label', t(key));
    }
    const lines = [...city.places.values()].filter(({ geometry }) => geometry.type === 'LineString');
    L.polyline(lines.map(({ geometry }) => geometry.coordinates.map(([lon, lat]) => [lat, lon])), { className: 'sensor-streets', interactive: false }).addTo(this.map);
    new ResizeObserver(() => this.map.invalidateSize({ pan: false })).observe(holder);
  }

  /** Show these sensors, and no others. */
  show(sensors) {
    const by = new Map();
    for (const sensor of sensors) {
      if (typeof sensor.place.lat === 'number') by.set(sensor.place.id, [...by.get(sensor.place.id) ?? [], sensor]);
    }
    for (const [state, count] of this.counts) {
      setText(count, `${t(`sensor.${state}`)}: ${sensors.filter((sensor) => healthOf(sensor) === state).length}`);
    }
    for (const [id, { marker }] of this.#places) {
      if (by.has(id)) continue;
      marker.remove();
      this.#places.delete(id);
    }
    if (!this.isFitted && by.size) { // Without a view nothing is added.
      this.isFitted = true;
      this.map.fitBounds([...by.values()].map(([{ place: { lat, lon } }]) => [lat, lon]), { padding: [24, 24], maxZoom: 15, animate: false });
    }
    for (const [id, own] of by) this.#update(this.#places.get(id) ?? this.#add(id, own), own);
  }

  #add(id, [{ place: { lat, lon } }]) {
    const { L } = window;
    const pin = h('div', { class: 'sensor-pin' });
    const marker = L.marker([lat, lon], { icon: L.divIcon({ html: pin, className: 'pin-root', iconSize: [0, 0] }), keyboard: true, riseOnHover: true });
    const entry = { marker, pin, sensors: [] };
    marker.bindPopup(() => card(entry.sensors, this.wordsOf));
    this.#places.set(id, entry);
    return entry;
  }

  #update(entry, sensors) {
    const state = worstOf(sensors);
    entry.sensors = sensors;
    entry.words = `${sensors[0].place.name ?? sensors[0].place.id}: ${t(`sensor.${state}`)}`;
    if (entry.pin.dataset.state !== state) {
      entry.pin.dataset.state = state;
      entry.pin.replaceChildren(icon(ICONS[state]));
      entry.marker.setZIndexOffset(state === 'ok' ? 0 : 1000);
    }
    entry.marker.addTo(this.map);
    entry.marker.getElement().setAttribute('aria-label', entry.words);
  }
}
