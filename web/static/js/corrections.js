// What readings of the past changed, in words: from what to what, and by which of them.
import { city } from './city.js';
import { labelled, valueText } from './kinds.js';
import { t } from './strings.js';
import { at } from './times.js';

const time = (text) => at(Date.parse(text), city.now());

/** What a reading said and says now; nothing where neither is told. */
function values({ kind, before, after }) {
  const { fields = {} } = city.kinds.get(kind) ?? {};
  const differing = Object.keys({ ...before, ...after }).filter((name) => before?.[name] !== after?.[name]);
  return differing.map((name) => {
    const told = (values) => valueText(fields[name] ?? {}, values[name]);
    const field = labelled(fields[name]?.label, name);
    return before && after
      ? t('cause.changed', { field, before: told(before), after: told(after) })
      : t('cause.value', { field, value: told(before ?? after) });
  }).join(', ');
}

/** Readings that changed the past, a sentence each. */
const because = (causes = []) => causes.map((cause) => {
  const said = values(cause);
  return t(`cause.${cause.what}${said ? '.values' : ''}`, { time: time(cause.observed_at), values: said });
}).join(' ');

/** Why a notice was taken back, and what it was. */
export const takenBackText = (notice, where) => t('notice.taken_back', {
  title: notice.title, where, level: notice.criticality, opened: time(notice.opened), because: because(notice.taken_back),
});

/** What a notice was before readings changed it; null if none did. */
export const amendedText = (notice, where) => notice.amended ? t('notice.amended', {
  title: notice.title, where, was: notice.amended.was.criticality, level: notice.criticality, because: because(notice.amended.because),
}) : null;

const span = ({ level, start, end }) =>
  t(`event.amended.${end ? 'over' : 'open'}`, { level, start: time(start), end: end ? time(end) : '' });

/** What an event was before readings changed it; null if none did, or nobody was told of it. */
export const correctedText = (event) => event.revised?.was
  ? t('event.amended', { was: span(event.revised.was), now: span(event), because: because(event.revised.because) }) : null;
