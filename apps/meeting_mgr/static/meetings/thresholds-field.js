// Up to which value of a sensor somebody is taken to be able, and how far back inside it must come.
import { h } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';
import { atMinute } from 'citywise/times.js';

/** Which bound each sensor has, its unit, and what is usual (`apps/meeting_mgr/model.py`). */
export const USUAL = {
  noise: { bound: 'upper', unit: 'dB', value: 80, hysteresis: 5 },
  light: { bound: 'lower', unit: 'lux', value: 150, hysteresis: 30 },
  proximity: { bound: 'lower', unit: 'cm', value: 0, hysteresis: 0 },
  motion: { bound: 'upper', unit: 'm/s²', value: 8, hysteresis: 2 },
  speed: { bound: 'upper', unit: 'km/h', value: 20, hysteresis: 10 },
  distance: { bound: 'upper', unit: 'm', value: 50, hysteresis: 25 },
  battery: { bound: 'lower', unit: '%', value: 5, hysteresis: 3 },
  network: { bound: 'lower', unit: 'Mbit/s', value: 0.1, hysteresis: 0.1 },
};
const FIRST = ['noise', 'light', 'proximity'];

/** The field of `rules.thresholds`; sensors without a line here keep theirs. `moved`: which have been changed of late. */
export function thresholdsField(moved = {}) {
  let kept = {};
  const lines = Object.entries(USUAL).map(([sensor, usual]) => thresholdLine(sensor, usual));
  const list = (wanted) => h('ul', { class: 'thresholds' }, ...lines.filter(({ sensor }) => FIRST.includes(sensor) === wanted).map(({ element }) => element));
  const reset = h('button', { type: 'button', class: 'link', onclick: () => lines.forEach((line) => line.set()) }, t('meetings.thresholds.usual'));
  const more = h('details', { class: 'why' }, h('summary', {}, t('meetings.thresholds.more')), list(false));
  const field = labelledField({ name: 'thresholds', title: t('meetings.thresholds'), help: `${t('meetings.thresholds.help')} ${t('meetings.thresholds.moved')}`, group: true, input: reset, element: h('div', { class: 'stack' }, ...Object.entries(moved).map(movedLine), list(true), more, reset) });

  return {
    ...field,
    value: () => ({ ...kept, ...Object.fromEntries(lines.map((line) => [line.sensor, line.value()])) }),
    set(thresholds) {
      kept = thresholds ?? {};
      lines.forEach((line) => line.set(kept[line.sensor]));
    },
    check() {
      const faulty = lines.filter((line) => !line.check());
      if (faulty.some(({ sensor }) => !FIRST.includes(sensor))) more.open = true;
      field.say(faulty.length ? t('meetings.thresholds.wrong') : null);
      return faulty.length === 0;
    },
    focus: () => (lines.find((line) => !line.check()) ?? lines[0]).focus(),
  };
}

/** “Noise: can be changed once more before 10:32.” */
function movedLine([sensor, { left, until }]) {
  const words = { what: t(`meetings.sensor.${sensor}`), time: atMinute(Date.parse(until)) };
  return h('p', { class: 'quiet' }, t(`meetings.thresholds.${left ? 'left' : 'none'}`, words));
}

/** “Noise: at most 80 dB, fine again 5 dB below”. */
function thresholdLine(sensor, { bound, unit, value: usual, hysteresis: usually }) {
  let other = {};
  const name = t(`meetings.sensor.${sensor}`);
  const number = (label) => h('input', { type: 'number', inputmode: 'decimal', step: 'any', required: true, 'aria-label': `${name}: ${label} (${unit})` });
  const [value, margin] = [number(t(`meetings.thresholds.${bound}`)), number(t('meetings.thresholds.margin'))];
  margin.min = 0;
  const element = h('li', { class: 'threshold' }, h('span', { class: 'threshold-name' }, name),
    h('span', { class: 'number' }, h('span', { class: 'unit' }, t(`meetings.thresholds.${bound}`)), value, h('span', { class: 'unit' }, unit)),
    h('span', { class: 'number' }, h('span', { class: 'unit' }, t('meetings.thresholds.margin')), margin, h('span', { class: 'unit' }, unit)));

  return {
    sensor,
    element,
    focus: () => (value.checkValidity() ? margin : value).focus(),
    value: () => ({ ...other, [bound]: value.valueAsNumber, hysteresis: margin.valueAsNumber }),
    set(threshold = { [bound]: usual, hysteresis: usually }) {
      other = threshold;
      value.value = threshold[bound] ?? usual;
      margin.value = threshold.hysteresis ?? usually;
    },
    check() {
      for (const input of [value, margin]) input.toggleAttribute('aria-invalid', false);
      const faulty = [value, margin].filter((input) => !input.checkValidity());
      for (const input of faulty) input.setAttribute('aria-invalid', 'true');
      return faulty.length === 0;
    },
  };
}
