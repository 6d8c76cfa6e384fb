// When a trip is repeated, and when one wants to hear of it: a dialog for a new one and for a change.
import { h } from 'citywise/elements.js';
import { fieldsForm } from 'citywise/fields-form.js';
import { labelledField, textField } from 'citywise/labelled-field.js';
import { radioChips } from 'citywise/radio-chips.js';
import { locale, t } from 'citywise/strings.js';

const MONDAY = Date.UTC(2024, 0, 1);
const DAY_MS = 86_400_000;
const WORKDAYS = [1, 2, 3, 4, 5];
const EVENINGS = ['17:00', '18:00', '19:00', '20:00', '21:00', '22:00'];
const BEFORE = [10, 15, 30, 45, 60, 90, 120, 180];
const NEVER = '';

const named = (weekday) => new Intl.DateTimeFormat(locale, { weekday, timeZone: 'UTC' });
const names = { short: named('short'), long: named('long') };

/** The name of a day of the week, 1 is Monday. */
export const dayName = (day, length = 'short') => names[length].format(MONDAY + (day - 1) * DAY_MS);

function daysField(chosen) {
  const boxes = [1, 2, 3, 4, 5, 6, 7].map((day) => h('input', { type: 'checkbox', value: day, checked: chosen.includes(day), 'aria-label': dayName(day, 'long') }));
  const chips = boxes.map((box, index) => h('label', { class: 'radio-chip' }, box, h('span', { 'aria-hidden': 'true' }, dayName(index + 1))));
  const field = labelledField({ name: 'weekdays', title: t('repeat.days'), group: true, element: h('div', { class: 'radio-chips repeat-days' }, ...chips) });
  const value = () => boxes.filter(({ checked }) => checked).map((box) => Number(box.value));
  return { ...field, value, focus: () => boxes[0].focus(), check() {
    const isFine = value().length > 0;
    field.say(isFine ? null : t('form.missing'));
    return isFine;
  } };
}

function inputField(name, type, value, required) {
  const input = h('input', { type, value: value ?? '', required });
  const field = labelledField({ name, title: t(`repeat.${name}`), input });
  return { ...field, value: () => input.value || null, focus: () => input.focus(), check() {
    const isFine = input.validity.valid && (input.value !== '' || !required);
    field.say(isFine ? null : t('form.missing'));
    return isFine;
  } };
}

/** A choice of a few, or never; one that is not among them is put there. */
function choiceField(name, choices, chosen, word) {
  const all = choices.includes(chosen) || chosen === null ? choices : [chosen, ...choices];
  const select = h('select', {}, h('option', { value: NEVER }, t('repeat.never')), ...all.map((value) => h('option', { value, selected: value === chosen }, word(value))));
  const field = labelledField({ name, title: t(`repeat.${name}`), input: select });
  return { ...field, value: () => (select.value === NEVER ? null : all.find((value) => String(value) === select.value)), focus: () => select.focus(), check: () => true };
}

function tickField(name, isOn) {
  const input = h('input', { type: 'checkbox', checked: isOn });
  const element = h('div', { class: 'parameter' }, h('label', { class: 'tick' }, input, t(`repeat.${name}`)));
  return { name, element, value: () => input.checked, focus: () => input.focus(), check: () => true, say: () => {} };
}

/**
 * Ask for a repeating trip, from `one` as the API has it (`name` and `at` at least); `send(body)` may
 * throw as `ask` does. Dates of a trip that has them instead of weekdays stay as they are.
 */
export function askRepeat(one, title, send) {
  const { evening = '20:00', before_min: before = 60, underway = true } = one.tell ?? {};
  const isDated = one.dates?.length > 0;
  const by = radioChips({ name: 'by', title: t('repeat.by'), isQuiet: true, choices: ['depart', 'arrive'].map((word) => [word, t(`repeat.by.${word}`)]) });
  by.set(one.by ?? 'depart');
  const fields = [
    textField({ name: 'name', title: t('repeat.name'), value: one.name, maxlength: 80 }),
    ...(isDated ? [] : [daysField(one.weekdays ?? WORKDAYS)]),
    by, inputField('at', 'time', one.at, true),
    choiceField('evening', EVENINGS, evening, (clock) => clock),
    choiceField('before_min', BEFORE, before, (n) => t('repeat.before', { n })),
    tickField('underway', underway), inputField('until', 'date', one.until, false),
  ];
  const cancel = h('button', { type: 'button', class: 'button', onclick: () => dialog.close() }, t('form.cancel'));
  const form = fieldsForm({ fields, submit: t('repeat.save'), actions: [cancel], send: async ({ evening: at, before_min, underway: onIt, ...body }) => {
    await send({ ...body, tell: { evening: at, before_min, underway: onIt } });
    dialog.close();
  } });
  const dialog = h('dialog', { class: 'sheet-dialog repeat-dialog', 'aria-labelledby': 'repeat-title' }, h('h2', { id: 'repeat-title' }, title), form);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  fields[1].focus();
}
