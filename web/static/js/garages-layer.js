// Garages on the map: free places at a glance.
import { city } from './city.js';
import { h, setText } from './elements.js';
import { garageCard } from './garage-list.js';
import { number, t } from './strings.js';
import { GARAGE, garageState } from './traffic.js';

const { L } = window;
const FIGURE_PX = [62, 30]; // Width and height of a pin with its figure,
const DOT_PX = [24, 26]; // and of one without it.

/** Whether two pins of such sizes, at two points, lie on one another. */
const overlap = (a, b, [wide, high], [otherWide, otherHigh]) => Math.abs(a.x - b.x) < (wide + otherWide) / 2 && Math.abs(a.y - b.y) < (high + otherHigh) / 2;

/** The layer of garages; `openCard(card, latLng, marker)` shows one. */
export class GaragesLayer {
  #garages = new Map();

  constructor(map, openCard) {
    this.layer = L.layerGroup().addTo(map);
    this.openCard = openCard;
    this.map = map;
    map.on('zoomend', () => this.#part());
  }

  /** Free places stand where they hide no other pin; of two figures, the larger garage's. */
  #part() {
    const bySize = [...this.#garages.values()].sort((a, b) => (b.place.capacity ?? 0) - (a.place.capacity ?? 0));
    const points = bySize.map(({ marker }) => this.map.latLngToLayerPoint(marker.getLatLng()));
    const figures = [];
    bySize.forEach(({ pin }, index) => {
      const at = points[index];
      const isClear = points.every((other) => other === at || !overlap(at, other, FIGURE_PX, DOT_PX))
        && figures.every((other) => !overlap(at, other, FIGURE_PX, FIGURE_PX));
      pin.toggleAttribute('data-small', !isClear);
      if (isClear) figures.push(at);
    });
  }

  /** Restate them, one by one. */
  *update(now) {
    const before = this.#garages.size;
    const told = new Set(city.openEvents().map((event) => event.place.id));
    for (const place of city.places.values()) {
      if (!city.carries(place, GARAGE.capacity) || place.geometry.type !== 'Point') continue;
      const garage = this.#garages.get(place.id) ?? this.#add(place);
      this.#restate(garage, garageState(place, city.told(place.id, GARAGE), now));
      garage.pin.toggleAttribute('data-told', told.has(place.id));
      yield;
    }
    if (this.#garages.size > before) this.#part();
  }

  #add(place) {
    const [lon, lat] = place.geometry.coordinates;
    const free = h('span', { class: 'garage-free', 'aria-hidden': 'true' });
    const words = h('span', { class: 'visually-hidden' }, place.name);
    const pin = h('div', { class: 'garage-pin' },
      h('span', { class: 'garage-p', 'aria-hidden': 'true' }, 'P'), free, words);
    const icon = L.divIcon({ html: pin, className: 'pin-root', iconSize: [0, 0] });
    const marker = L.marker([lat, lon], { icon, keyboard: true, riseOnHover: true });
    const garage = { place, marker, pin, free, words };
    marker.on('click keypress', (event) => {
      if (event.type === 'keypress' && event.originalEvent.key !== 'Enter') return;
      this.openCard(garageCard(place, 'h2'), marker.getLatLng(), marker);
    });
    this.layer.addLayer(marker);
    this.#garages.set(place.id, garage);
    return garage;
  }

  #restate({ pin, free, place, words }, found) {
    pin.dataset.state = found.state;
    pin.toggleAttribute('data-old', found.old);
    setText(free, found.state === 'unknown' ? '?' : number(found.free));
    const count = found.state === 'unknown' ? t('garage.unknown') : t('garage.places', { count: found.free });
    setText(words, [place.name, count, found.old ? t('garage.old') : null].filter(Boolean).join(', '));
  }
}
