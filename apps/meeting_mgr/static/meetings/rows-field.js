// A field of several rows: added, removed, moved, and each such step taken back.
import { h, icon, setText } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';

/**
 * The field `name`. `makeRow(value, field)` makes a row with `element`, `value()`, `check()`,
 * `say(message)`, `focus()` and `label()`; `blank(values)` is the value of a new one. With
 * `isOrdered` rows can be moved. `onChange()` hears of every row that comes, goes or moves.
 */
export function rowsField({ name, title, help, addWord, makeRow, blank, isOrdered = false, onChange = () => {} }) {
  let rows = [];
  let before = []; // Values as they were before each step.
  const list = h(isOrdered ? 'ol' : 'ul', { class: 'form-rows' });
  const add = h('button', { type: 'button', class: 'chip-button', onclick: () => append() }, icon('add'), addWord);
  const undo = h('button', { type: 'button', class: 'link', hidden: true, 'aria-label': `${t('toast.undo')}: ${title}`, onclick: () => takeBack() }, t('toast.undo'));
  const said = h('span', { class: 'visually-hidden', role: 'status' });
  const field = labelledField({ name, title, help, group: true, input: add, element: h('div', { class: 'stack' }, list, h('div', { class: 'form-rows-tools' }, add, undo), said) });
  const whole = { ...field, rows: () => rows.map(({ row }) => row), value: () => rows.map(({ row }) => row.value()) };

  function wrap(value) {
    const entry = { row: makeRow(value, whole) };
    const tool = (symbol, key, act) => h('button', { type: 'button', class: 'wish-button', 'data-key': key, onclick: () => act(entry) }, icon(symbol));
    entry.tools = [...(isOrdered ? [tool('up', 'up', (each) => move(each, -1)), tool('down', 'down', (each) => move(each, 1))] : []), tool('remove', 'remove', remove)];
    entry.element = h('li', { class: 'form-row' }, entry.row.element, h('span', { class: 'form-row-tools' }, ...entry.tools));
    entry.element.addEventListener('input', () => nameTools(entry));
    return entry;
  }

  function nameTools(entry) {
    for (const each of entry.tools) each.setAttribute('aria-label', t(`meetings.row.${each.dataset.key}`, { what: entry.row.label() || title }));
  }

  function show(words = '') {
    list.replaceChildren(...rows.map(({ element }) => element));
    rows.forEach((entry, index) => {
      nameTools(entry);
      for (const each of entry.tools) each.disabled = (each.dataset.key === 'up' && index === 0) || (each.dataset.key === 'down' && index === rows.length - 1);
    });
    undo.hidden = before.length === 0;
    setText(said, words);
    field.say(null);
    onChange();
  }

  const remember = () => before.push(whole.value());

  function append() {
    remember();
    const entry = wrap(blank(whole.value()));
    rows.push(entry);
    show();
    entry.row.focus();
  }

  function remove(entry) {
    remember();
    rows = rows.filter((each) => each !== entry);
    show(t('meetings.row.removed', { what: entry.row.label() }));
    undo.focus();
  }

  function move(entry, step) {
    remember();
    const to = rows.indexOf(entry) + step;
    rows = rows.filter((each) => each !== entry);
    rows.splice(to, 0, entry);
    show(t('meetings.row.moved', { what: entry.row.label(), n: to + 1 }));
    (entry.tools.find(({ dataset, disabled }) => dataset.key === (step < 0 ? 'up' : 'down') && !disabled) ?? entry.tools.find(({ disabled }) => !disabled)).focus();
  }

  function takeBack() {
    rows = before.pop().map(wrap);
    show(t('toast.undone'));
    (undo.hidden ? add : undo).focus();
  }

  return {
    ...whole,
    set(values) {
      before = [];
      rows = values.map(wrap);
      show();
    },
    /** Put other rows in place of those there are, as a step that can be taken back. */
    replace(values, words) {
      remember();
      rows = values.map(wrap);
      show(words);
    },
    /** Say what is wrong, at the row that a path such as `agenda.1.speaker` names. */
    say: (message, path = '') => (rows[Number(path.split('.')[1])]?.row ?? field).say(message, path),
    check: () => rows.map(({ row }) => row.check()).every(Boolean),
    focus: () => (rows.find(({ element }) => element.querySelector('[aria-invalid]'))?.row ?? { focus: () => add.focus() }).focus(),
  };
}

/** The next of `a1`, `a2`, … that none of `values` has as its id. */
export function nextId(letter, values) {
  const numbers = values.map(({ id }) => Number(id.slice(1)));
  return `${letter}${Math.max(0, ...numbers) + 1}`;
}

/** A row's line for what is wrong, and the inputs it is about. */
export function rowError() {
  const element = h('p', { class: 'field-error', role: 'alert', hidden: true });
  return {
    element,
    say(message, input = null) {
      element.textContent = message ?? '';
      element.hidden = !message;
      if (input && message) input.setAttribute('aria-invalid', 'true');
      else input?.removeAttribute('aria-invalid');
    },
  };
}
