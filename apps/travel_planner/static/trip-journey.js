// A followed journey by line: what one does next, each leg as it runs now, whether changes hold.
import { city } from 'citywise/city.js';
import { h, icon, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { atMinute } from 'citywise/times.js';
import { isOwn, nameOf, symbolOf, timeOf } from './line-card.js';
import { metres, minutes } from './measures.js';

const clock = (time) => atMinute(Date.parse(time));
const rides = ({ legs }) => legs.filter((leg) => !isOwn(leg)).map(nameOf);

/** A journey in a line: its times and its lines. */
export const journeyName = (plan) => [`${clock(plan.departs)} – ${clock(plan.arrives)}`, ...rides(plan)].join(' · ');

/** What one does next, in words; the time to it counts by the city's clock. */
export function nextWords({ code, stop, line, mode, at, stops, towards }) {
  const left = Math.max(0, (Date.parse(at) - city.now()) / 1000);
  const where = stop ?? t('plan.destination');
  const name = line || mode ? nameOf({ mode, route_name: line }) : '';
  const values = { stop: where, line: name, time: clock(at), left: minutes(left), count: stops ?? 0, towards: towards ?? '' };
  return t(`trip.next.${code}`, values);
}

function changeChip({ state, slack_s: slack }) {
  return h('span', { class: 'chip', 'data-state': state }, t(`trip.change.${state}`, { time: minutes(Math.abs(slack)) }));
}

function legRow(leg, index, { at, broken, changes }) {
  const isBroken = broken?.leg === index;
  const change = changes.find((each) => each.leg === index && index >= at);
  const state = isBroken ? 'broken' : index < at ? 'done' : index === at ? 'now' : 'ahead';
  const how = isOwn(leg) && leg.to.name ? `${nameOf(leg)} · ${leg.to.name}` : nameOf(leg);
  return h('li', { class: 'leg', 'data-leg': leg.mode, 'data-state': state, 'aria-current': state === 'now' ? 'step' : null },
    icon(symbolOf(leg)), h('div', {},
      h('p', { class: 'leg-how' }, how, isBroken ? h('span', { class: 'chip', 'data-state': 'broken' }, t(`trip.broken.${broken.why}`)) : null, change ? changeChip(change) : null),
      h('p', {}, ...timeOf(leg, 'departs'), ` ${leg.from.name ?? t('plan.leg.start')}`),
      h('p', {}, ...timeOf(leg, 'arrives'), ` ${leg.to.name ?? t('plan.leg.end')}`)));
}

/** The part of a trip's card for a journey by line. */
export function journeyPart() {
  const next = h('p', { class: 'trip-where', role: 'status' });
  const list = h('ol', { class: 'legs' });
  const element = h('div', { class: 'trip-journey' }, h('h3', {}, t('trip.next')), next, h('h3', {}, t('plan.legs')), list);
  let shown = null;

  function update({ journey }) {
    element.hidden = !journey;
    if (!journey) return;
    setText(next, nextWords(journey.next));
    const told = JSON.stringify([journey.at, journey.broken, journey.changes, journey.legs]);
    if (told === shown) return;
    shown = told;
    list.replaceChildren(...journey.legs.map((leg, index) => legRow(leg, index, journey)));
  }

  return { element, update };
}

/** The journeys beside the one that is proposed, each with a button that takes it. */
export function othersList(take) {
  const list = h('ul', { class: 'trip-others' });
  const element = h('div', { hidden: true }, h('h4', {}, t('trip.others')), list);

  function update(others) {
    element.hidden = !others?.length;
    list.replaceChildren(...(others ?? []).map((plan, index) => h('li', {}, h('span', {}, journeyName(plan)), h('span', { class: 'quiet' }, metres(plan.walk_m)),
      h('button', { type: 'button', class: 'button small', 'aria-label': `${t('trip.others.take')}: ${journeyName(plan)}`, onclick: () => take(index + 1) }, t('trip.others.take')))));
  }

  return { element, update };
}
