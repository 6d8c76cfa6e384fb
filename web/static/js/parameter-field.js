// One parameter in a form: its label, help, widget or widgets, and what is wrong with it.
import { h, icon } from './elements.js';
import { labelledField } from './labelled-field.js';
import { widgetFor } from './parameter-fields.js';
import { t } from './strings.js';

const FEW = 12;

/** Several of a few values, each to be ticked. */
function ticked({ choices, labels, max_items: most, required }) {
  const boxes = choices.map((value) => h('input', { type: 'checkbox', value }));
  const lines = boxes.map((box) => h('label', { class: 'tick' }, box, labels[box.value] ?? box.value));
  const values = () => boxes.filter((box) => box.checked).map((box) => box.value);
  return {
    element: h('div', { class: 'ticks' }, ...lines),
    input: boxes[0],
    value: () => (values().length ? values() : undefined),
    set: (wanted) => boxes.forEach((box) => (box.checked = (wanted ?? []).includes(box.value))),
    fault() {
      const count = values().length;
      return required && !count ? ['form.missing'] : count > most ? ['form.many', { max: most }] : null;
    },
  };
}

/** Several values of a parameter, each with a button that takes it away. */
function repeated(parameter) {
  const list = h('ul', { class: 'values' });
  const add = h('button', { type: 'button', class: 'button', onclick: () => append().input.focus() }, t('form.add'));
  const widgets = [];

  function append(value) {
    const widget = widgetFor({ ...parameter, required: true });
    const remove = h('button', { type: 'button', class: 'button', onclick: () => take(widget) },
      icon('remove'), h('span', { class: 'visually-hidden' }, t('form.remove', { title: parameter.title })));
    widget.input.setAttribute('aria-label', parameter.title);
    widget.item = h('li', {}, widget.element, remove);
    widget.set(value);
    widgets.push(widget);
    list.append(widget.item);
    add.hidden = widgets.length >= parameter.max_items;
    return widget;
  }

  function take(widget) {
    widgets.splice(widgets.indexOf(widget), 1);
    widget.item.remove();
    add.hidden = false;
    add.focus();
  }

  return {
    element: h('div', { class: 'stack' }, list, add),
    get input() {
      return widgets.find((widget) => widget.fault())?.input ?? widgets[0]?.input ?? add;
    },
    value: () => (widgets.length ? widgets.map((widget) => widget.value()) : undefined),
    set: (values) => (values ?? []).forEach(append),
    fault() {
      const wrong = widgets.map((widget) => widget.fault()).find(Boolean);
      return wrong ?? (parameter.required && !widgets.length ? ['form.missing'] : null);
    },
  };
}

/** The field of a parameter; it reports faults beside the widget and to screen readers. */
export function parameterField(parameter) {
  const required = !parameter.optional;
  const described = { ...parameter, required };
  const several = parameter.choices?.length <= FEW ? ticked : repeated;
  const widget = parameter.repeated ? several(described) : widgetFor(described);
  const { element, say } = labelledField({
    name: parameter.name,
    title: required ? parameter.title : t('form.optional', { title: parameter.title }),
    help: parameter.help,
    input: widget.input,
    element: widget.element,
    group: parameter.repeated,
  });
  return {
    name: parameter.name,
    type: parameter.type,
    element,
    set: (value) => widget.set(value),
    value: () => widget.value(),
    say,
    focus: () => widget.input.focus(),
    /** Show what is wrong, if anything; true if nothing is. */
    check() {
      const fault = widget.fault();
      say(fault && t(...fault));
      return !fault;
    },
  };
}
