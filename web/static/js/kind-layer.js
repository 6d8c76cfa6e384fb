// Readings of a kind on the map: a dot or a line for each place, coloured by its step.
import { city } from './city.js';
import { h } from './elements.js';
import { grade, isOld, kindName, mapped, stepName, stepOf, unitText, valueText } from './kinds.js';
import { kindCard } from './kind-list.js';
import { number, t } from './strings.js';

const { L } = window;
const RADIUS = [5, 6, 7, 8, 9, 10]; // By grade: who sees no colours sees the size.

const latLngs = ({ geometry: { coordinates } }) => coordinates.map(([lon, lat]) => [lat, lon]);

/** The layer of one kind; `openCard(card, latLng, marker)` shows a place. */
export class KindLayer {
  #shapes = new Map();

  constructor(map, kind, openCard) {
    this.kind = kind;
    this.layer = L.layerGroup().addTo(map);
    this.openCard = openCard;
  }

  *update(now) {
    const name = this.kind.kind;
    this.kind = city.kinds.get(name) ?? this.kind;
    for (const reading of city.readings.values()) {
      const place = reading.kind === name && city.places.get(reading.place_id);
      if (place) this.#show(place, reading, now);
      yield;
    }
    if (!city.moment) return;
    for (const id of this.#shapes.keys()) {
      if (!city.reading(name, id)) this.#show(city.places.get(id), undefined, now);
      yield;
    }
  }

  /** What the colours mean. */
  legend() {
    const { map, fields } = this.kind;
    const unit = unitText(fields[map.show].unit);
    return h('dl', { class: 'states', 'data-of': this.kind.kind }, ...map.steps.map(([from, name], index) =>
      h('div', {}, h('dt', {}, h('span', { class: 'kind-swatch', 'data-grade': grade(this.kind, index) }), stepName(name)),
        h('dd', {}, t('kind.from', { value: `${number(from)} ${unit}`.trim() })))));
  }

  #show(place, reading, now) {
    const index = stepOf(this.kind, reading);
    const state = isOld(this.kind, reading, now) || index < 0 ? 0 : grade(this.kind, index);
    const words = this.#words(place, reading, index, now);
    const known = this.#shapes.get(place.id) ?? this.#add(place);
    if (known.words === words) return;
    known.words = words;
    known.tip.textContent = words;
    const names = `kind-point kind-${this.kind.kind} grade-${state}`;
    known.shape.options.className = names;
    known.shape.setRadius?.(RADIUS[state]);
    known.shape.getElement()?.setAttribute('class', `${names} leaflet-interactive`);
  }

  #words(place, reading, index, now) {
    const { map, fields } = this.kind;
    const parts = [place.name, `${kindName(this.kind.kind)}: ${valueText(fields[map.show], reading?.[map.show])}`];
    if (index >= 0) parts.push(stepName(map.steps[index][1]));
    if (isOld(this.kind, reading, now)) parts.push(t('kind.old'));
    return parts.join(' · ');
  }

  #add(place) {
    const tip = document.createElement('span'); // Leaflet would read a text as HTML.
    const isPoint = place.geometry.type === 'Point';
    const [lon, lat] = isPoint ? place.geometry.coordinates : [];
    const shape = isPoint ? L.circleMarker([lat, lon], { radius: RADIUS[0], className: 'kind-point' })
      : L.polyline(latLngs(place), { weight: 6, className: 'kind-point kind-line' });
    shape.bindTooltip(tip);
    shape.on('click', ({ latlng }) => this.openCard(kindCard(place, 'h2'), latlng));
    this.layer.addLayer(shape);
    const known = { shape, tip, words: null };
    this.#shapes.set(place.id, known);
    return known;
  }
}

/** The layers of all kinds that the map colours, each with its switch and legend as soon as
    there is a reading of it. */
export class KindLayers {
  #layers = new Map();

  constructor(page, map, openCard) {
    this.page = page;
    this.map = map;
    this.openCard = openCard;
  }

  /** Show what is new, place by place. */
  *update(now) {
    const heard = new Set([...city.readings.values()].map(({ kind }) => kind));
    for (const kind of mapped()) {
      if (heard.has(kind.kind) && !this.#layers.has(kind.kind)) this.#add(kind);
    }
    for (const layer of this.#layers.values()) yield* layer.update(now);
  }

  #add(kind) {
    const layer = new KindLayer(this.map, kind, this.openCard);
    this.#layers.set(kind.kind, layer);
    this.page.layers[`kind-${kind.kind}`] = layer;
    this.page.querySelector('.legend ul').append(h('li', {}, h('label', {},
      h('input', { type: 'checkbox', 'data-layer': `kind-${kind.kind}`, checked: true }),
      h('span', { class: 'kind-swatch', 'data-grade': 3 }), kindName(kind.kind)), layer.legend()));
  }
}
