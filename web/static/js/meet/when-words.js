// Times of a meeting in words.
import { t } from '../strings.js';
import { at, atMinute, duration } from '../times.js';

/** “10:00 – 11:00”, with the day where it is not today. */
export const spanWords = ({ starts, ends }, now) =>
  t('meetings.span', { from: at(Date.parse(starts), now), until: atMinute(Date.parse(ends)) });

/** “in 12 min”, or that it is now. */
export function inWords(iso, now) {
  const seconds = (Date.parse(iso) - now) / 1000;
  return seconds < 60 ? t('meet.now') : t('meet.in', { time: duration(seconds) });
}
