// Amounts of a plan in words: as people here write them, and no finer than they are known.
import { locale, t } from 'citywise/strings.js';
import { duration } from 'citywise/times.js';
import { airName } from 'citywise/traffic.js';

const MINUTE_S = 60;
const LEAST_SHARE = 0.05;
const MUCH_SHARE = 0.5;
let money; // Made when there is a price to tell.

/** What each criterion is measured in here: `factor` times that is what the API counts in. */
export const UNITS = {
  time: { unit: 'min', factor: MINUTE_S },
  distance: { unit: 'km', factor: 1000 },
  walk: { unit: 'm', factor: 1 },
  cost: { unit: 'kr.', factor: 1 },
  pollution: { unit: '', factor: 1 },
  air: { unit: '', factor: 1 },
  free: { unit: '', factor: 1 },
  changes: { unit: '', factor: 1 },
};

/** A duration, to the minute. */
export const minutes = (s) =>
  (s < MINUTE_S / 2 ? t('plan.amount.moment') : duration(Math.max(1, Math.round(s / MINUTE_S)) * MINUTE_S));

/** A length: whole metres, or kilometres with one decimal, as the planners' sentences have it. */
export const metres = (m) =>
  (m < 999.5 ? t('plan.amount.m', { n: Math.round(m) }) : t('plan.amount.km', { n: m / 1000 }));

/** Whether one breathes in more or less polluted air than on another way; null where nobody would notice. */
export function breathed(dose, other) {
  if (dose === null || !other) return null;
  const apart = dose / other - 1;
  if (Math.abs(apart) < LEAST_SHARE) return null;
  return t(`plan.breathed.${Math.abs(apart) >= MUCH_SHARE ? 'much.' : ''}${apart > 0 ? 'more' : 'less'}`);
}

/** Carbon dioxide: whole grams in tens, or kilograms with one decimal. */
export const grams = (g) => (g < 995 ? t('plan.amount.g', { n: Math.max(10, Math.round(g / 10) * 10) }) : t('plan.amount.kg', { n: g / 1000 }));

/** A price in kroner. */
export function kroner(value) {
  money ??= new Intl.NumberFormat(locale, { style: 'currency', currency: 'DKK', trailingZeroDisplay: 'stripIfInteger' });
  return money.format(value);
}

/** The air of a way in a word. */
export const air = (index) => t(`air.${airName(index)}`);

/** A share of one as a percentage. */
export const percent = (share) => t('plan.amount.percent', { n: Math.round(share * 100) });
