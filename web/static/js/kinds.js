// What kinds of observations say of their readings: names, units, and steps on the map.
import { city } from './city.js';
import { knows, language, number, t } from './strings.js';

const GRADES = { good: 1, fair: 2, moderate: 3, poor: 4, very_poor: 5 };
const WORST = 5;
const USUAL_STALE_S = 3600;
const PERIODS = 3; // After so many without a reading the last one is old.
const UNITS = { Cel: '°C', 'ug/m3': 'µg/m³', 'dB{mW}': 'dBm', 'dB[mW]': 'dBm', '1': '' };

const inWords = (name) => name.replaceAll('_', ' ');

/** A label in the page's language, in English, or the name. */
export const labelled = (label, name) => label?.[language] ?? label?.en ?? inWords(name);

/** What a kind of observations is called. */
export const kindName = (name) => labelled(city.kinds.get(name)?.label, name);

/** What a kind of place is called. */
export const placeKindName = (name) => labelled(city.placeKinds.get(name)?.label, name);

/** A step's name in the page's language, where it is one of ours. */
export const stepName = (name) => (knows(`grade.${name}`) ? t(`grade.${name}`) : inWords(name));

/** How bad the step at an index is, from 1 (good) to 5. */
export function grade(kind, index) {
  const { steps } = kind.map;
  const known = GRADES[steps[index]?.[1]];
  return known ?? (steps.length > 1 ? 1 + Math.round((index / (steps.length - 1)) * (WORST - 1)) : 1);
}

/** The index of the step that a reading has reached; -1 where it is unknown or below all. */
export function stepOf(kind, reading) {
  const value = reading?.[kind.map.show];
  return typeof value === 'number' ? kind.map.steps.findLastIndex(([from]) => value >= from) : -1;
}

/** A unit as people write it; what is in braces counts things and is left out. */
export const unitText = (unit) => (unit ? UNITS[unit] ?? (unit.startsWith('{') ? '' : unit) : '');

/** How many decimals a field is measured to. */
const decimals = ({ step }) => (step ? String(step).split('.')[1]?.length ?? 0 : 1);

/** A value with its unit, as finely as it is measured. */
export function valueText(field, value) {
  if (value === null || value === undefined) return t('kind.unknown');
  if (typeof value === 'boolean') return t(value ? 'kind.yes' : 'kind.no');
  return typeof value === 'number' ? `${number(value, decimals(field))} ${unitText(field.unit)}`.trim() : inWords(value);
}

/** Whether a reading says nothing of the present any more. */
export function isOld({ stale_s: stale, period_s: period }, reading, now) {
  if (!reading) return true;
  const { observedMs } = reading;
  return (now - observedMs) / 1000 > (stale ?? (period ? PERIODS * period : USUAL_STALE_S));
}

/** The kinds that the map colours. */
export const mapped = () => [...city.kinds.values()].filter((kind) => kind.map);
