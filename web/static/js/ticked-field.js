// Several of a few values, each to be ticked, in a form.
import { h } from './elements.js';
import { labelledField } from './labelled-field.js';
import { t } from './strings.js';

/** A field of `values`, each called `words(value)`; `least` are needed. */
export function tickedField({ name, title, help, values, key, words = (value) => t(key(value)), ticked = [], least = 1 }) {
  const boxes = values.map((value) => h('input', { type: 'checkbox', value, checked: ticked.includes(value) }));
  const lines = boxes.map((box) => h('label', { class: 'tick' }, box, words(box.value)));
  const field = labelledField({ name, title, help, input: boxes[0], element: h('div', {}, ...lines), group: true });
  const value = () => boxes.filter((box) => box.checked).map((box) => box.value);
  return {
    ...field,
    value,
    set: (wanted) => boxes.forEach((box) => (box.checked = wanted.includes(box.value))),
    focus: () => boxes[0]?.focus(),
    check() {
      const isEnough = value().length >= least;
      field.say(isEnough ? null : t('form.missing'));
      return isEnough;
    },
  };
}
