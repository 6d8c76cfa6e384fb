// Amounts of a plan in words: as people here write them, and no finer than they are known.
import { locale, number, t } from 'citywise/strings.js';
import { duration } from 'citywise/times.js';
import { airName } from 'citywise/traffic.js';

const MINUTE_S = 60;
const LEAST_SHARE = 0.01;
const money = new Intl.NumberFormat(locale, { style: 'currency', currency: 'DKK', trailingZeroDisplay: 'stripIfInteger' });

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

/** How much more or less polluted air than `other` one breathes in; null where nobody would notice. */
export function breathed(dose, other) {
  if (dose === null || !other) return null;
  const apart = dose / other - 1;
  return Math.abs(apart) < LEAST_SHARE ? null : t(apart > 0 ? 'plan.breathed.more' : 'plan.breathed.less', { share: percent(Math.abs(apart)) });
}

/** A price in kroner. */
export const kroner = (value) => money.format(value);

/** The air of a way in a word, with its index. */
export const air = (index) => t('plan.amount.air', { name: t(`air.${airName(index)}`), n: Math.round(index) });

/** A share of one as a percentage. */
export const percent = (share) => t('plan.amount.percent', { n: Math.round(share * 100) });
