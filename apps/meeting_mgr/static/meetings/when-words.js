// Times of a meeting in words.
import { t } from 'citywise/strings.js';
import { at, atMinute, duration, here, isElsewhere, zoneName } from 'citywise/times.js';

const MINUTE_S = 60;

const named = (from, until, zone) => t('meetings.span.zone', { span: t('meetings.span', { from, until }), zone });

/** “10:00 – 11:00 CET”, with the day where it is not today; for who is elsewhere by their own clock, too. */
export function spanWords({ starts, ends }, now) {
  const [from, until] = [Date.parse(starts), Date.parse(ends)];
  const words = named(at(from, now), atMinute(until), zoneName(from));
  if (!isElsewhere(from)) return words;
  const own = here(from, now);
  return t('meetings.span.own', { span: words, own: named(own.at, here(until, now).minute, own.zone) });
}

/** “Every week”, or nothing. */
export const repeatWords = (every) => (every ? t(`meetings.repeats.${every}`) : null);

/** “in 12 min”, or that it is now. */
export function inWords(iso, now) {
  const seconds = (Date.parse(iso) - now) / 1000;
  return seconds < MINUTE_S ? t('meet.now') : t('meet.in', { time: duration(seconds) });
}

/** How long until a meeting begins that is planned, or that it was to have begun. */
export function waitWords({ starts }, now) {
  const left = (Date.parse(starts) - now) / 1000;
  return left > 0 ? t('meet.wait', { time: duration(begun(left)) }) : t('meet.wait.due', { time: at(Date.parse(starts), now) });
}

/** By how many seconds an item is over its time, less than 0 where it is not. */
export const overTime = ({ minutes }, began, now) => Math.floor((now - Date.parse(began)) / 1000) - minutes * MINUTE_S;

/** Whole minutes, of which the last is the one that has begun; seconds in the last. */
const begun = (seconds) => (seconds > MINUTE_S ? Math.ceil(seconds / MINUTE_S) * MINUTE_S : seconds);

/** “8 min left”, or by how much an item that `began` then is over its time. */
export function leftWords(item, began, now) {
  const over = overTime(item, began, now);
  return over > 0 ? t('meetings.now.late', { time: duration(over) }) : t('meetings.now.left', { time: duration(begun(-over)) });
}
