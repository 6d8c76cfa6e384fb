// Names of towns and streets, taken from the names of the roads, where there is room.
import { city } from './city.js';
import { h } from './elements.js';
import { ROAD } from './traffic.js';

const { L } = window;
const STREETS_ZOOM = 13;
const MOST = 40;
const [CHARACTER_PX, LINE_PX] = [7.5, 26];

/** `Randersvej, Aarhus: 3154 → 3155` lies on one street (of one town); others are left out. */
function parts(name) {
  const [where] = name.split(':');
  if (where.includes('→')) return {};
  const [street, town] = where.split(',').map((part) => part.trim());
  return { street, town };
}

function add(found, text, kind, point, weight) {
  const label = found.get(kind + text) ?? { key: kind + text, text, kind, weight: 0, points: [] };
  label.weight += weight;
  label.points.push(point);
  found.set(label.key, label);
}

// The middle one of the places that bear the name, so that the label lies on one of them.
function middle(points) {
  const mean = [0, 1].map((axis) => points.reduce((sum, p) => sum + p[axis], 0) / points.length);
  const away = (p) => Math.hypot(p[0] - mean[0], p[1] - mean[1]);
  return points.reduce((best, p) => (away(p) < away(best) ? p : best));
}

/** Labels of the map; nobody needs them who uses the lists. */
export class LabelsLayer {
  #labels = [];
  #quarters = [];
  #shown = new Map();
  #size = 0;

  constructor(map) {
    this.map = map;
    map.createPane('labels').classList.add('pane-labels');
    map.on('moveend', () => this.#place());
  }

  /** Names of quarters: `[{ text, at }]`. */
  add(quarters) {
    this.#quarters = quarters.map(({ text, at }) => ({ key: `quarter${text}`, text, kind: 'quarter', at }));
    this.#place();
  }

  update() {
    if (city.places.size === this.#size) return;
    this.#size = city.places.size;
    const found = new Map();
    for (const place of city.places.values()) {
      if (!city.carries(place, ROAD.speed_kmh)) continue;
      const { name, geometry, length_m: length } = place;
      const { street, town } = parts(name);
      const line = geometry.coordinates;
      const [a, b] = [line[0], line.at(-1)];
      const point = [(a[1] + b[1]) / 2, (a[0] + b[0]) / 2];
      if (town) add(found, town, 'town', point, 1e6);
      if (street) add(found, street, 'street', point, length ?? 1);
    }
    this.#labels = [...found.values()]
      .map((label) => ({ ...label, at: middle(label.points) }))
      .sort((a, b) => b.weight - a.weight);
    this.#place();
  }

  #place() {
    const towns = this.#labels.some((label) => label.kind === 'town');
    const streets = !towns || this.map.getZoom() >= STREETS_ZOOM;
    const view = this.map.getBounds();
    const taken = [];
    const fits = [...this.#quarters, ...this.#labels].filter((label) => {
      if (taken.length >= MOST || (label.kind !== 'quarter' && (label.kind === 'street') !== streets) || !view.contains(label.at)) return false;
      const { x, y } = this.map.latLngToContainerPoint(label.at);
      const half = (label.text.length * CHARACTER_PX) / 2 + 8;
      const clear = taken.every((t) => Math.abs(t.x - x) > t.half + half || Math.abs(t.y - y) > LINE_PX);
      if (clear) taken.push({ x, y, half });
      return clear;
    });
    const wanted = new Set(fits.map((label) => label.key));
    for (const [key, marker] of this.#shown) {
      if (wanted.has(key)) continue;
      marker.remove();
      this.#shown.delete(key);
    }
    for (const label of fits) {
      if (!this.#shown.has(label.key)) this.#shown.set(label.key, this.#marker(label).addTo(this.map));
    }
  }

  #marker({ text, kind, at }) {
    const html = h('span', { class: `map-label map-label-${kind}`, 'aria-hidden': 'true' }, text);
    const icon = L.divIcon({ html, className: 'pin-root', iconSize: [0, 0] });
    return L.marker(at, { icon, interactive: false, keyboard: false, pane: 'labels' });
  }
}
