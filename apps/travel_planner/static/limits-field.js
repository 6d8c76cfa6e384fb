// Limits of what somebody takes, as sentences: “Travel time at most 30 min”.
import { h, icon } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';
import { UNITS } from './measures.js';
import { LIMITS, OPERATORS } from './request.js';

const USUAL = { time: 30, distance: 10, walk: 500, cost: 50, pollution: 10, air: 60, free: 10 };
const USUALLY_AT_LEAST = ['free'];
const DIGITS = 6;

function select(values, words, label) {
  return h('select', { 'aria-label': label }, ...values.map((value) => h('option', { value }, words(value))));
}

/** One limit: what, how, and how much. */
function limitRow(kind, limit, remove) {
  const on = select(LIMITS[kind], (each) => t(`plan.on.${kind}.${each}`), t('plan.limit.on'));
  const op = select(OPERATORS, (each) => t(`plan.op.${each}`), t('plan.limit.op'));
  const value = h('input', { type: 'number', inputmode: 'decimal', min: 0, step: 'any', required: true, 'aria-label': t('plan.limit.value') });
  const unit = h('span', { class: 'unit' });
  const error = h('p', { class: 'field-error', role: 'alert', hidden: true });
  const off = h('button', { type: 'button', class: 'wish-button', 'aria-label': t('plan.limit.remove'), onclick: remove }, icon('remove'));
  const element = h('li', { class: 'limit' }, h('div', { class: 'limit-line' }, on, op, value, unit, off), error);
  on.value = limit.on;
  op.value = limit.op;

  const showUnit = () => (unit.textContent = UNITS[on.value].unit);
  const show = (amount) => {
    value.value = amount === null ? '' : Number((amount / UNITS[on.value].factor).toPrecision(DIGITS));
    showUnit();
  };
  on.addEventListener('change', () => {
    value.value = USUAL[on.value];
    op.value = USUALLY_AT_LEAST.includes(on.value) ? '>=' : '<=';
    showUnit();
  });
  show(limit.value);

  const say = (message) => {
    error.textContent = message ?? '';
    error.hidden = !message;
    if (message) value.setAttribute('aria-invalid', 'true');
    else value.removeAttribute('aria-invalid');
  };
  element.addEventListener('input', () => say(null));
  return {
    element,
    say,
    focus: () => value.focus(),
    check() {
      const isFine = value.checkValidity();
      say(isFine ? null : t(value.validity.rangeUnderflow ? 'form.least' : 'form.number', { min: 0 }));
      return isFine;
    },
    value: () => ({ on: on.value, op: op.value, value: Number((value.valueAsNumber * UNITS[on.value].factor).toPrecision(DIGITS)) }),
    criterion: () => on.value,
  };
}

/** The field; `kind()` says of which planner. */
export function limitsField({ kind, onChange }) {
  let rows = [];
  const list = h('ul', { class: 'limits' });
  const add = h('button', { type: 'button', class: 'chip-button', onclick: () => {
    const taken = rows.map((row) => row.criterion());
    const on = LIMITS[kind()].find((each) => !taken.includes(each)) ?? LIMITS[kind()][0];
    append({ on, op: USUALLY_AT_LEAST.includes(on) ? '>=' : '<=', value: USUAL[on] * UNITS[on].factor }).focus();
    onChange();
  } }, icon('add'), t('plan.limit.add'));
  const field = labelledField({ name: 'constraints', title: t('plan.limits'), group: true, input: add, element: h('div', { class: 'stack' }, list, add) });

  function append(limit) {
    const row = limitRow(kind(), limit, () => {
      rows = rows.filter((other) => other !== row);
      row.element.remove();
      add.focus();
      onChange();
    });
    rows.push(row);
    list.append(row.element);
    return row;
  }

  return {
    ...field,
    value: () => rows.map((row) => row.value()),
    set(limits) {
      rows = [];
      list.replaceChildren();
      limits.forEach(append);
    },
    /** Say what is wrong, at the row that a path such as `constraints.1.value` names. */
    say: (message, path = '') => (rows[Number(path.split('.')[1])] ?? field).say(message),
    check: () => rows.map((row) => row.check()).every(Boolean),
    focus: () => (rows.find((row) => row.element.querySelector('[aria-invalid]')) ?? { focus: () => add.focus() }).focus(),
  };
}
