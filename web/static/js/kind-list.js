// Places with what their sensors say, kind by kind: as a list, and as a card on the map.
import { aged } from './aged.js';
import { city } from './city.js';
import { h, keyed, setText } from './elements.js';
import { historyOf } from './history-chart.js';
import { grade, isOld, kindName, labelled, placeKindName, stepName, stepOf, valueText } from './kinds.js';
import { locale, t } from './strings.js';

const readingsOf = (place) => (place.sensors ?? []).map((name) => [city.kinds.get(name), city.reading(name, place.id)])
  .filter(([kind, reading]) => kind && reading);

/** A place with all that its sensors say; `update` brings it up to date. */
export function kindCard(place, heading = 'h3') {
  const chip = h('span', { class: 'chip kind-chip', hidden: true });
  const values = h('dl', { class: 'kind-values' });
  const age = h('p', { class: 'quiet age' });
  const element = h('article', { class: 'kind-card', 'data-place': place.id },
    h('header', {}, h(heading, {}, place.name), chip), h('p', { class: 'quiet' }, placeKindName(place.kind)), values, age);

  function update(now) {
    const found = readingsOf(place);
    const rows = found.flatMap(([kind, reading]) => Object.entries(kind.fields)
      .filter(([name]) => reading[name] !== null && reading[name] !== undefined)
      .map(([name, field]) => [`${kind.kind}.${name}`, labelled(field.label, name), valueText(field, reading[name])]));
    keyed(values, rows, ([key]) => key, ([, name]) => h('div', {}, h('dt', {}, name), h('dd', {})),
      (row, [, , text]) => setText(row.lastElementChild, text));
    const newest = found.reduce((a, b) => (a && a[1].observedMs >= b[1].observedMs ? a : b), null);
    const coloured = found.find(([kind, reading]) => kind.map?.steps.length && stepOf(kind, reading) >= 0);
    chip.hidden = !coloured;
    if (coloured) {
      const [kind, reading] = coloured;
      const index = stepOf(kind, reading);
      chip.dataset.grade = isOld(kind, reading, now) ? 0 : grade(kind, index);
      setText(chip, stepName(kind.map.steps[index][1]));
    }
    if (!newest) return setText(age, t('sensor.never'));
    const told = aged({ ageS: (now - newest[1].observedMs) / 1000 }, 'kind.measured');
    return setText(age, isOld(...newest, now) ? `${t('kind.old')}: ${told}` : told);
  }

  update(city.time());
  return { element, update };
}

/** Every kind that the map colours and that has readings, with its places. */
customElements.define('city-kinds', class extends HTMLElement {
  connectedCallback() {
    this.list = h('div', {});
    this.empty = h('p', { class: 'empty' }, t('list.none.kinds'));
    this.append(this.list, this.empty);
    city.follow(() => this.#show());
  }

  #show() {
    const now = city.time();
    const kinds = [...city.kinds.values()].filter((kind) => kind.map)
      .map((kind) => ({ kind, places: this.#places(kind) })).filter(({ places }) => places.length);
    keyed(this.list, kinds, ({ kind }) => kind.kind, ({ kind }) => this.#section(kind), (section, { places }) => {
      keyed(section.list, places, (place) => place.id, (place) => {
        const card = kindCard(place, 'h4');
        card.element.append(historyOf(place));
        return Object.assign(h('li', {}, card.element), { card });
      }, (item) => item.card.update(now));
    });
    this.empty.hidden = kinds.length > 0;
  }

  #places({ kind }) {
    return [...city.places.values()].filter((place) => city.reading(kind, place.id))
      .sort((a, b) => a.name.localeCompare(b.name, locale));
  }

  #section({ kind }) {
    const list = h('ul', { class: 'cards' });
    return Object.assign(h('section', { 'data-kind': kind }, h('h3', {}, kindName(kind)), list), { list });
  }
});
