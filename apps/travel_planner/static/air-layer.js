// The air where it is measured: a dot for each place, its size and ring telling how bad it is.
import { city } from 'citywise/city.js';
import { t } from 'citywise/strings.js';
import { AIR, airName, worstAir } from 'citywise/traffic.js';

const { L } = window;
const RADIUS = { good: 5, fair: 7, moderate: 9, poor: 11 };

/** Halfway along the geometry of a place. */
function spot({ geometry: { type, coordinates } }) {
  const [lon, lat] = type === 'Point' ? coordinates : coordinates[coordinates.length >> 1];
  return [lat, lon];
}

/** The layer of air, up to date while it is shown. */
export class AirLayer {
  #dots = new Map();

  constructor() {
    this.layer = L.layerGroup();
    this.layer.on('add', () => this.update());
  }

  update() {
    const indices = new Map(city.having(AIR));
    for (const reading of city.readings.values()) {
      const names = indices.get(reading.kind);
      const place = names && city.places.get(reading.place_id);
      if (place) this.#show(place, worstAir(reading, names));
    }
  }

  #show(place, index) {
    const name = airName(index);
    const known = this.#dots.get(place.id);
    if (known?.index === index) return;
    const dot = known?.dot ?? this.#add(place);
    this.#dots.set(place.id, { dot, index });
    dot.setRadius(RADIUS[name]);
    dot.setTooltipContent(this.#words(place, index, name));
    dot.options.className = `air-point air-${name}`;
    dot.getElement()?.setAttribute('class', `air-point air-${name} leaflet-interactive`);
  }

  #words(place, index, name) {
    const words = document.createElement('span'); // Leaflet would read a text as HTML.
    words.textContent = `${place.name} · ${t('air.index', { value: index })}, ${t(`air.${name}`)}`;
    return words;
  }

  #add(place) {
    const dot = L.circleMarker(spot(place), { radius: RADIUS.good, className: 'air-point', pane: 'overlayPane' }).bindTooltip('');
    this.layer.addLayer(dot);
    return dot;
  }
}
