// What somebody can do, in words: capabilities, their states, since when and why.
import { t } from 'citywise/strings.js';
import { at, atMinute } from 'citywise/times.js';

/** Those shown as icons, in order; `share` is told in words. */
export const SHOWN = ['speak', 'listen', 'read', 'chat'];
export const CAPABILITIES = [...SHOWN, 'share'];

const UNKNOWN = { state: 'unknown', since: null, because: [] };

/** How one capability of a person stands; unknown where nothing was concluded. */
export const abilityOf = (person, capability) => person.abilities?.[capability] ?? UNKNOWN;

/** “expected at 14:12”, or “on the way” where it is not known any more when. */
const onTheWay = (arrives) => (arrives ? t('meetings.because.arriving.at', { time: atMinute(Date.parse(arrives)) }) : t('meetings.because.arriving'));

/** “too noisy, driving”: reasons in words; of who is on the way, when they arrive. */
export const reasons = (because, arrives = null) =>
  because.map((reason) => (reason === 'arriving' ? onTheWay(arrives) : t(`meetings.because.${reason}`))).join(', ');

/** “Bob cannot speak: too noisy”: what is so, and why where that is known. */
export const withWhy = (what, because, arrives = null) => (because.length ? t('meetings.why', { what, why: reasons(because, arrives) }) : what);

/** “remote”; “expected at 14:12”, of who is on the way. */
export const placeWords = ({ presence, arrives }) => (arrives ? onTheWay(arrives) : t(`meetings.presence.${presence.state}`));

/** “since 10:04”, or nothing where it is not known since when. */
export const since = (iso, now) => (iso ? t('meetings.since', { time: at(Date.parse(iso), now) }) : '');

/** Words in a row: “speak, listen and read”, or with `or`. */
export function row(words, joint = 'and') {
  const last = words.at(-1);
  return words.length < 2 ? last ?? '' : t(`meetings.${joint}`, { some: words.slice(0, -1).join(', '), last });
}

/** “speak and listen”, as they stand in a sentence; after “cannot” with `or`. */
export const verbs = (capabilities, joint = 'and') => row(capabilities.map((each) => t(`meetings.can.${each}`)), joint);

/** One sentence of one capability: “Can speak · since 10:04” */
export function abilityWords(person, capability, now) {
  const { state, since: from, because } = abilityOf(person, capability);
  const what = t(`meetings.is.${state}`, { what: t(`meetings.can.${capability}`) });
  return [what, because.length ? reasons(because) : null, since(from, now)].filter(Boolean).join(' · ');
}

/**
 * What somebody cannot do, or of what nothing is known: `{ state, capabilities, because, since }`,
 * those with the same state and reasons as one, the most certain first.
 */
export function lacking(person) {
  const groups = new Map();
  for (const capability of CAPABILITIES) {
    const { state, because, since: from } = abilityOf(person, capability);
    if (state === 'on') continue;
    const key = `${state} ${because.join()}`;
    const group = groups.get(key) ?? { state, because, capabilities: [], since: from };
    if (from && (!group.since || from > group.since)) group.since = from;
    group.capabilities.push(capability);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => (a.state > b.state) - (a.state < b.state));
}

/** “Cannot speak or listen: noisy.” */
export function lackingWords({ state, because, capabilities }) {
  return withWhy(t(`meetings.is.${state}`, { what: verbs(capabilities, 'or') }), because);
}
