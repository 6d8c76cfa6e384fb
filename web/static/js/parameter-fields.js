// A field of a form for each type of parameter: from a value to what people see, and back.
//
// A widget is `{ element, input, value(), set(value), fault() }`: `input` is what gets the
// focus, `value()` is undefined where nothing is given, `fault()` the key and values of the
// string that says what is wrong, or null.
import { areaWidget, routeWidget } from './parameter-shapes.js';
import { placeWidget, sensorWidget } from './parameter-places.js';
import { h } from './elements.js';
import { locale, t } from './strings.js';
import { NAME } from './user.js';

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 };
const LONG_TEXT = 200;

/** What a browser finds wrong with an input, in our words. */
export function inputFault(input, { min, max, step } = {}) {
  const { validity } = input;
  if (validity.valid) return null;
  if (validity.valueMissing && !validity.badInput) return ['form.missing'];
  if (validity.rangeUnderflow || validity.rangeOverflow) {
    return [max === undefined ? 'form.least' : min === undefined ? 'form.most' : 'form.range', { min, max }];
  }
  if (validity.stepMismatch) {
    const below = (min ?? 0) + Math.floor((Number(input.value) - (min ?? 0)) / step) * step;
    return ['form.step', { step, below, above: below + step }];
  }
  if (validity.tooLong) return ['form.long', { max: input.maxLength }];
  return [validity.badInput ? 'form.number' : 'form.pattern'];
}

/** A widget of one input whose text `read` turns into the value. */
function inputWidget(input, { read = (text) => text, write = String, bounds = {} } = {}) {
  return {
    element: input,
    input,
    value: () => (input.value === '' ? undefined : read(input.value)),
    set: (value) => (input.value = value === undefined || value === null ? '' : write(value)),
    fault: () => inputFault(input, bounds),
  };
}

function numberWidget({ min, max, step = 1, unit, required }) {
  const bounds = { min, max, step };
  const input = h('input', { type: 'number', inputmode: 'decimal', ...bounds, required });
  const widget = inputWidget(input, { read: Number, bounds });
  // The slider is for fingers and mice; the number beside it says the same to everyone else.
  const slider = min !== undefined && max !== undefined
    ? h('input', { type: 'range', ...bounds, tabindex: '-1', 'aria-hidden': 'true' }) : null;
  slider?.addEventListener('input', () => (input.value = slider.value));
  const follow = () => slider && (slider.value = input.value || min);
  input.addEventListener('input', follow);
  return {
    ...widget,
    element: h('span', { class: 'number' }, slider, input, unit ? h('span', { class: 'unit' }, unit) : null),
    set: (value) => {
      widget.set(value);
      follow();
    },
  };
}

/** A widget that offers some values, each with its text. */
export function selectWidget(options, { required }) {
  const first = h('option', { value: '' }, t(required ? 'form.choose' : 'form.none'));
  const select = h('select', { required }, first, ...options.map(([value, text]) => h('option', { value }, text)));
  return inputWidget(select);
}

function durationWidget({ required }) {
  const input = h('input', { type: 'number', min: 0, step: 1, required });
  const units = Object.keys(UNITS).map((unit) => h('option', { value: unit }, t(`unit.${unit}`)));
  const unit = h('select', { 'aria-label': t('form.unit') }, ...units);
  unit.value = 'm';
  return {
    element: h('span', { class: 'number' }, input, unit),
    input,
    value: () => (input.value === '' ? undefined : `${input.value}${unit.value}`),
    set(value) {
      const seconds = value ? inSeconds(value) : null;
      const largest = Object.keys(UNITS).filter((name) => seconds && seconds % UNITS[name] === 0).at(-1);
      unit.value = largest ?? 'm';
      input.value = seconds === null ? '' : seconds / UNITS[unit.value];
    },
    fault: () => inputFault(input, { min: 0, step: 1 }),
  };
}

const inSeconds = (text) =>
  [...text.toLowerCase().matchAll(/(\d+)([dhms])/g)]
    .reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit], 0);

function spanWidget({ required, title }) {
  const from = h('input', { type: 'time', required });
  const to = h('input', { type: 'time', required, 'aria-label': t('form.until', { title }) });
  return {
    element: h('span', { class: 'number' }, from, h('span', { 'aria-hidden': 'true' }, '–'), to),
    input: from,
    value: () => (from.value && to.value ? `${from.value}-${to.value}` : undefined),
    set: (value) => ([from.value, to.value] = value ? value.split('-') : ['', '']),
    fault: () => inputFault(from) ?? inputFault(to) ?? (!from.value === !to.value ? null : ['form.missing']),
  };
}

function textWidget({ max_length: maxlength = LONG_TEXT, pattern, required }) {
  const tag = maxlength > LONG_TEXT && !pattern ? 'textarea' : 'input';
  return inputWidget(h(tag, { maxlength, pattern, required, ...(tag === 'input' ? { type: 'text' } : {}) }));
}

/** The values a parameter offers, each with what people read. */
const offered = ({ choices, labels }) => choices.map((value) => [value, labels[value] ?? value]);

const WIDGETS = {
  number: numberWidget,
  choice: (parameter) => selectWidget(offered(parameter), parameter),
  class: (parameter) => selectWidget(
    offered(parameter).sort(([, a], [, b]) => a.localeCompare(b, locale)), parameter),
  place: placeWidget,
  sensor: sensorWidget,
  route: routeWidget,
  area: areaWidget,
  duration: durationWidget,
  time_of_day: ({ required }) => inputWidget(h('input', { type: 'time', required })),
  time_span: spanWidget,
  user: ({ required }) => inputWidget(h('input', { type: 'text', pattern: NAME, maxlength: 64, required })),
  text: textWidget,
};

/** The widget for one value of a parameter. */
export const widgetFor = (parameter) => (WIDGETS[parameter.type] ?? textWidget)(parameter);
