// The base map below everything else: water, green, built-up land and rails, drawn on one canvas.
import { h } from './elements.js';
import { inSlices } from './slices.js';

const { L } = window;
const ADDRESS = '/api/v1/basemap.geojson';
const WIDTHS = { river: 3.5, rail: 1.5 };

const colour = (kind) => getComputedStyle(document.documentElement).getPropertyValue(`--ground-${kind}`).trim();

const style = ({ properties: { kind } }) => (kind in WIDTHS
  ? { color: colour(kind), weight: WIDTHS[kind], dashArray: kind === 'rail' ? '6 4' : null, fill: false }
  : { stroke: false, fillColor: colour(kind), fillOpacity: 1 });

/** The layer; `onQuarters([{ text, at }])` hears what the quarters are called. Without a base map there is none. */
export class GroundLayer {
  constructor(map, onQuarters) {
    map.createPane('ground').classList.add('pane-ground');
    this.map = map;
    this.#load(onQuarters);
  }

  * #drawn(layer, features) {
    for (const feature of features) {
      layer.addData(feature);
      yield;
    }
  }

  async #load(onQuarters) {
    const response = await fetch(ADDRESS).catch(() => null);
    const { features, licence } = response?.ok ? await response.json() : { features: [] };
    if (licence) this.map.attributionControl.addAttribution(h('span', {}, licence).innerHTML);
    const isNamed = ({ geometry }) => geometry.type === 'Point';
    const renderer = L.canvas({ pane: 'ground', padding: 0.5 });
    const layer = L.geoJSON(null, { renderer, pane: 'ground', interactive: false, style }).addTo(this.map);
    await inSlices(this.#drawn(layer, features.filter((feature) => !isNamed(feature))));
    const restyle = () => layer.setStyle(style);
    new MutationObserver(restyle).observe(document.documentElement, { attributeFilter: ['data-theme'] });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restyle);
    onQuarters(features.filter(isNamed).map(({ properties: { name }, geometry: { coordinates: [lon, lat] } }) => ({ text: name, at: [lat, lon] })));
  }
}
