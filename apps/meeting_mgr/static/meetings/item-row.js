// An item of the agenda as it is planned: a line that opens to all that can be said of it.
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { duration } from 'citywise/times.js';
import { CAPABILITIES } from './ability-words.js';
import { rowError } from './rows-field.js';
import { ticksField } from './ticks-field.js';

const TYPES = ['talk', 'discussion', 'decision', 'break'];
const LONGEST_TITLE = 200;
const MOST_MINUTES = 480;

const labelled = (title, input) => h('label', { class: 'field' }, h('span', {}, title), input);
const minutesInput = (value, more = {}) => h('input', { type: 'number', inputmode: 'numeric', min: 1, max: MOST_MINUTES, value: value ?? '', ...more });
const whole = (input) => (input.value === '' ? null : input.valueAsNumber);

/** What is filled in of an item. */
function inputsOf(item) {
  const capabilities = CAPABILITIES.map((each) => [each, t(`meetings.ability.${each}`)]);
  return {
    title: h('input', { type: 'text', value: item.title, maxlength: LONGEST_TITLE, required: true, autocomplete: 'off', 'aria-label': t('meetings.item.title'), placeholder: t('meetings.item.title') }),
    minutes: minutesInput(item.minutes, { required: true, 'aria-label': t('meetings.item.minutes') }),
    speaker: h('select', {}),
    type: h('select', {}, ...TYPES.map((each) => h('option', { value: each, selected: each === item.type }, t(`meetings.type.${each}`)))),
    least: minutesInput(item.least_minutes, { placeholder: t('meetings.item.least.none') }),
    sensitive: h('input', { type: 'checkbox', checked: item.sensitive }),
    needs: ticksField(t('meetings.item.speaker.needs'), capabilities, item.needs),
    listeners: ticksField(t('meetings.item.others.need'), capabilities, item.listeners),
    after: ticksField(t('meetings.item.after'), [], []),
  };
}

/** Those that are rarely changed, behind a line that sums them up. */
function rest({ speaker, type, least, sensitive, needs, listeners, after }, summary) {
  return h('details', { class: 'why item-more' }, h('summary', {}, h('span', {}, t('meetings.item.more')), ' ', summary),
    h('div', { class: 'fields' }, labelled(t('meetings.item.speaker'), speaker), labelled(t('meetings.item.type'), type), labelled(t('meetings.item.least'), least)),
    h('label', { class: 'tick' }, sensitive, t('meetings.item.sensitive.long')), needs.element, listeners.element, after.element);
}

/** “Talk · Bob · sensitive · at least 5 min” */
function summaryWords({ speaker, type, least, sensitive }) {
  const name = speaker.selectedOptions[0]?.value ? speaker.selectedOptions[0].textContent : null;
  const shortest = least.value && t('meetings.item.least.short', { time: duration(least.valueAsNumber * 60) });
  return [t(`meetings.type.${type.value}`), name, sensitive.checked ? t('meetings.item.sensitive') : null, shortest].filter(Boolean).join(' · ');
}

/** The input that is faulty and what is wrong with it, or null. */
function faultOf({ title, minutes, least }) {
  if (!title.value.trim()) return { input: title, words: t('form.missing') };
  if (!minutes.checkValidity()) return { input: minutes, words: t('meetings.item.minutes.wrong', { most: MOST_MINUTES }) };
  const isTooLong = least.value && least.valueAsNumber > minutes.valueAsNumber;
  return !least.checkValidity() || isTooLong ? { input: least, words: t('meetings.item.least.wrong') } : null;
}

/** A row; `others()` are the titles of all, `onTitle()` hears when this one's is another. */
export function itemRow(item, attendees, others, onTitle) {
  const inputs = inputsOf(item);
  const { title, minutes, speaker, type, least, sensitive, needs, listeners, after } = inputs;
  const error = rowError();
  const summary = h('span', { class: 'quiet' });
  const more = rest(inputs, summary);
  const element = h('div', { class: 'item-row' }, title, h('label', { class: 'number' }, minutes, h('span', { class: 'unit' }, t('meetings.unit.minutes'))), more, error.element);
  let chosen = { speaker: item.speaker ?? '', after: item.after };

  const sayAll = () => setText(summary, summaryWords(inputs));

  function refresh() {
    speaker.replaceChildren(h('option', { value: '' }, t('meetings.item.speaker.none')), ...attendees().filter(({ name }) => name).map(({ id, name }) => h('option', { value: id }, name)));
    speaker.value = chosen.speaker;
    after.offer(others().filter(({ id, title: name }) => id !== item.id && name).map(({ id, title: name }) => [id, name]), chosen.after);
    sayAll();
  }

  title.addEventListener('change', onTitle);
  element.addEventListener('change', () => {
    chosen = { speaker: speaker.value, after: after.value() };
    sayAll();
  });

  return {
    element,
    refresh,
    label: () => title.value,
    brief: () => ({ id: item.id, title: title.value.trim() }),
    focus: () => (element.querySelector('[aria-invalid]') ?? title).focus(),
    say(message, path = '') {
      more.open ||= !/title|minutes$/.test(path);
      error.say(message, path.endsWith('minutes') ? minutes : title);
    },
    value: () => ({
      id: item.id, title: title.value.trim(), type: type.value, speaker: chosen.speaker || null, minutes: whole(minutes), least_minutes: whole(least),
      sensitive: sensitive.checked, needs: needs.value(), listeners: listeners.value(), after: chosen.after.filter((id) => others().some((other) => other.id === id)),
    }),
    check() {
      for (const input of [title, minutes, least]) input.removeAttribute('aria-invalid');
      const fault = faultOf(inputs);
      more.open ||= fault?.input === least;
      error.say(fault?.words ?? null, fault?.input);
      return !fault;
    },
  };
}
