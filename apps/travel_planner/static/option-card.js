// One way or garage that is offered: what it takes, why it is (not) the best, and what is known.
import { city } from 'citywise/city.js';
import { h, icon } from 'citywise/elements.js';
import { eventTitle } from 'citywise/event-card.js';
import { t, within } from 'citywise/strings.js';
import { ago, atMinute, duration } from 'citywise/times.js';
import { directions } from './directions.js';
import { air, breathed, grams, kroner, metres, minutes, percent } from './measures.js';
import { isByLine, lineParts } from './line-card.js';
import { plans } from './plans.js';

const WALK_WORTH_M = 50;

/** The mark of an option, the same in the list and on the map: its number and its colour. */
export const badge = (index) => h('span', { class: 'option-badge', 'data-rank': index, 'aria-hidden': 'true' }, String(index));

const fact = (name, value) => (value === null ? null : h('div', {}, h('dt', {}, name), h('dd', {}, value)));
const amounts = (...facts) => h('dl', { class: 'amounts' }, ...facts.filter(Boolean));

/** What the numbers of a way rest on, in words. */
function basisOf({ live, learned, free_flow: free, oldest_s: oldest }) {
  const parts = [['live', live], ['learned', learned], ['free', free]].filter(([, share]) => share >= 0.005);
  const bar = h('span', { class: 'basis-bar', 'aria-hidden': 'true' }, ...parts.map(([name, share]) => {
    const part = h('i', { 'data-basis': name });
    part.style.flexGrow = share; // Set by script: the policy allows that, and no attribute.
    return part;
  }));
  const words = parts.map(([name, share]) => t(`plan.basis.${name}`, { share: percent(share) })).join(', ');
  const age = oldest ? ` ${t('plan.basis.oldest', { age: duration(oldest) })}` : '';
  return h('div', { class: 'basis' }, bar, h('p', {}, `${words}.${age}`));
}

function eventsOf(events) {
  if (!events.length) return null;
  return h('ul', { class: 'option-events' }, ...events.map((event) =>
    h('li', {}, icon('event'), h('span', {}, t('plan.event.ahead', { what: eventTitle(event), where: event.place.name, m: metres(event.ahead_m), level: event.level })))));
}

/** “Fastest, cleanest air”: in what nothing that is offered is better. */
function bests({ best_at: all }) {
  const [first, ...rest] = new Set(all.map((on) => t(`plan.wish.${plans.kind}.${on}`)));
  return first ? h('p', { class: 'option-bests' }, [first, ...rest.map(within)].join(', ')) : null;
}

const delayOf = ({ time_s: time, free_flow_s: free }) =>
  (free && time - free >= 30 ? h('p', { class: 'quiet' }, t('plan.delay', { time: minutes(time - free), free: minutes(free) })) : null);

function chosenChip(option) {
  if (plans.answer.ties?.includes(option.id)) return h('span', { class: 'chip', 'data-ok': 'true' }, t('plan.tied'));
  if (option.chosen) return h('span', { class: 'chip', 'data-ok': 'true' }, t('plan.chosen'));
  return plans.answer.rejected.includes(option) ? h('span', { class: 'chip' }, t('plan.worse')) : null;
}

/** The air on a way, and where it differs from the best way what that means for who goes there. */
function airOf(route) {
  if (route.air === null) return null;
  const best = plans.options.find(({ chosen }) => chosen);
  const differs = route.chosen ? null : breathed(route.pollution, best?.pollution);
  return h('span', {}, air(route.air), differs && h('span', { class: 'breathed' }, differs));
}

/** The head, the facts and the details of a way. */
function routeParts(route) {
  const [departs, arrives] = [route.departs, route.arrives].map((time) => atMinute(Date.parse(time)));
  const when = plans.request.isArrival ? t('plan.departs.arrives', { departs, arrives }) : t('plan.arrives', { time: arrives });
  return {
    title: [h('span', { class: 'visually-hidden' }, `${t(`plan.mode.${route.mode}`)}: `), minutes(route.time_s)],
    symbol: route.mode,
    beside: when,
    facts: amounts(
      fact(t('plan.on.travel.distance'), metres(route.distance_m)),
      route.mode !== 'walk' && route.walk_m >= WALK_WORTH_M ? fact(t('plan.on.travel.walk'), metres(route.walk_m)) : null,
      route.cost > 0 ? fact(t('plan.on.travel.cost'), kroner(route.cost)) : null,
      route.co2_g ? fact(t('plan.co2'), grams(route.co2_g)) : null,
      fact(t('plan.on.travel.air'), airOf(route)),
    ),
    details: [eventsOf(route.events), delayOf(route), bests(route), directions(route.steps, route.access, plans.request.to?.name ?? t('plan.destination')),
      h('div', {}, h('h4', {}, t('plan.basis')), basisOf(route.basis))],
  };
}

function freeOf(garage) {
  if (garage.free === null) return t('garage.unknown');
  return garage.capacity === null ? t('garage.places', { count: garage.free }) : t('plan.free.of', { free: garage.free, capacity: garage.capacity });
}

function expectedOf({ expected, data_age_s: age, stale, overfull }) {
  const words = [];
  if (expected) words.push(t('plan.expected', { n: Math.round(expected.free), low: Math.round(expected.low), high: Math.round(expected.high), time: atMinute(Date.parse(expected.at)) }));
  if (expected?.chance_full >= 0.05) words.push(t('plan.expected.full', { share: percent(expected.chance_full) }));
  if (overfull) words.push(t('plan.overfull'));
  if (age !== null) words.push(`${t('garage.counted', { age: ago(age) })}${stale ? ` · ${t('garage.old')}` : ''}`);
  return words.map((text) => h('p', { class: stale ? 'quiet stale' : 'quiet' }, text));
}

function priceOf({ price, opens, closes }) {
  const words = [t('plan.price', { hour: kroner(price.per_hour), day: price.day_most === null ? '–' : kroner(price.day_most) })];
  if (price.free_minutes) words.push(t('plan.price.free', { n: price.free_minutes }));
  if (price.assumed) words.push(t('plan.price.assumed'));
  if (opens && closes) words.push(t('plan.hours', { from: opens, until: closes }));
  return h('p', { class: 'quiet' }, words.join(' · '));
}

/** The same for a garage. */
function garageParts(garage) {
  const drive = garage.drive_s === null ? null : t('plan.drive', { time: minutes(garage.drive_s), m: metres(garage.drive_m) });
  return {
    title: [garage.name],
    symbol: 'parking',
    beside: drive,
    facts: amounts(
      fact(t('plan.on.parking.walk'), garage.walk_m === null ? null : metres(garage.walk_m)),
      fact(t('plan.on.parking.cost'), garage.cost === null ? null : kroner(garage.cost)),
      fact(t('plan.on.parking.free'), freeOf(garage)),
    ),
    details: [...expectedOf(garage), priceOf(garage), bests(garage), ...(garage.drive ? [eventsOf(garage.drive.events), directions(garage.drive.steps, garage.drive.access, garage.name),
      h('div', {}, h('h4', {}, t('plan.basis')), basisOf(garage.drive.basis))] : [])],
  };
}

function partsOf(option) {
  if (plans.kind !== 'travel') return garageParts(option);
  return isByLine(option) ? lineParts(option, bests(option)) : routeParts(option);
}

/** The card of the option that stands at `rank` (from 1); it tells what is looked at. */
export function optionCard(option, rank) {
  const { title, symbol, beside, facts, details } = partsOf(option);
  const id = `option-${option.id}`;
  const start = h('button', {
    type: 'button', class: option.chosen ? 'button primary' : 'button', 'aria-describedby': id,
    onclick: () => element.dispatchEvent(new CustomEvent('plan-start', { detail: { plan: plans.answer.plan, choice: option.id, kind: plans.kind, to_name: plans.toName }, bubbles: true })),
  }, t(`plan.start.${plans.kind}`));
  const more = h('details', { class: 'why', ontoggle: () => more.open && plans.mark(option.id) }, h('summary', {}, t('plan.details')), h('div', { class: 'details' }, ...details.filter(Boolean)));
  const element = h('li', { class: 'option', 'data-option': option.id, 'data-chosen': option.chosen, onclick: () => plans.mark(option.id), onmouseenter: () => plans.mark(option.id), onfocusin: () => plans.mark(option.id) },
    h('header', {}, badge(rank), h('div', { class: 'option-title' }, h('h3', { id, tabindex: '-1' }, icon(symbol), ...title), beside ? h('p', { class: 'quiet' }, beside) : null), chosenChip(option)),
    facts,
    h('p', { class: 'option-why' }, option.chosen ? option.why : option.difference ?? option.why),
    h('footer', {}, more, start));
  if (option.difference && !option.chosen && option.why) more.querySelector('.details').prepend(h('p', {}, option.why));
  return element;
}

/** A line for what was considered but is not offered, with the reason. */
export function rejectedLine(option) {
  const isRoute = plans.kind === 'travel';
  const name = isRoute ? `${t(`plan.mode.${option.mode}`)}, ${minutes(option.time_s)}, ${metres(option.distance_m)}` : option.name;
  const show = option.geometry || !isRoute
    ? h('button', { type: 'button', class: 'link', onclick: () => plans.mark(option.id), 'aria-label': `${t('event.show')}: ${name}` }, t('event.show')) : null;
  const known = isRoute ? [] : [option.walk_m === null ? null : t('plan.walk', { metres: metres(option.walk_m) }), option.cost === null ? null : kroner(option.cost), freeOf(option)].filter(Boolean);
  return h('li', { class: 'rejected', 'data-option': option.id }, icon(isRoute ? (isByLine(option) ? 'transit' : option.mode) : 'parking'),
    h('div', {}, h('p', { class: 'rejected-name' }, name), known.length ? h('p', {}, known.join(' · ')) : null, h('p', { class: 'quiet' }, option.why)), show);
}

/** Whether an event that has opened lies on what is shown. */
export const isOn = (option, id) => (option.events ?? option.drive?.events ?? []).some((event) => event.id === id) && city.events.has(id);
