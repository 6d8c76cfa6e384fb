// How old what a sensor said is, in words; also where another time than now is looked at.
import { city } from './city.js';
import { t } from './strings.js';
import { ago, atMinute } from './times.js';

/** Words for the age of a reading, in seconds at the time that is looked at: `key` has `{age}`. */
export function aged({ ageS, expected }, key) {
  if (expected) return expected.low === undefined ? t(`moment.is.${expected.by}`) : t('moment.range', expected);
  if (city.moment) return t('moment.measured', { time: atMinute(city.moment.atMs - ageS * 1000) });
  return t(key, { age: ago(Math.max(0, ageS)) });
}
