// A meeting as it is planned, in a dialog: for a new one, and to change one, also while it runs.
import { ask, Refused } from 'citywise/api.js';
import { fieldsForm } from 'citywise/fields-form.js';
import { h } from 'citywise/elements.js';
import { labelledField, textField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';
import { fromLocalInput, localInput } from 'citywise/times.js';
import { agendaField } from './agenda-field.js';
import { agendaSource } from './agenda-source.js';
import { attendeesField } from './attendees-field.js';
import { pathOf } from './meeting-store.js';
import { changed } from './planned.js';
import { roomField } from './room-field.js';
import { choiceField, ruleFields, tickField } from './rules-fields.js';

const LONGEST_TITLE = 200;
const [QUARTER_MS, HOUR_MS] = [900_000, 3_600_000];

const REPEATS = ['never', 'week', 'fortnight', 'weekdays', 'month'];

const iso = (ms) => new Date(ms).toISOString();

/** A time by the wall's clock. */
function timeField(name, title) {
  const input = h('input', { type: 'datetime-local', required: true });
  const field = labelledField({ name, title, input });
  return {
    ...field,
    input,
    set: (ms) => (input.value = localInput(ms)),
    value: () => iso(fromLocalInput(input.value)),
    focus: () => input.focus(),
    check() {
      field.say(input.value ? null : t('form.missing'));
      return input.value !== '';
    },
  };
}

/** What a new meeting is before anything is said. */
export function blankMeeting(now = Date.now()) {
  const starts = Math.ceil((now + QUARTER_MS) / QUARTER_MS) * QUARTER_MS;
  return { title: '', room: { name: '', lat: null, lon: null, sensors: null }, starts: iso(starts), ends: iso(starts + HOUR_MS), attendees: [], agenda: [], rules: {}, conference: null, hook: null };
}

/**
 * The form; `send(fields, meeting)` keeps what was filled in; of a meeting that is there, what was
 * changed. Where that was refused as stale, `current()` is what is sent against the next time.
 * `hosted()` promises one's meetings, whose agenda a new one can begin with.
 */
export function meetingForm(send, { current = () => null, hosted = async () => [] }) {
  const element = h('dialog', { class: 'sheet-dialog meeting-dialog', 'aria-labelledby': 'meeting-form-title' });

  function open(meeting, focus = null) {
    let opened = meeting;
    const isNew = !meeting.id;
    const fields = fieldsOf(meeting, isNew);
    const form = fieldsForm({
      fields: Object.values(fields),
      submit: t(isNew ? 'meetings.create' : 'form.save'),
      actions: [h('button', { type: 'button', class: 'button', onclick: () => element.close() }, t('form.cancel'))],
      send: async (values) => {
        const fields = isNew ? gathered(values) : changed(gathered(values), before);
        const scope = values.following.length ? { following: true } : {};
        if (Object.keys(fields).length) await send({ ...fields, ...scope }, opened).catch(refused);
        element.close();
      },
    });
    async function offerAgendas({ agenda, attendees }) {
      const sources = (await hosted()).filter(({ items }) => items);
      if (sources.length) agenda.element.querySelector('.stack').before(agendaSource(sources, { agenda, attendees }));
    }
    function refused(error) {
      if (error instanceof Refused && error.kind === 'stale') opened = current();
      throw error;
    }

    const before = gathered(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value()])));
    arrange(form, fields);
    if (isNew) offerAgendas(fields);
    element.replaceChildren(h('h2', { id: 'meeting-form-title' }, t(isNew ? 'meetings.new' : 'meetings.edit')), form);
    element.showModal();
    (fields[focus] ?? fields.title).focus();
  }

  return { element, open };
}

function fieldsOf(meeting, isNew) {
  const title = textField({ name: 'title', title: t('meetings.title'), maxlength: LONGEST_TITLE, autocomplete: 'off', value: meeting.title });
  const room = roomField();
  const [starts, ends] = [timeField('starts', t('meetings.starts')), timeField('ends', t('meetings.ends'))];
  const attendees = attendeesField({ onCalendar: isNew ? null : (id, file) => readCalendar(meeting.id, id, file), onChange: () => agenda.refresh() });
  const agenda = agendaField({ attendees: () => attendees.value() });
  const rules = ruleFields(meeting);
  const repeats = choiceField('repeats', t('meetings.repeats'), t('meetings.repeats.help'), REPEATS.map((every) => [every, t(`meetings.repeats.${every}`)]), meeting.series?.every ?? 'never');
  const following = tickField('following', t('meetings.scope'), t('meetings.scope.help'), [['following', t('meetings.scope.following')]], []);
  following.element.hidden = !meeting.series?.every;
  room.set(meeting.room);
  starts.set(Date.parse(meeting.starts));
  ends.set(Date.parse(meeting.ends));
  attendees.set(meeting.attendees.map(({ id, name, email, required, busy }) => ({ id, name, email, required, busy: busy ?? [] })));
  agenda.set(meeting.agenda);
  keepLength(starts, ends);
  return { title, room, starts, ends, repeats, attendees, agenda, following, ...rules };
}

/** A meeting that begins later ends later too. */
function keepLength(starts, ends) {
  let before = starts.input.value;
  starts.input.addEventListener('change', () => {
    if (starts.input.value && ends.input.value && before) {
      ends.set(fromLocalInput(ends.input.value) + fromLocalInput(starts.input.value) - fromLocalInput(before));
    }
    before = starts.input.value || before;
  });
}

/** The fields in their order: what, who, the agenda, then what is rarely changed. */
function arrange(form, { title, room, starts, ends, repeats, attendees, agenda, following, ...rules }) {
  const rest = h('details', { class: 'why form-rules' }, h('summary', {}, t('meetings.rules')), ...Object.values(rules).map(({ element }) => element));
  form.prepend(title.element, h('div', { class: 'form-times' }, starts.element, ends.element), repeats.element, room.element, attendees.element, agenda.element, rest, following.element);
  form.addEventListener('submit', () => (rest.open ||= rest.querySelector('[aria-invalid="true"]') !== null));
}

/** What the API is told: the rules' fields become one. */
function gathered({ title, room, starts, ends, repeats, attendees, agenda, conference, hook, following: _scope, ...rules }) {
  return { title: title.trim(), room, starts, ends, repeats, attendees, agenda, conference, hook, rules };
}

/** Take somebody's calendar; only when they are busy is kept. */
async function readCalendar(meeting, attendee, file) {
  const { busy } = await ask(pathOf(meeting, `/attendees/${attendee}/calendar`), { method: 'PUT', body: new Blob([file], { type: 'text/calendar' }) });
  return busy;
}
