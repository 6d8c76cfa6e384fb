// Widgets for places and sensors, from the places the city knows.
import { city } from './city.js';
import { h } from './elements.js';
import { kindName } from './kinds.js';
import { locale, t } from './strings.js';

const MANY = 20;

/**
 * A select of places that `fits` accepts, filled once the city is loaded; of many, with a
 * field beside it (both are `element`) that leaves those whose names hold what is written.
 */
export function placeSelect(fits, { required, title, layer, ...more } = {}) {
  const select = h('select', { required, ...more }, h('option', { value: '' }, t('form.choose')));
  const search = h('input', { type: 'search', placeholder: t('form.search'), 'aria-label': t('form.search.of', { title: title ?? more['aria-label'] }) });
  const element = h('span', { class: 'stack' }, select);
  let wanted = '';
  let shown = '';
  let others = []; // Of a layer, which is not among the places that sensors watch.
  const fill = () => {
    const places = [...city.places.values(), ...others].filter(fits)
      .sort((a, b) => a.name.localeCompare(b.name, locale));
    if (places.length > MANY && !search.isConnected) element.prepend(search);
    const text = search.value.trim().toLocaleLowerCase(locale);
    const chosen = select.value || wanted;
    const left = places.filter(({ id, name }) => id === chosen || name.toLocaleLowerCase(locale).includes(text));
    const ids = left.map(({ id }) => id).join();
    if (ids === shown) return;
    shown = ids;
    select.replaceChildren(select.options[0], ...left.map(({ id, name }) => h('option', { value: id }, name)));
    select.value = chosen;
  };
  fill();
  if (layer) ofLayer(layer).then((found) => { others = found; fill(); });
  search.addEventListener('input', fill);
  city.addEventListener('change', () => select.isConnected && fill());
  return {
    select,
    element,
    set(id) {
      select.value = wanted = id ?? '';
      fill();
    },
  };
}

async function ofLayer(kind) {
  const response = await fetch(`/api/v1/layers/${kind}.geojson`).catch(() => null);
  const { features } = response?.ok ? await response.json() : { features: [] };
  return features.map(({ id, properties }) => ({ ...properties, id }));
}

const missing = (input) => (input.required && !input.value ? ['form.missing'] : null);

export function placeWidget({ kind, roles = [], required, title }) {
  const layer = city.placeKinds.get(kind)?.layer ? kind : null;
  const fits = (place) => (roles.length ? roles.some((role) => city.carries(place, role)) : !kind || place.kind === kind);
  const { select, element, set } = placeSelect(fits, { required, title, layer });
  return { element, input: select, set, value: () => select.value || undefined, fault: () => missing(select) };
}

export function sensorWidget({ observes, required, title }) {
  const kinds = observes ? [observes] : [...city.kinds.keys()];
  const kind = h('select', { 'aria-label': t('form.observes', { title }), hidden: kinds.length === 1 },
    ...kinds.map((name) => h('option', { value: name }, kindName(name))));
  const { select, element, set } = placeSelect((place) => place.sensors?.some((name) => kinds.includes(name)), { required, title });
  return {
    element: h('span', { class: 'number' }, element, kind),
    input: select,
    value: () => (select.value ? { place: select.value, observes: kind.value } : undefined),
    set(value) {
      set(value?.place);
      kind.value = value?.observes ?? kinds[0];
    },
    fault: () => missing(select),
  };
}
