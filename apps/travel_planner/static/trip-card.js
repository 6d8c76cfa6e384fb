// One followed trip as people read it: when one arrives, what comes next, what lies ahead.
import { wrong } from 'citywise/api.js';
import { city } from 'citywise/city.js';
import { h, icon, keyed, setText } from 'citywise/elements.js';
import { eventIcon, eventTitle } from 'citywise/event-card.js';
import { levelWords } from 'citywise/levels.js';
import { t } from 'citywise/strings.js';
import { ago, atMinute } from 'citywise/times.js';
import { toast } from 'citywise/toast.js';
import { stepRow, turnWords } from './directions.js';
import { kroner, metres, minutes } from './measures.js';
import { journeyPart } from './trip-journey.js';
import { proposalCard, undoAccepted } from './trip-proposal.js';
import { trips } from './trip-store.js';

const NEXT_STEPS = 3;

const label = (key) => h('span', { class: 'trip-label' }, t(key));

/** An arrival, what is left, and the share that is done. */
function summary() {
  const arrives = h('strong', { class: 'trip-arrives' });
  const left = h('span', { class: 'trip-left' });
  const bar = h('progress', { max: 1, 'aria-label': t('trip.done') });
  const age = h('p', { class: 'quiet' });
  const element = h('div', { class: 'trip-summary' }, h('p', {}, label('trip.arrives'), arrives), h('p', {}, label('trip.remaining'), left), bar, age);

  function update({ plan, progress, now }, isOffline) {
    const seconds = progress ? progress.remaining_s : plan.time_s ?? plan.drive_s;
    const length = progress?.remaining_m ?? plan.distance_m ?? plan.drive_m;
    const arrival = progress ? progress.arrives : plan.arrives;
    setText(arrives, arrival ? atMinute(Date.parse(arrival)) : '–');
    setText(left, [seconds, length].every(Number.isFinite) ? `${minutes(seconds)} · ${metres(length)}` : Number.isFinite(length) ? metres(length) : '–');
    bar.value = progress?.done_share ?? 0;
    age.hidden = isOffline; // How old all of it is stands above.
    setText(age, progress ? t(plan.legs ? 'trip.measured.line' : 'trip.measured', { ago: ago(Math.max(0, city.now() - Date.parse(progress.measured ?? now)) / 1000) }) : t('trip.planned'));
  }

  return { element, update };
}

/** What one does next, how far it is to there, and all that follows. */
function steps() {
  const where = h('p', { class: 'trip-where' });
  const list = h('ol', { class: 'trip-steps steps' });
  const rest = h('ol', { class: 'steps' });
  const all = h('details', { class: 'why' }, h('summary', {}, t('trip.all')), rest);
  const element = h('div', {}, h('h3', {}, t('trip.next')), where, list, all);

  function update({ plan, progress, kind, to, journey }) {
    element.hidden = Boolean(journey);
    if (journey) return;
    const [here, ...next] = progress?.steps ?? plan.steps ?? plan.drive?.steps ?? [];
    element.hidden = !here;
    const said = [here, ...next].map((step) => step && [turnWords(step), metres(step.distance_m)]);
    if (!here || list.shown === String(said)) return;
    list.shown = String(said);
    const name = here.name ?? t('trip.unnamed');
    const end = kind === 'parking' ? plan.name : to?.name ?? t('plan.destination');
    setText(where, next.length ? t('trip.until', { street: name, metres: metres(here.distance_m) }) : t('trip.last', { street: name, metres: metres(here.distance_m), place: end }));
    list.replaceChildren(...next.slice(0, NEXT_STEPS).map(stepRow));
    all.hidden = next.length <= NEXT_STEPS;
    rest.replaceChildren(...next.slice(NEXT_STEPS).map(stepRow));
  }

  return { element, update };
}

/** Events on what remains, the nearest first. */
function ahead() {
  const list = h('ul', { class: 'trip-ahead' });
  const none = h('p', { class: 'quiet' }, t('trip.ahead.none'));
  const element = h('div', {}, h('h3', {}, t('trip.ahead')), list, none);

  function update(trip) {
    element.hidden = Boolean(trip.journey); // What is on the streets is not on a line.
    none.hidden = trip.ahead.length > 0;
    keyed(list, trip.ahead, ({ id }) => id, (event) => {
      const where = h('span', { class: 'quiet' });
      const badge = h('span', { class: 'badge', 'data-type': event.type }, icon(eventIcon(event)));
      return Object.assign(h('li', { 'data-event': event.id }, badge, h('span', {}, h('strong', {}, eventTitle(event)), ' ', where)), { where });
    }, (item, event) => setText(item.where, [t('trip.in', { metres: metres(event.ahead_m) }), event.place?.name, levelWords(event.level)].filter(Boolean).join(' · ')));
  }

  return { element, update };
}

/** The garage one drives to: free places as they are counted and expected, the walk after it. */
function garage() {
  const rows = ['free', 'expected', 'walk', 'cost'].map((name) => ({ name, value: h('dd') }));
  const list = h('dl', { class: 'facts' }, ...rows.map(({ name, value }) => h('div', {}, h('dt', {}, t(`trip.garage.${name}`)), value)));
  const element = h('div', {}, list);

  function update({ kind, plan, garage: live, now }) {
    element.hidden = kind !== 'parking';
    if (element.hidden) return;
    const words = garageWords(plan, live ?? plan, now);
    for (const { name, value } of rows) setText(value, words[name]);
    element.dataset.state = live?.state ?? '';
  }

  return { element, update };
}

function garageWords(plan, live, now) {
  const counted = live.observed ? ago(Math.max(0, Date.parse(now) - Date.parse(live.observed)) / 1000) : t('trip.garage.uncounted');
  const { expected } = live;
  return {
    free: [live.free === null ? t('garage.unknown') : t('trip.garage.of', { free: live.free, capacity: live.capacity ?? '?' }), live.overfull ? t('garage.over') : null, counted, live.stale ? t('garage.old') : null].filter(Boolean).join(' · '),
    expected: expected ? t('trip.garage.about', { free: Math.round(expected.free), low: Math.round(expected.low), high: Math.round(expected.high), time: atMinute(Date.parse(expected.at)) }) : '–',
    walk: [metres(plan.walk_m), plan.walk_s ? minutes(plan.walk_s) : null].filter(Boolean).join(' · '),
    cost: plan.price?.assumed ? t('trip.garage.assumed', { cost: kroner(plan.cost) }) : kroner(plan.cost),
  };
}

async function end(trip) {
  try {
    await trips.end(trip);
  } catch (error) {
    toast(wrong(error), { focus: true });
    return;
  }
  toast(t('trip.stopped'), { focus: true, word: t('trip.resume'), undo: () => trips.start({ resume: trip.id }).catch((error) => toast(wrong(error))) });
}

/** A card and the function that brings it up to date. */
export function tripCard() {
  let trip = null;
  const title = h('span', {});
  const heading = h('h2', { tabindex: '-1', class: 'trip-title' }, h('span', { class: 'badge' }, icon('plan')), title);
  const offRoute = h('p', { class: 'trip-off', role: 'status' });
  const parts = [proposalCard(), summary(), journeyPart(), garage(), ahead(), steps()];
  const back = h('button', { type: 'button', class: 'link', onclick: () => undoAccepted(trip) }, t('trip.back'));
  const stop = h('button', { type: 'button', class: 'button', onclick: () => end(trip) }, t('trip.stop'));
  const element = h('article', { class: 'trip-card' }, heading, offRoute, ...parts.map((part) => part.element), h('p', { class: 'actions' }, stop, back));

  function update(current, isOffline) {
    trip = current;
    element.dataset.trip = trip.id;
    setText(title, titleOf(trip));
    const isOff = Boolean(trip.progress?.off_route);
    setText(offRoute, isOff && Number.isFinite(trip.progress.off_route_m) ? t('trip.off', { metres: metres(trip.progress.off_route_m) }) : '');
    for (const part of parts) part.update(trip, isOffline);
    back.hidden = !trip.previous;
    for (const button of [stop, back]) button.disabled = isOffline;
  }

  return { element, heading, update };
}

/** Where a trip leads. */
export const titleOf = ({ kind, plan, to }) =>
  (kind === 'parking' ? t('trip.title.parking', { name: plan.name }) : to?.name ? t('trip.title.to', { name: to.name }) : t('trip.title.travel'));
