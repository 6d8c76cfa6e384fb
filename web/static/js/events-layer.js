// Open events on the map, clustered where they are close.
import { city } from './city.js';
import { h, icon } from './elements.js';
import { eventCard, eventIcon, eventTitle } from './event-card.js';
import { isOutline } from './outlines.js';
import { t } from './strings.js';
import { GARAGE } from './traffic.js';

const { L } = window;

function clusterIcon(cluster) {
  const count = cluster.getChildCount();
  const worst = Math.max(...cluster.getAllChildMarkers().map((marker) => marker.level));
  const words = h('span', { class: 'visually-hidden' }, t('map.cluster', { count }));
  const html = h('div', { class: 'cluster-pin', 'data-level': worst },
    h('span', { 'aria-hidden': 'true' }, String(count)), words);
  return L.divIcon({ html, className: 'pin-root', iconSize: [0, 0] });
}

/** Halfway along the road of an event, or where the event says it is. */
function spot({ place }) {
  const line = city.places.get(place.id)?.geometry;
  if (line?.type !== 'LineString') return [place.lat, place.lon];
  const points = line.coordinates;
  const steps = points.slice(1).map(([x, y], i) => Math.hypot(x - points[i][0], y - points[i][1]));
  let left = steps.reduce((sum, step) => sum + step, 0) / 2;
  const index = steps.findIndex((step) => (left -= step) <= 0);
  const share = 1 + left / (steps[index] || 1);
  const [[x, y], [toX, toY]] = [points[index], points[index + 1]];
  return [y + (toY - y) * share, x + (toX - x) * share];
}

/** What is told of a garage stands at its own pin: one mark for one place. */
const isOfGarage = ({ place }) => city.carries(city.places.get(place.id) ?? {}, GARAGE.capacity);

/** Along what, or around what, an event is that is at no known place; null: it is at a point. */
function shapeOf({ geometry }) {
  if (!geometry) return null;
  const points = geometry.coordinates.map(([lon, lat]) => [lat, lon]);
  const isArea = isOutline(points);
  return (isArea ? L.polygon : L.polyline)(points, { className: `event-shape${isArea ? ' event-area' : ''}`, interactive: false });
}

/** Fills the cluster layer that folium made; `openCard(card, latLng, marker)` shows one. */
export class EventsLayer {
  #markers = new Map();
  #shapes = L.layerGroup(); // Seen as long as the pins are.

  constructor(map, cluster, openCard) {
    cluster.options.iconCreateFunction = clusterIcon;
    this.layer = cluster;
    this.openCard = openCard;
    if (map.hasLayer(cluster)) this.#shapes.addTo(map);
    cluster.on('add', () => this.#shapes.addTo(map));
    cluster.on('remove', () => this.#shapes.remove());
  }

  update() {
    const open = city.openEvents().filter((event) => typeof event.place.lat === 'number' && !isOfGarage(event));
    const ids = new Set(open.map((event) => event.id));
    const gone = [...this.#markers].filter(([id]) => !ids.has(id));
    gone.forEach(([id]) => this.#markers.delete(id));
    this.layer.removeLayers(gone.map(([, marker]) => marker));
    for (const [, { shape }] of gone) if (shape) this.#shapes.removeLayer(shape);
    this.layer.addLayers(open.filter((event) => !this.#markers.has(event.id)).map((event) => this.#add(event)));
    for (const event of open) this.#restate(event);
  }

  /** Open the card of an event, whether it is still there or not. */
  show(event) {
    this.openCard(eventCard(event, { heading: 'h2' }), spot(event),
      this.#markers.get(event.id), [0, -30]);
  }

  #add(event) {
    const pin = h('div', { class: 'event-pin', 'data-type': event.type, 'data-event': event.id }, icon(eventIcon(event)));
    const marker = L.marker(spot(event), {
      icon: L.divIcon({ html: pin, className: 'pin-root', iconSize: [0, 0] }),
      keyboard: true,
      riseOnHover: true,
    });
    marker.pin = pin;
    marker.shape = shapeOf(event.place);
    if (marker.shape) this.#shapes.addLayer(marker.shape);
    marker.level = event.level;
    const label = `${eventTitle(event)}, ${event.place.name}`;
    marker.on('add', () => marker.getElement()?.setAttribute('aria-label', label));
    marker.on('click keypress', (pressed) => {
      if (pressed.type === 'keypress' && pressed.originalEvent.key !== 'Enter') return;
      this.show(city.events.get(event.id) ?? event);
    });
    this.#markers.set(event.id, marker);
    return marker;
  }

  #restate(event) {
    const marker = this.#markers.get(event.id);
    marker.level = event.level;
    marker.pin.dataset.level = event.level;
  }
}
