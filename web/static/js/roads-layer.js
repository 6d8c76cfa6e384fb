// Roads on the map: base geometry, state of each direction, and what a finger can hit.
import { city } from './city.js';
import { t } from './strings.js';
import { roadCard, stateOf } from './road-list.js';
import { ROAD } from './traffic.js';

const { L } = window;
const CLOSE_ZOOM = 13;

// Right-hand traffic: each direction is drawn to the right of the street's centre line.
const Directed = L.Polyline.extend({
  _projectLatlngs(latlngs, result, bounds) {
    L.Polyline.prototype._projectLatlngs.call(this, latlngs, result, bounds);
    const offset = this._map.getZoom() >= CLOSE_ZOOM ? 4 : 2.2;
    for (const line of result) shift(line, offset);
  },
});

function shift(line, offset) {
  const normals = line.slice(1).map((point, index) => {
    const [dx, dy] = [point.x - line[index].x, point.y - line[index].y];
    const length = Math.hypot(dx, dy) || 1;
    return { x: -dy / length, y: dx / length };
  });
  line.forEach((point, index) => {
    const [a, b] = [normals[index - 1] ?? normals[index], normals[index] ?? normals[index - 1]];
    point.x += ((a.x + b.x) / 2) * offset;
    point.y += ((a.y + b.y) / 2) * offset;
  });
}

const latLngs = (place) => place.geometry.coordinates.map(([lon, lat]) => [lat, lon]);

/** The layer of roads; `openCard(card, latLng)` shows one. */
export class RoadsLayer {
  #roads = new Map();
  #base = L.polyline([], { className: 'road-base', interactive: false, pane: 'base' });
  #lines = L.layerGroup();

  constructor(map, openCard) {
    map.createPane('base').classList.add('pane-base');
    map.createPane('touch').classList.add('pane-touch');
    this.openCard = openCard;
    this.base = this.#base.addTo(map);
    this.layer = this.#lines.addTo(map);
  }

  /** Draw what is new and restate what changed, road by road. */
  *update(now) {
    const before = this.#roads.size;
    for (const place of city.places.values()) {
      if (!city.carries(place, ROAD.speed_kmh) || place.geometry.type !== 'LineString') continue;
      const road = this.#roads.get(place.id) ?? this.#add(place);
      this.#restate(road, stateOf(place, now).state);
      yield;
    }
    if (this.#roads.size > before) {
      this.#base.setLatLngs([...this.#roads.values()].map((road) => latLngs(road.place)));
    }
  }

  #add(place) {
    const points = latLngs(place);
    const line = new Directed(points, { className: 'road road-unknown', interactive: false });
    const touch = new Directed(points, { className: 'road-touch', weight: 18, opacity: 0, pane: 'touch' });
    touch.bindTooltip(() => this.#tip(place), { sticky: true });
    touch.on('click', (event) => this.openCard(roadCard(place, 'h2'), event.latlng));
    this.#lines.addLayer(line).addLayer(touch);
    const road = { place, line, state: 'unknown', mark: null };
    this.#roads.set(place.id, road);
    return road;
  }

  /** An element, not a text: Leaflet would read a text as HTML, and names come from outside. */
  #tip(place) {
    const tip = document.createElement('span');
    tip.textContent = `${place.name} · ${t(`road.${stateOf(place, city.time()).state}`)}`;
    return tip;
  }

  #restate(road, state) {
    if (road.state === state) return;
    // Hidden layers have no element yet: the class they get later comes from the option.
    road.line.options.className = `road road-${state}`;
    const path = road.line.getElement();
    if (path) {
      path.classList.remove(`road-${road.state}`);
      path.classList.add(`road-${state}`);
    }
    road.state = state;
    if (state === 'jam') {
      road.mark = new Directed(latLngs(road.place), { className: 'road-mark', interactive: false });
      this.#lines.addLayer(road.mark);
    } else if (road.mark) {
      this.#lines.removeLayer(road.mark);
      road.mark = null;
    }
  }
}
