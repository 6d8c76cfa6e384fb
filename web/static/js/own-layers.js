// The layers that a city has of its own (districts, schools, zones): each with a switch, drawn when
// it is switched on.
import { h } from './elements.js';
import { labelled, valueText } from './kinds.js';
import { language, number } from './strings.js';

const { L } = window;
const COLORS = ['#3b82c4', '#c2673a', '#3f9464', '#9467bd', '#a8842c']; // Seen on light and dark ground.

const nameOf = ({ name, [`name_${language}`]: own }) => own ?? name;

/** A place with all that its layer says of it. */
function placeCard(layer, { id, properties }) {
  const known = Object.entries(layer.fields).map(([name, field]) => [labelled(field.label, name), properties[name], field]);
  const others = Object.entries(properties.properties ?? {}).map(([name, value]) => [name, value, {}]);
  const hours = [['opening_hours', properties.opening_hours, {}]];
  const rows = [...known, ...hours, ...others].filter(([, value]) => value !== null && value !== undefined);
  const text = (field, value) => (typeof value === 'string' ? value : field.type ? valueText(field, value) : typeof value === 'number' ? number(value) : String(value));
  const element = h('article', { class: 'kind-card', 'data-place': id },
    h('header', {}, h('h2', {}, nameOf(properties))), h('p', { class: 'quiet' }, labelled(layer.label, layer.name)),
    h('dl', { class: 'kind-values' }, ...rows.map(([name, value, field]) => h('div', {}, h('dt', {}, name), h('dd', {}, text(field, value))))));
  return { element, update() {} };
}

/** Adds the switches to the page's legend; `openCard(card, latLng)` shows a place. */
export class OwnLayers {
  constructor(page, map, openCard) {
    Object.assign(this, { page, map, openCard });
    const pane = map.createPane('own-layers');
    pane.style.zIndex = 350; // Below roads and markers.
    this.#load();
  }

  async #load() {
    const response = await fetch('/api/v1/layers').catch(() => null);
    const { layers } = response?.ok ? await response.json() : { layers: [] };
    layers.filter(({ places, shown }) => places && shown).forEach((layer, index) => this.#add(layer, layer.color ?? COLORS[index % COLORS.length]));
  }

  #add(layer, color) {
    const group = L.layerGroup();
    group.once('add', () => this.#draw(layer, group, color));
    this.page.layers[`own-${layer.name}`] = { layer: group };
    const swatch = h('span', { class: 'kind-swatch own-swatch' });
    swatch.style.setProperty('--grade', color);
    this.page.querySelector('.legend ul').append(h('li', {}, h('label', {},
      h('input', { type: 'checkbox', 'data-layer': `own-${layer.name}` }), swatch, labelled(layer.label, layer.name))));
  }

  async #draw(layer, group, color) {
    const response = await fetch(`/api/v1/layers/${layer.name}.geojson`).catch(() => null);
    if (!response?.ok) {
      group.once('add', () => this.#draw(layer, group, color)); // Switched on again it is tried again.
      return;
    }
    const style = { color, weight: 2, fillColor: color, fillOpacity: 0.15, className: 'own-place' };
    // Some are elements, which can be seen by all means; thousands are one picture.
    const collection = await response.json();
    const renderer = collection.features.length > 500 ? L.canvas({ pane: 'own-layers' }) : L.svg({ pane: 'own-layers' });
    L.geoJSON(collection, {
      pane: 'own-layers',
      renderer,
      style: ({ geometry: { type } }) => (type.endsWith('LineString') ? { ...style, weight: 4, fill: false } : style),
      pointToLayer: (_, latLng) => L.circleMarker(latLng, { ...style, pane: 'own-layers', renderer, radius: 7, fillOpacity: 0.6 }),
      onEachFeature: (feature, shape) => {
        shape.bindTooltip(Object.assign(document.createElement('span'), { textContent: nameOf(feature.properties) }), { sticky: true });
        shape.on('click', ({ latlng }) => this.openCard(placeCard(layer, feature), latlng));
      },
    }).addTo(group);
  }
}
