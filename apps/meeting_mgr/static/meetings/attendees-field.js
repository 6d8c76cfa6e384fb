// Who is invited: name, address, whether required, and when they have no time.
import { wrong } from 'citywise/api.js';
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { nextId, rowError, rowsField } from './rows-field.js';

const LONGEST_NAME = 200;
const LONGEST_EMAIL = 254;

/**
 * The field; `onCalendar(id, file)` takes somebody's calendar and answers their busy times, or is
 * null where the meeting is not kept yet.
 */
export function attendeesField({ onCalendar, onChange }) {
  return rowsField({
    name: 'attendees', title: t('meetings.attendees'), help: t('meetings.attendees.help'), addWord: t('meetings.attendee.add'), onChange,
    blank: (values) => ({ id: nextId('a', values), name: '', email: null, required: true }),
    makeRow: (value) => attendeeRow(value, onCalendar, onChange),
  });
}

function attendeeRow(attendee, onCalendar, onChange) {
  const name = h('input', { type: 'text', value: attendee.name, maxlength: LONGEST_NAME, required: true, autocomplete: 'off', 'aria-label': t('meetings.attendee.name'), placeholder: t('meetings.attendee.name') });
  const email = h('input', { type: 'email', value: attendee.email ?? '', maxlength: LONGEST_EMAIL, autocomplete: 'off', 'aria-label': t('meetings.attendee.email'), placeholder: t('meetings.attendee.email') });
  const required = h('input', { type: 'checkbox', checked: attendee.required });
  const error = rowError();
  const busy = onCalendar && attendee.busy ? busyLine(attendee, onCalendar, error) : null;
  name.addEventListener('change', onChange);
  const element = h('div', { class: 'attendee-row' }, name, email, h('label', { class: 'tick' }, required, t('meetings.attendee.required')), busy, error.element);

  return {
    element,
    label: () => name.value,
    focus: () => (element.querySelector('[aria-invalid]') ?? name).focus(),
    say: (message, path = '') => error.say(message, path.endsWith('email') ? email : name),
    value: () => ({ id: attendee.id, name: name.value.trim(), email: email.value.trim() || null, required: required.checked }),
    check() {
      for (const input of [name, email]) input.removeAttribute('aria-invalid');
      if (!name.value.trim()) error.say(t('form.missing'), name);
      else if (!email.checkValidity()) error.say(t('meetings.attendee.email.wrong'), email);
      else error.say(null);
      return error.element.hidden;
    },
  };
}

/** How many busy times are known of somebody, and a calendar to read them from. */
function busyLine(attendee, onCalendar, error) {
  const said = h('span', { class: 'quiet' });
  const show = () => setText(said, attendee.busy.length ? t('meetings.busy', { count: attendee.busy.length }) : t('meetings.busy.none'));
  const file = h('input', { type: 'file', accept: '.ics,text/calendar', class: 'visually-hidden', onchange: async () => {
    try {
      attendee.busy = await onCalendar(attendee.id, file.files[0]);
      error.say(null);
      show();
    } catch (reason) {
      error.say(wrong(reason));
    }
    file.value = '';
  } });
  show();
  return h('div', { class: 'busy-line' }, said, h('label', { class: 'button small file-button' }, file, t('meetings.busy.read'), h('span', { class: 'visually-hidden' }, `: ${attendee.name}`)));
}
