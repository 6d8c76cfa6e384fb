// A choice of one as chips: radio buttons, so that arrow keys and screen readers know them.
import { h, icon, setText } from './elements.js';
import { labelledField } from './labelled-field.js';

/**
 * The field `name`; `choices` are `[value, text, icon?]`. `note(value, text)` puts a few words
 * below one of them.
 */
export function radioChips({ name, title, choices, onChange, isQuiet = false }) {
  const notes = new Map();
  const inputs = choices.map(([value, text, symbol]) => {
    const input = h('input', { type: 'radio', name, value, onchange: () => onChange?.(value) });
    const note = h('span', { class: 'radio-note' });
    notes.set(value, note);
    return { value, input, element: h('label', { class: 'radio-chip' }, input, symbol ? icon(symbol) : null, h('span', {}, text), note) };
  });
  const field = labelledField({ name, title, group: true, input: inputs[0].input, element: h('div', { class: 'radio-chips' }, ...inputs.map(({ element }) => element)) });
  if (isQuiet) field.element.querySelector('legend').className = 'visually-hidden';
  return {
    ...field,
    value: () => inputs.find(({ input }) => input.checked)?.value,
    set: (chosen) => inputs.forEach(({ value, input }) => (input.checked = value === chosen)),
    note: (value, text) => setText(notes.get(value), text),
    focus: () => (inputs.find(({ input }) => input.checked) ?? inputs[0]).input.focus(),
    check: () => true,
  };
}
