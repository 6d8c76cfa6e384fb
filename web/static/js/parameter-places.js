// Widgets for places and sensors, from the places the city knows.
import { city } from './city.js';
import { h } from './elements.js';
import { locale, t } from './strings.js';

/** A select of places that `fits` accepts; it is filled once the city is loaded. */
export function placeSelect(fits, { required, ...more } = {}) {
  const select = h('select', { required, ...more }, h('option', { value: '' }, t('form.choose')));
  let wanted = '';
  const fill = () => {
    const places = [...city.places.values()].filter(fits)
      .sort((a, b) => a.name.localeCompare(b.name, locale));
    if (select.options.length === places.length + 1) return;
    const chosen = select.value || wanted;
    select.replaceChildren(select.options[0], ...places.map(({ id, name }) => h('option', { value: id }, name)));
    select.value = chosen;
  };
  fill();
  city.addEventListener('change', () => select.isConnected && fill());
  return { select, set: (id) => (select.value = wanted = id ?? '') };
}

const missing = (input) => (input.required && !input.value ? ['form.missing'] : null);

export function placeWidget({ kind, required }) {
  const { select, set } = placeSelect((place) => !kind || place.kind === kind, { required });
  return { element: select, input: select, set, value: () => select.value || undefined, fault: () => missing(select) };
}

export function sensorWidget({ observes, required, title }) {
  const kinds = observes ? [observes] : ['traffic', 'parking', 'weather', 'air'];
  const kind = h('select', { 'aria-label': t('form.observes', { title }), hidden: kinds.length === 1 },
    ...kinds.map((name) => h('option', { value: name }, t(`stream.${name}`))));
  const { select, set } = placeSelect((place) => place.sensors?.some((name) => kinds.includes(name)), { required });
  return {
    element: h('span', { class: 'number' }, select, kind),
    input: select,
    value: () => (select.value ? { place: select.value, observes: kind.value } : undefined),
    set(value) {
      set(value?.place);
      kind.value = value?.observes ?? kinds[0];
    },
    fault: () => missing(select),
  };
}
