// The agenda in words: whose an item is, who can take part in it, and why others cannot.
import { t } from 'citywise/strings.js';
import { row, verbs, withWhy } from './ability-words.js';

const MOST_NAMED = 3;

/** What an attendee is called, or nothing. */
export const nameOf = (view, attendee) => view.attendees.find(({ id }) => id === attendee)?.name ?? '';

/** Items that are still to come, in order. */
export const openItems = (view) => view.agenda.filter(({ state }) => state === 'open');

const called = (view, { person, attendee, name }) =>
  name ?? view.people.find(({ id }) => id === person)?.name ?? nameOf(view, attendee);

/** Of those who are counted for an item: who is known to be able to take part, of whom nothing tells, who cannot, and who of them is needed. */
export function attendance({ attendance: all = [] }) {
  const cannot = all.filter(({ can }) => !can);
  const [unknown, can] = [true, false].map((isUnknown) => all.filter((one) => one.can && (one.known === false) === isUnknown));
  return { can, unknown, cannot, missing: cannot.filter(({ required }) => required !== false) };
}

/** “2 of 3 can take part · 1 unknown” */
export function countWords({ can, unknown, cannot }) {
  const count = can.length + unknown.length + cannot.length;
  if (!count) return '';
  return [t('meetings.item.can', { n: can.length, count }), unknown.length ? t('meetings.item.unknown', { count: unknown.length }) : null].filter(Boolean).join(' · ');
}

/** “Bob and Charlie cannot listen: too noisy”, of some who lack the same; of many only how many. */
function cannotWords(view, some, most) {
  const [{ lacks, because, arrives }] = some;
  const name = some.length > most ? t('meetings.several', { count: some.length }) : row(some.map((one) => called(view, one)));
  return withWhy(lacks.length ? t('meetings.cannot', { name, what: verbs(lacks, 'or') }) : t('meetings.cannot.attend', { name }), because, arrives);
}

/** All who cannot take part in an item, and why; or that all can. Up to `most` alike are named. */
export function attendanceWords(view, item, most = MOST_NAMED) {
  const { can, unknown, cannot } = attendance(item);
  if (!cannot.length && unknown.length) return countWords({ can, unknown, cannot });
  if (!cannot.length) return can.length ? t('meetings.all.can') : '';
  const alike = Map.groupBy(cannot, ({ lacks, because, arrives }) => `${lacks} ${because} ${because.includes('arriving') && arrives}`);
  return [...alike.values()].map((some) => cannotWords(view, some, most)).join('; ');
}

/** “Alice, Bob and Charlie” */
export const namesOf = (view, some) => row(some.map((one) => called(view, one)));

/** Who can take part. */
export const canWords = (view, item) => namesOf(view, attendance(item).can);
