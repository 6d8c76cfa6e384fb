// The agenda of an earlier meeting as that of a new one: its items, and who speaks where they are invited.
import { ask, wrong } from 'citywise/api.js';
import { h, setText } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';
import { onDate } from 'citywise/times.js';
import { row } from './ability-words.js';
import { pathOf } from './meeting-store.js';
import { nextId } from './rows-field.js';

const alike = (a, b) => Boolean(a) && Boolean(b) && a.trim().toLowerCase() === b.trim().toLowerCase();

/** Who of the invited somebody is: by their address, or else by their name. */
const found = (invited, person) => invited.find(({ email }) => alike(email, person.email)) ?? invited.find(({ name }) => alike(name, person.name));

/** Items, each with its speaker's id among the invited, or with none. */
function spoken(items, speakers, invited) {
  const ids = new Map(speakers.map((person) => [person.id, found(invited, person)?.id ?? null]));
  return items.map((item) => ({ ...item, speaker: ids.get(item.speaker) ?? null }));
}

/** A choice of one's `meetings` whose agenda replaces the `agenda` field's; who spoke there can be invited too. */
export function agendaSource(meetings, { attendees, agenda }) {
  const select = h('select', {}, ...meetings.map(({ id, title, starts }) => h('option', { value: id }, t('meetings.source.meeting', { title, date: onDate(Date.parse(starts)) }))));
  const use = h('button', { type: 'button', class: 'button', onclick: () => take() }, t('meetings.source.use'));
  const said = h('span', { role: 'status' });
  const invite = h('button', { type: 'button', class: 'link', hidden: true, onclick: () => inviteMissing() });
  const namesOf = (people) => row(people.map(({ name }) => name));
  const field = labelledField({ name: 'source', title: t('meetings.source'), help: t('meetings.source.help'), input: select, element: h('div', { class: 'form-rows-tools agenda-source' }, select, use) });
  let taken = null; // What was taken over, and who of it is not invited.

  function say(words) {
    setText(said, words);
    const missing = taken?.missing ?? [];
    invite.hidden = missing.length === 0;
    setText(invite, t('meetings.source.invite', { names: namesOf(missing) }));
  }

  async function take() {
    try {
      const told = await ask(pathOf(select.value, '/agenda'));
      const missing = told.speakers.filter((person) => !found(attendees.value(), person));
      taken = { ...told, missing };
      agenda.replace(spoken(told.agenda, told.speakers, attendees.value()), '');
      const words = t('meetings.source.taken', { count: told.agenda.length, title: told.title });
      say(missing.length ? `${words} ${t('meetings.source.missing', { count: missing.length, names: namesOf(missing) })}` : words);
    } catch (error) {
      field.say(wrong(error));
    }
  }

  /** Invite those who spoke, and have them speak where nobody else was chosen meanwhile. */
  function inviteMissing() {
    const { agenda: items, missing, speakers } = taken;
    const invited = attendees.value();
    for (const person of missing.filter((one) => !found(invited, one))) invited.push({ ...person, id: nextId('a', invited) });
    attendees.replace(invited, '');
    const spoke = new Map(spoken(items, speakers, invited).map(({ id, speaker }) => [id, speaker]));
    agenda.replace(agenda.value().map((item) => ({ ...item, speaker: item.speaker ?? spoke.get(item.id) ?? null })), '');
    taken = null;
    say(t('meetings.source.invited', { names: namesOf(missing) }));
    use.focus();
  }

  field.element.append(h('p', { class: 'quiet agenda-source-said' }, said, ' ', invite));
  return field.element;
}
