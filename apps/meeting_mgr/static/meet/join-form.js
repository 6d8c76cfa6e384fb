// What the link leads to, and who one is there.
import { h } from 'citywise/elements.js';
import { fieldsForm } from 'citywise/fields-form.js';
import { labelledField, textField } from 'citywise/labelled-field.js';
import { spanWords } from '../meetings/when-words.js';
import { t } from 'citywise/strings.js';

const OTHER = '';
const NAME = 'citywise-meeting-name';

function whoField(attendees, onchange) {
  const input = h('select', { name: 'attendee', class: 'wide', onchange },
    h('option', { value: '', disabled: true, selected: true, hidden: true }, t('meet.join.choose')),
    ...attendees.map(({ id, name }) => h('option', { value: id }, name)), h('option', { value: 'other' }, t('meet.join.other')));
  const field = labelledField({ title: t('meet.join.who'), name: 'attendee', input });
  return {
    ...field,
    value: () => (input.value === 'other' ? OTHER : input.value),
    isOther: () => input.value === 'other',
    focus: () => input.focus(),
    check() {
      field.say(input.value ? null : t('meet.join.choose'));
      return Boolean(input.value);
    },
  };
}

/** The form for `meeting`, as the link shows it; `join(name, attendee)` may throw. */
export function joinForm(meeting, join) {
  const { attendees } = meeting;
  const name = textField({ title: t('meet.join.name'), name: 'name', maxlength: 200, autocomplete: 'name' });
  name.input.value = localStorage.getItem(NAME) ?? '';
  const who = attendees.length ? whoField(attendees, () => show()) : null;
  const show = () => (name.element.hidden = Boolean(who) && !who.isOther());
  const isNamed = () => !name.element.hidden;
  const named = { ...name, check: () => !isNamed() || name.check() };
  const form = fieldsForm({
    fields: who ? [who, named] : [named], submit: t('meet.join'),
    async send(values) {
      const attendee = values.attendee || null;
      const called = attendee ? attendees.find(({ id }) => id === attendee).name : values.name.trim();
      if (!attendee) localStorage.setItem(NAME, called);
      await join(called, attendee);
    },
  });
  show();
  const now = Date.now();
  return h('div', { class: 'meet-join' },
    h('p', { class: 'meet-kicker' }, t('meet.join.invited')),
    h('h1', {}, meeting.title),
    h('p', { class: 'meet-facts' }, [meeting.room.name, spanWords(meeting, now)].join(' · ')),
    form, h('p', { class: 'quiet' }, t('meet.join.explain')));
}
