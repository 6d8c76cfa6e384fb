// A journey by public transport in the list: its legs with stops, lines, live and planned times.
import { h, icon } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { atMinute } from 'citywise/times.js';
import { metres, minutes } from './measures.js';
import { plans } from './plans.js';

const OWN = ['walk', 'bicycle', 'car'];

/** Whether an option is by timetable, at least a part of it. */
export const isByLine = ({ legs, mode }) => Boolean(legs) && !OWN.includes(mode);
/** Whether a leg is by one's own means. */
export const isOwn = ({ mode }) => OWN.includes(mode);

/** A time as the clock shows it. */
export const clockOf = (time) => atMinute(Date.parse(time));
/** The picture of a leg, and its mode and line in words. */
export const symbolOf = ({ mode }) => (OWN.includes(mode) ? mode : 'transit');
export const nameOf = (leg) => [t(`plan.leg.${leg.mode}`), leg.route_name].filter(Boolean).join(' ');

/** A time as expected, and beside it the planned one where that is another. */
export function timeOf(leg, end) {
  const { planned, realtime } = leg;
  const expected = h('time', { datetime: leg[end] }, clockOf(leg[end]));
  if (planned[end] === null || clockOf(planned[end]) === clockOf(leg[end])) {
    return realtime === 'updated' ? [expected, ' ', h('span', { class: 'chip', 'data-ok': 'true' }, t('plan.leg.ontime'))] : [expected];
  }
  return [expected, ' ', h('span', { class: 'leg-planned' }, h('span', { class: 'visually-hidden' }, t('plan.leg.planned')), h('s', {}, clockOf(planned[end])))];
}

function legItem(leg, alerts) {
  const own = isOwn(leg);
  const stops = own ? null : leg.calls.slice(1, -1).map(({ name, arrives }) => h('li', {}, `${clockOf(arrives)} ${name}`));
  const told = alerts.filter(({ id }) => leg.alerts?.includes(id));
  const how = own
    ? `${nameOf(leg)} · ${metres(leg.distance_m)}`
    : [nameOf(leg), leg.headsign ? t('plan.leg.towards', { where: leg.headsign }) : null].filter(Boolean).join(' ');
  return h('li', { class: 'leg', 'data-leg': leg.mode }, icon(symbolOf(leg)), h('div', {},
    h('p', { class: 'leg-how' }, how, leg.realtime === 'added' ? ` · ${t('plan.leg.added')}` : ''),
    h('p', {}, ...timeOf(leg, 'departs'), ` ${leg.from.name ?? t('plan.leg.start')}`),
    h('p', {}, ...timeOf(leg, 'arrives'), ` ${leg.to.name ?? t('plan.leg.end')}`),
    leg.park ? h('p', { class: 'quiet' }, t('plan.leg.park', { name: leg.park.name, n: leg.park.free_expected })) : null,
    ...told.map(({ header }) => h('p', { class: 'leg-alert' }, icon('event'), ' ', header)),
    stops?.length ? h('details', { class: 'why' }, h('summary', {}, t('plan.leg.stops', { count: stops.length })), h('ol', { class: 'leg-stops quiet' }, ...stops)) : null));
}

/** The head, the facts and the details of its card; `best` says what it is best at. */
export function lineParts(route, best) {
  const lines = route.legs.filter((leg) => !isOwn(leg));
  const fact = (name, value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
  return {
    title: [h('span', { class: 'visually-hidden' }, `${t(`plan.mode.${route.mode}`)}: `), `${clockOf(route.departs)} – ${clockOf(route.arrives)}`],
    symbol: 'transit',
    beside: [minutes(route.time_s), ...lines.map(nameOf)].join(' · '),
    facts: h('dl', { class: 'amounts' }, fact(t('plan.on.travel.changes'), String(route.changes)), fact(t('plan.on.travel.walk'), metres(route.walk_m))),
    details: [h('h4', {}, t('plan.legs')), h('ol', { class: 'legs' }, ...route.legs.map((leg) => legItem(leg, plans.answer.alerts ?? []))), best],
  };
}
