// How the meeting judges and what it does by itself: the fields of its rules.
import { h } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';
import { hookField } from './hook-field.js';
import { thresholdsField } from './thresholds-field.js';

const AUTOMATIC = ['reorder', 'shorten', 'put_off', 'take_up'];
const LIMITS = { dwell_s: { min: 0, max: 600, usual: 10 }, silent_s: { min: 2, max: 3600, usual: 15 }, absence_minutes: { min: 1, max: 480, usual: 15 } };

function numberField(name, unit, value) {
  const { min, max, usual } = LIMITS[name];
  const input = h('input', { type: 'number', inputmode: 'numeric', min, max, step: 1, required: true, value: value ?? usual });
  const field = labelledField({ name, title: t(`meetings.rule.${name}`), help: t(`meetings.rule.${name}.help`), input, element: h('div', { class: 'number' }, input, h('span', { class: 'unit' }, unit)) });
  return {
    ...field,
    value: () => input.valueAsNumber,
    focus: () => input.focus(),
    check() {
      field.say(input.checkValidity() ? null : t('meetings.rule.between', { min, max }));
      return input.checkValidity();
    },
  };
}

/** Several ticks, of which none is needed. */
export function tickField(name, title, help, values, ticked) {
  const boxes = values.map(([value, word]) => h('label', { class: 'tick' }, h('input', { type: 'checkbox', value, checked: ticked.includes(value) }), word));
  const field = labelledField({ name, title, help, group: true, input: boxes[0], element: h('div', {}, ...boxes) });
  const value = () => boxes.map((box) => box.firstChild).filter(({ checked }) => checked).map((box) => box.value);
  return { ...field, value, focus: () => boxes[0].firstChild.focus(), check: () => true };
}

export function choiceField(name, title, help, values, chosen) {
  const select = h('select', {}, ...values.map(([value, word]) => h('option', { value, selected: value === chosen }, word)));
  const field = labelledField({ name, title, help, input: select });
  return { ...field, value: () => select.value, focus: () => select.focus(), check: () => true };
}

/** The fields, by their names in the rules; `conference` and `hook` are the meeting's own. */
export function ruleFields({ rules, moved, conference, hook }) {
  const thresholds = thresholdsField(moved);
  thresholds.set(rules.thresholds);
  const shown = tickField('show_abilities_to_all', t('meetings.rule.show'), t('meetings.rule.show.help'), [['all', t('meetings.rule.show.all')]], rules.show_abilities_to_all ? ['all'] : []);
  const talk = tickField('talk_time', t('meetings.rule.talk'), t('meetings.rule.talk.help'), [['all', t('meetings.rule.talk.ask')]], rules.talk_time ? ['all'] : []);
  return {
    thresholds,
    dwell_s: numberField('dwell_s', t('meetings.unit.seconds'), rules.dwell_s),
    silent_s: numberField('silent_s', t('meetings.unit.seconds'), rules.silent_s),
    absence_minutes: numberField('absence_minutes', t('meetings.unit.minutes'), rules.absence_minutes),
    apply_automatically: tickField('apply_automatically', t('meetings.rule.automatic'), t('meetings.rule.automatic.help'), AUTOMATIC.map((kind) => [kind, t(`meetings.automatic.${kind}`)]), rules.apply_automatically ?? []),
    show_abilities_to_all: { ...shown, value: () => shown.value().length > 0 },
    talk_time: { ...talk, value: () => talk.value().length > 0 },
    conference: choiceField('conference', t('meetings.conference'), t('meetings.conference.help'), ['none', 'jitsi'].map((kind) => [kind, t(`meetings.conference.${kind}`)]), conference?.kind ?? 'none'),
    hook: hookField(hook),
  };
}
