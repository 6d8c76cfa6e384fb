// Times in the city's zone, ages and durations in words.
import { breath } from './slices.js';
import { locale, t } from './strings.js';

const timeZone = document.documentElement.dataset.zone;

/** A format, made when it is first called for: one takes a millisecond, and few pages need all. */
function format(options, language = locale) {
  let made;
  return () => (made ??= new Intl.DateTimeFormat(language, { timeZone, ...options }));
}

const minute = format({ hour: '2-digit', minute: '2-digit' });
const hourMinute = format({ hour: '2-digit', minute: '2-digit' }, 'en-GB');
const second = format({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const date = format({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
const dayMinute = format({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const dateMinute = format({ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' });
const zone = format({ timeZoneName: 'short' });
const weekday = format({ weekday: 'long' });
const HERE = { timeZone: undefined }; // The device's own.
const minuteHere = format({ hour: '2-digit', minute: '2-digit', ...HERE });
const dayMinuteHere = format({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', ...HERE });
const dateHere = format({ dateStyle: 'short', ...HERE }, 'sv-SE');
const zoneHere = format({ timeZoneName: 'short', ...HERE });

minute(); // With the first the browser loads how times are written here: a task of its own.
await breath();

export const atMinute = (ms) => minute().format(ms);
export const atSecond = (ms) => second().format(ms);
export const onWeekday = (ms) => weekday().format(ms);
export const onDate = (ms) => date().format(ms);

const named = (formatted, ms) => formatted.formatToParts(ms).find((part) => part.type === 'timeZoneName').value;

/** `CEST` or the like. */
export const zoneName = (ms) => named(zone(), ms);

/** The time alone for today, with the day otherwise. */
export const at = (ms, now) =>
  (date().format(ms) === date().format(now) ? minute : dayMinute)().format(ms);

/** To the second for today, with the day otherwise. */
export const atSecondOf = (ms, now) =>
  (date().format(ms) === date().format(now) ? second : dayMinute)().format(ms);

/** A time of the real clock, which need not be the city's: always with its date. */
export const atReal = (ms) => dateMinute().format(ms);

const written = format({ dateStyle: 'short', timeStyle: 'short' }, 'sv-SE');

/** A time as an input of type `datetime-local` has it, in the city's zone. */
export const localInput = (ms) => written().format(ms).replace(' ', 'T');

/** The time that such an input means. */
export function fromLocalInput(text) {
  const asIfUtc = Date.parse(`${text}Z`);
  const offset = (ms) => Date.parse(`${localInput(ms)}Z`) - Math.floor(ms / 60_000) * 60_000;
  const near = asIfUtc - offset(asIfUtc);
  return asIfUtc - offset(near);
}

const writtenHere = format({ dateStyle: 'short', timeStyle: 'short', ...HERE }, 'sv-SE');

/** Whether the device's clock shows another time than the city's. */
export const isElsewhere = (ms) => writtenHere().format(ms) !== written().format(ms);

/** A time by the device's clock: `at`, `minute` and the name of its `zone`. */
export const here = (ms, now) => ({
  at: (dateHere().format(ms) === dateHere().format(now) ? minuteHere : dayMinuteHere)().format(ms),
  minute: minuteHere().format(ms),
  zone: named(zoneHere(), ms),
});

const HOUR_MS = 3_600_000;

/** When it is `hour` o'clock for the first time on a day after that of `now`. */
export function nextDayAt(hour, now) {
  const clock = `${String(hour).padStart(2, '0')}:00`;
  let ms = Math.ceil(now / HOUR_MS) * HOUR_MS;
  while (date().format(ms) === date().format(now) || hourMinute().format(ms) !== clock) ms += HOUR_MS;
  return ms;
}

function split(seconds) {
  const minutes = Math.floor(seconds / 60);
  return { days: Math.floor(minutes / 1440), hours: Math.floor(minutes / 60), minutes };
}

/** “3 min ago”. */
export function ago(seconds) {
  const { days, hours, minutes } = split(seconds);
  if (seconds < 5) return t('ago.now');
  if (minutes < 1) return t('ago.seconds', { n: Math.floor(seconds) });
  if (hours < 1) return t('ago.minutes', { n: minutes });
  if (days >= 2) return t('ago.days', { count: days });
  if (minutes % 60 === 0 || hours >= 6) return t('ago.hours', { n: hours });
  return t('ago.hoursminutes', { n: hours, m: minutes % 60 });
}

/** “1 h 20 min”. */
export function duration(seconds) {
  const { days, hours, minutes } = split(seconds);
  if (minutes < 1) return t('duration.seconds', { n: Math.max(0, Math.floor(seconds)) });
  if (hours < 1) return t('duration.minutes', { n: minutes });
  if (days >= 2) return t('duration.days', { count: days });
  if (minutes % 60 === 0) return t('duration.hours', { n: hours });
  return t('duration.hoursminutes', { n: hours, m: minutes % 60 });
}
