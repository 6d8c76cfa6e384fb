// A label, help and what is wrong around an input or a group of them.
import { h } from './elements.js';
import { t } from './strings.js';

let serial = 0;

/**
 * The field around `element`, whose `input` gets the focus; a `group` of inputs is labelled as
 * one. `say(message)` shows what is wrong beside it and to screen readers.
 */
export function labelledField({ title, help, input, element = input, group = false, name }) {
  const id = `field-${(serial += 1)}`;
  const error = h('p', { class: 'field-error', id: `${id}-error`, hidden: true });
  const helpLine = help ? h('p', { class: 'quiet', id: `${id}-help` }, help) : null;
  const label = group ? h('legend', {}, title) : h('label', { for: id }, title);
  const whole = h(group ? 'fieldset' : 'div', { class: 'parameter', 'data-name': name }, label, helpLine, element, error);
  const focused = group ? whole : input;
  if (!group) input.id = id;
  focused.setAttribute('aria-describedby', [helpLine?.id, error.id].filter(Boolean).join(' '));

  function say(message) {
    error.textContent = message ?? '';
    error.hidden = !message;
    if (group) return;
    if (message) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
  }

  whole.addEventListener('input', () => say(null));
  whole.addEventListener('change', () => say(null));
  return { name, element: whole, say };
}

/** A field of one line of text; `attributes` are the input's. */
export function textField({ title, help, name, ...attributes }) {
  const input = h('input', { type: 'text', name, required: true, ...attributes });
  const field = labelledField({ title, help, input, name });
  return {
    ...field,
    input,
    value: () => input.value,
    focus: () => input.focus(),
    check() {
      const isThere = !input.required || input.value.trim() !== '';
      field.say(isThere ? null : t('form.missing'));
      return isThere;
    },
  };
}

/** A field of several lines, as code is written. */
export function areaField({ title, help, name, rows }) {
  const input = h('textarea', { name, rows, spellcheck: 'false', class: 'code' });
  return { ...labelledField({ name, title, help, input }), input, value: () => input.value, focus: () => input.focus(), check: () => true };
}

/** A field for a file, or none (null). */
export function fileField({ title, help, name, accept }) {
  const input = h('input', { type: 'file', accept });
  return { ...labelledField({ name, title, help, input }), input, value: () => input.files[0] ?? null, focus: () => input.focus(), check: () => true };
}

/** A field for one of `options`, each a value and what it is called. */
export function choiceField({ title, help, name, options }) {
  const input = h('select', { name }, ...options.map(([value, word]) => h('option', { value }, word)));
  return { ...labelledField({ name, title, help, input }), input, value: () => input.value, focus: () => input.focus(), check: () => true };
}

/** A field that is ticked or not. */
export function tickField({ title, help, name }) {
  const input = h('input', { type: 'checkbox', name });
  return { ...labelledField({ name, title, help, input }), input, value: () => input.checked, focus: () => input.focus(), check: () => true };
}
