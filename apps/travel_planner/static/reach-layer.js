// Where one can be by line and on foot within some minutes, from the start of the plan or the middle
// of the map.
import { ask, query } from 'citywise/api.js';
import { setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { plans } from './plans.js';

const { L } = window;

/** The layer; `element` has the choice of minutes and says from where. */
export class ReachLayer {
  #asked = 0;

  constructor(map, element) {
    this.map = map;
    this.minutes = element.querySelector('select');
    this.said = element.querySelector('[data-said]');
    this.layer = L.geoJSON(null, {
      interactive: false,
      filter: ({ geometry }) => geometry.type !== 'Point',
      style: { className: 'reach-area' },
    });
    this.layer.on('add', () => this.update());
    this.minutes.addEventListener('change', () => this.update());
    plans.addEventListener('request', () => this.update());
    map.on('moveend', () => plans.request.from || this.update());
  }

  async update() {
    if (!this.map.hasLayer(this.layer)) return;
    const { from } = plans.request;
    const { lat, lng } = this.map.getCenter();
    const at = from?.lat === undefined ? { lat: lat.toFixed(4), lon: lng.toFixed(4) } : { lat: from.lat, lon: from.lon };
    const asked = ++this.#asked;
    try {
      const area = await ask(`/reachable.geojson${query({ ...at, minutes: this.minutes.value })}`);
      if (asked !== this.#asked) return; // A later one is under way.
      this.layer.clearLayers().addData(area);
      setText(this.said, from?.name ? t('plan.reach.from', { name: from.name }) : t('plan.reach.centre'));
    } catch {
      if (asked !== this.#asked) return;
      this.layer.clearLayers();
      setText(this.said, t('plan.stops.none'));
    }
  }
}
