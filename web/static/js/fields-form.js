// A form of a few fields that is sent to the API, and says at each field what is wrong with it.
import { Refused, wrong } from './api.js';
import { h, setText } from './elements.js';
import { quieten } from './toast.js';

/**
 * A form of `fields` (each with `name`, `element`, `value()`, `check()`, `say()`, `focus()`).
 * `send(values)` may throw as `ask` does; `extra` stands before the button.
 */
export function fieldsForm({ fields, submit, send, extra = [], primary = true, actions = [] }) {
  const summary = h('p', { class: 'field-error', role: 'alert' });
  const button = h('button', { type: 'submit', class: primary ? 'button primary' : 'button' }, submit);
  const form = h('form', { class: 'fields-form', novalidate: true, method: 'post' }, ...fields.map(({ element }) => element), ...extra,
    summary, h('div', { class: 'actions' }, button, ...actions));

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    setText(summary, '');
    quieten();
    const faulty = fields.filter((field) => !field.check());
    faulty[0]?.focus();
    if (faulty.length || form.dataset.busy) return;
    form.dataset.busy = 'true';
    try {
      await send(Object.fromEntries(fields.map((field) => [field.name, field.value()])));
    } catch (error) {
      show(error);
    } finally {
      delete form.dataset.busy;
    }
  });

  function show(error) {
    const errors = error instanceof Refused ? error.errors : [];
    const together = new Map(); // Of a file there may be many.
    for (const { path, message } of errors) together.set(path, [...(together.get(path) ?? []), message]);
    const placed = errors.map(({ path }) => {
      const called = (wanted) => fields.find(({ name }) => name === wanted);
      const field = called(path) ?? called(path.split('.')[0]);
      field?.element.closest('details')?.setAttribute('open', '');
      field?.say(together.get(path).join('\n'), path);
      return field;
    });
    placed.find(Boolean)?.focus();
    const rest = errors.filter((_, index) => !placed[index]).map(({ path, message }) => `${path}: ${message}`);
    setText(summary, errors.length ? rest.join('; ') : wrong(error));
  }

  return form;
}
