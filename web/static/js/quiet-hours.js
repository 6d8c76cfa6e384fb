// Spans of the day in which nothing alerts.
import { h, icon } from './elements.js';
import { labelledField } from './labelled-field.js';
import { locale, t } from './strings.js';

const MOST = 20;
const WORST = 5;
const USUAL = { from: '22:00', until: '07:00', days: null, except_from: WORST };
const A_MONDAY = Date.UTC(2024, 0, 1);
const names = (weekday) => {
  const format = new Intl.DateTimeFormat(locale, { weekday, timeZone: 'UTC' });
  return Array.from({ length: 7 }, (_, day) => format.format(A_MONDAY + day * 86_400_000));
};
const SHORT = names('short');
const LONG = names('long');

/** One span: from, until, on which days, and what alerts all the same. */
function spanInputs({ from, until, days, except_from: except }) {
  const time = (key, value) => h('input', { type: 'time', required: true, value, 'aria-label': t(key) });
  const inputs = { from: time('quiet.from', from), until: time('quiet.until', until) };
  const boxes = SHORT.map((name, day) => {
    const box = h('input', { type: 'checkbox', checked: !days || days.includes(day + 1), 'aria-label': LONG[day] });
    return { box, label: h('label', { class: 'day-tick' }, box, h('span', { 'aria-hidden': 'true' }, name)) };
  });
  const levels = Array.from({ length: WORST - 1 }, (_, index) => index + 2);
  const exception = h('select', {}, h('option', { value: '' }, t('quiet.nothing')),
    ...levels.map((level) => h('option', { value: level }, t('quiet.from.level', { level }))));
  exception.value = except ?? '';
  const remove = h('button', { type: 'button', class: 'button' }, icon('remove'), h('span', { class: 'visually-hidden' }, t('quiet.remove')));
  const element = h('li', { class: 'span' }, h('div', { class: 'number' }, inputs.from, h('span', { 'aria-hidden': 'true' }, '–'), inputs.until),
    h('div', { class: 'days', role: 'group', 'aria-label': t('quiet.days') }, ...boxes.map(({ label }) => label)),
    h('div', { class: 'number' }, h('label', { class: 'field' }, h('span', {}, t('quiet.except')), exception), remove));
  const chosen = () => boxes.map(({ box }, day) => box.checked && day + 1).filter(Boolean);
  return {
    element,
    remove,
    inputs,
    boxes,
    fault: () => (!inputs.from.value || !inputs.until.value ? 'quiet.notime' : chosen().length ? null : 'quiet.noday'),
    value: () => ({
      from: inputs.from.value,
      until: inputs.until.value,
      days: chosen().length === 7 ? null : chosen(),
      except_from: Number(exception.value) || null,
    }),
  };
}

/** A field of several spans, for a form. */
export function quietHoursField() {
  let spans = [];
  const list = h('ul', { class: 'spans' });
  const add = h('button', { type: 'button', class: 'button', onclick: () => append(USUAL).inputs.from.focus() }, t('quiet.add'));
  const field = labelledField({ name: 'quiet', title: t('quiet.title'), help: t('quiet.help'), input: add, element: h('div', { class: 'stack' }, list, add), group: true });

  function append(value) {
    const span = spanInputs(value);
    spans.push(span);
    list.append(span.element);
    span.remove.addEventListener('click', () => {
      spans = spans.filter((other) => other !== span);
      span.element.remove();
      add.hidden = false;
      add.focus();
    });
    add.hidden = spans.length >= MOST;
    return span;
  }

  const faulty = () => spans.find((span) => span.fault());
  return {
    ...field,
    value: () => spans.map((span) => span.value()),
    set(values) {
      spans = [];
      list.replaceChildren();
      values.forEach(append);
    },
    focus() {
      const span = faulty();
      const isDay = span?.fault() === 'quiet.noday';
      (isDay ? span.boxes[0].box : span?.inputs.from ?? add).focus();
    },
    check() {
      const fault = faulty()?.fault();
      field.say(fault ? t(fault) : null);
      return !fault;
    },
  };
}
