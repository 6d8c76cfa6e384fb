// What a host has planned of a meeting, without what happens: what the API is told, and what of it changed.
const ITEM = ['id', 'title', 'type', 'speaker', 'minutes', 'least_minutes', 'sensitive', 'needs', 'listeners', 'after'];
const ATTENDEE = ['id', 'name', 'email', 'required'];

/** Those properties of `of` that `like` has (or names). */
export const pick = (of, like) => Object.fromEntries((Array.isArray(like) ? like : Object.keys(like)).map((name) => [name, of[name]]));

/** The plan in a host's view. */
export const planned = ({ title, room, starts, ends, series, attendees, agenda, rules, conference, hook }) => ({
  title, room, starts, ends, repeats: series?.every ?? 'never', rules, hook, conference: conference?.kind ?? 'none',
  attendees: attendees.map((each) => pick(each, ATTENDEE)), agenda: agenda.map((each) => pick(each, ITEM)),
});

const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const differing = (now, before) => Object.fromEntries(Object.entries(now).filter(([name, value]) => !isSame(value, before[name])));

/** What of a plan differs from what it was; of its rules only those that do. */
export function changed(now, before) {
  const { rules, ...others } = differing(now, before);
  return rules ? { ...others, rules: differing(rules, before.rules) } : others;
}
