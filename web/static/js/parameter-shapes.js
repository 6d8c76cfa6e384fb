// Widgets for routes and areas: points are written one a line, as latitude and longitude.
import { h } from './elements.js';
import { placeSelect } from './parameter-places.js';
import { city } from './city.js';
import { t } from './strings.js';

const POINT = /^\s*(-?\d{1,2}(?:\.\d+)?)\s*[,; ]\s*(-?\d{1,3}(?:\.\d+)?)\s*$/;

const lines = (text) => text.split('\n').filter((line) => line.trim());
const points = (text) => lines(text).map((line) => line.match(POINT)?.slice(1).map(Number).reverse());
const written = (coordinates) => coordinates.map(([lon, lat]) => `${lat}, ${lon}`).join('\n');

/** A text area of points, with its fault where fewer than `least` can be read. */
function pointsInput(least, label) {
  const input = h('textarea', { rows: 4, placeholder: '56.1517, 10.2048', 'aria-label': label, spellcheck: 'false' });
  const read = () => points(input.value);
  const isFine = () => read().length >= least && read().every(Boolean);
  return { input, read, fault: () => (isFine() ? null : ['form.points', { count: least }]) };
}

/** A select of which the chosen part is shown. */
function parts(choices, shown, attributes = {}) {
  const select = h('select', attributes, ...choices.map(([value, text]) => h('option', { value }, text)));
  const show = () => Object.entries(shown).forEach(([name, part]) => (part.hidden = name !== select.value));
  select.addEventListener('change', show);
  show();
  return { select, choose: (name) => { select.value = name; show(); } };
}

export function routeWidget({ required, title }) {
  const own = pointsInput(2, t('form.points.label', { title }));
  const choices = [...(required ? [] : [['', t('form.none')]]), ['mine', t('form.route.mine')], ['own', t('form.route.own')]];
  const { select, choose } = parts(choices, { own: own.input });
  return {
    element: h('span', { class: 'stack' }, select, own.input),
    input: select,
    value: () => ({ mine: 'mine', own: { coordinates: own.read() } })[select.value],
    set(value) {
      choose(value?.coordinates ? 'own' : value ?? choices[0][0]);
      if (value?.coordinates) own.input.value = written(value.coordinates);
    },
    fault: () => (select.value === 'own' ? own.fault() : null),
  };
}

const LIMITS = { lat: [-90, 90], lon: [-180, 180], radius_m: [1, 50_000] };

function circleInputs() {
  const inputs = Object.fromEntries(Object.entries(LIMITS).map(([name, [min, max]]) =>
    [name, h('input', { type: 'number', min, max, step: 'any', required: true })]));
  const labelled = Object.entries(inputs).map(([name, input]) =>
    h('label', { class: 'field' }, h('span', {}, t(`form.area.${name}`)), input));
  const around = placeSelect(() => true, { 'aria-label': t('form.area.around') });
  around.select.options[0].textContent = t('form.area.around');
  around.select.addEventListener('change', () => {
    const [lon, lat] = middle(city.places.get(around.select.value)?.geometry) ?? [];
    Object.assign(inputs.lat, { value: lat ?? '' });
    Object.assign(inputs.lon, { value: lon ?? '' });
  });
  return { inputs, element: h('span', { class: 'stack' }, around.element, h('span', { class: 'fields' }, ...labelled)) };
}

/** A point on a geometry: of a line, the vertex in its middle. */
export const middle = (geometry) =>
  geometry && (geometry.type === 'Point' ? geometry.coordinates : geometry.coordinates[geometry.coordinates.length >> 1]);

export function areaWidget({ required, title }) {
  const { inputs, element: circle } = circleInputs();
  const outline = pointsInput(3, t('form.points.label', { title }));
  const choices = [...(required ? [] : [['', t('form.none')]]), ['circle', t('form.area.circle')], ['polygon', t('form.area.polygon')]];
  const { select, choose } = parts(choices, { circle, polygon: outline.input });
  const number = (name) => Number(inputs[name].value);
  const closed = (ring) => (ring.length && String(ring[0]) !== String(ring.at(-1)) ? [...ring, ring[0]] : ring);
  return {
    element: h('span', { class: 'stack' }, select, circle, outline.input),
    input: select,
    value: () => ({
      circle: { center: { lat: number('lat'), lon: number('lon') }, radius_m: number('radius_m') },
      polygon: { type: 'Polygon', coordinates: [closed(outline.read())] },
    })[select.value],
    set(value) {
      choose(value?.center ? 'circle' : value?.coordinates ? 'polygon' : choices[0][0]);
      if (value?.center) {
        const { center: { lat, lon }, radius_m: radius } = value;
        for (const [name, n] of Object.entries({ lat, lon, radius_m: radius })) inputs[name].value = n;
      } else if (value?.coordinates) {
        outline.input.value = written(value.coordinates[0]);
      }
    },
    fault() {
      if (select.value === 'polygon') return outline.fault();
      const wrong = Object.entries(inputs).find(([, input]) => !input.checkValidity());
      return select.value === 'circle' && wrong ? [`form.area.wrong.${wrong[0]}`] : null;
    },
  };
}
