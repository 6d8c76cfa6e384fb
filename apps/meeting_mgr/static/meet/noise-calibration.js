// How loud it is, shown to the person alone, and how to tell the device what that is in dB.
import { h, setText } from 'citywise/elements.js';
import { number, t } from 'citywise/strings.js';
import { calibration, QUIET_ROOM } from './sensors/calibration.js';

const SHOWN_MS = 500;
const LOUDEST = 110;

export function noiseCalibration() {
  const bar = h('meter', { min: 0, max: LOUDEST, 'aria-label': t('meet.noise.level') });
  const value = h('span', { class: 'noise-value' });
  const said = h('p', { class: 'quiet', role: 'status' });
  const input = h('input', { type: 'number', min: 20, max: 130, inputmode: 'numeric' });
  const button = (key, onclick) => h('button', { type: 'button', class: 'button small', onclick }, t(key));
  const forget = button('meet.noise.forget', () => calibration.forget());
  const element = h('details', { class: 'why noise-calibration' }, h('summary', {}, t('meet.noise.calibrate')),
    h('p', { class: 'noise-level' }, bar, value), h('p', { class: 'quiet' }, t('meet.noise.explain')),
    h('p', { class: 'noise-does' }, button('meet.noise.quiet', () => calibrate(QUIET_ROOM))),
    h('p', { class: 'noise-does' }, h('label', {}, t('meet.noise.meter'), ' ', input), button('meet.noise.set', () => take())),
    said, forget);
  let shownAt = -Infinity;

  function calibrate(decibels) {
    calibration.set(decibels);
    setText(said, t('meet.noise.done', { n: decibels }));
  }

  function take() {
    if (input.value && input.reportValidity()) calibrate(input.valueAsNumber);
  }

  function show() {
    const { now } = calibration;
    forget.hidden = !calibration.isDone;
    if (now !== null && performance.now() - shownAt < SHOWN_MS) return;
    shownAt = performance.now();
    bar.value = now ?? 0;
    setText(value, now === null ? t('meet.noise.none') : t('meet.noise.value', { n: number(Math.round(now)) }));
  }

  calibration.addEventListener('change', show);
  show();
  return element;
}
