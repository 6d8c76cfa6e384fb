// A better way or another garage, as it is offered: what happened, what differs, what one answers.
import { tried } from 'citywise/doing.js';
import { h, icon, setText } from 'citywise/elements.js';
import { t, within } from 'citywise/strings.js';
import { toast } from 'citywise/toast.js';
import { kroner, metres, minutes, percent } from './measures.js';
import { journeyName, othersList } from './trip-journey.js';
import { trips } from './trip-store.js';

const SNOOZE_MINUTES = 10;

/** What a person sees now: a proposal that was put off waits. */
export const openProposal = ({ proposal, snoozed_until: until }) => (proposal && !until ? proposal : null);

/** The longest street of a way that the present one does not go along; null where none is named. */
function streetOf({ steps = [] }, trip) {
  const present = new Set((trip.progress?.steps ?? trip.plan.steps ?? []).map(({ name }) => name));
  const others = steps.filter(({ name }) => name && !present.has(name));
  return others.sort((a, b) => b.distance_m - a.distance_m)[0]?.name ?? null;
}

function planName(trip, plan) {
  if (trip.kind === 'parking') return plan.name;
  if (plan.legs) return journeyName(plan);
  const mode = within(t(`plan.mode.${plan.mode}`));
  const street = streetOf(plan, trip);
  return street ? t('trip.proposal.by', { mode, street }) : t('trip.proposal.way', { mode });
}

/** Old and new value side by side; what is not known of either is left out. */
const COMPARED = [
  ['time', 'time_s', minutes], ['distance', 'distance_m', metres], ['walk', 'walk_m', metres],
  ['pollution', 'pollution', (dose, old) => percent(old ? dose / old : 1)], ['cost', 'cost', kroner],
];

// Of a garage the way is the drive to it.
const value = (plan, field) => ({ time_s: plan.drive_s, distance_m: plan.drive_m }[field] ?? plan[field]);

function rows(proposal) {
  const known = COMPARED.filter(([, field]) => Number.isFinite(proposal.instead?.[field]) && Number.isFinite(value(proposal, field)));
  const told = known.filter(([name, field]) => name !== 'walk' || proposal.instead[field] || value(proposal, field));
  return told.map(([name, field, words]) => h('tr', {}, h('th', { scope: 'row' }, t(`trip.compare.${name}`)),
    ...[proposal.instead[field], value(proposal, field)].map((amount) => h('td', {}, words(amount, proposal.instead[field])))));
}

/** A card for the open proposal of a trip, and the function that brings it up to date. */
export function proposalCard() {
  let trip = null;
  let shown = null;
  const because = h('p', { class: 'trip-because' });
  const name = h('p', { class: 'trip-proposed' });
  const difference = h('p', { class: 'trip-difference' });
  const body = h('tbody');
  const head = h('tr', {}, h('td', {}), h('th', { scope: 'col' }, t('trip.compare.old')), h('th', { scope: 'col' }, t('trip.compare.new')));
  const table = h('table', { class: 'trip-compare' }, h('caption', { class: 'visually-hidden' }, t('trip.compare')), h('thead', {}, head), body);
  const button = (key, primary, act) => h('button', { type: 'button', class: primary ? 'button primary' : 'button', onclick: act }, t(key, { n: SNOOZE_MINUTES }));
  const buttons = [button('trip.accept', true, () => accept(trip)), button('trip.decline', false, () => decline(trip)), button('trip.snooze', false, () => snooze(trip))];
  const others = othersList((option) => accept(trip, option));
  const relaxed = h('p', { class: 'quiet' }, t('trip.relaxed'));
  const element = h('section', { class: 'trip-proposal', 'aria-label': t('trip.proposal') },
    h('h3', {}, h('span', { class: 'badge' }, icon('event')), t('trip.proposal')),
    because, name, difference, relaxed, table, others.element, h('p', { class: 'actions' }, ...buttons));

  function update(current, isOffline) {
    trip = current;
    const proposal = openProposal(trip);
    element.hidden = !proposal;
    for (const each of buttons) each.disabled = isOffline;
    if (!proposal) return;
    setText(because, proposal.because ?? '');
    setText(name, planName(trip, proposal));
    setText(difference, proposal.difference?.text ?? '');
    relaxed.hidden = !proposal.relaxed;
    others.update(proposal.others);
    const compared = rows(proposal);
    table.hidden = compared.length === 0;
    body.replaceChildren(...compared);
    if (shown === proposal.number) return; // It is brought up to date where it stands.
    shown = proposal.number;
    if (!document.activeElement.matches('input, select, textarea')) element.scrollIntoView({ block: 'start' });
  }

  return { element, update };
}

/** What is said to who cannot see the card: all of it, in one go. */
export function proposalWords(trip) {
  const proposal = openProposal(trip);
  return proposal ? [proposal.because, t('trip.proposal'), planName(trip, proposal), proposal.difference?.text].filter(Boolean).join(' ') : '';
}

/** Take back what was accepted: the plan before is followed again. */
export async function undoAccepted(trip) {
  if (await tried(() => trips.answer(trip, 'undo'))) toast(t('trip.undone'));
}

async function attempt(trip, answer, more, said, undo) {
  if (await tried(() => trips.answer(trip, answer, more))) toast(said, { focus: true, undo });
  else await trips.load();
}

function accept(trip, option = 0) {
  const { proposal } = trip;
  const plan = option ? proposal.others[option - 1] : proposal;
  return attempt(trip, 'accept', option ? { option } : {}, t('trip.accepted', { what: planName(trip, plan) }), () => undoAccepted(trip));
}

const decline = (trip) => attempt(trip, 'decline', {}, t('trip.declined'));
const snooze = (trip) => attempt(trip, 'snooze', { minutes: SNOOZE_MINUTES }, t('trip.snoozed', { n: SNOOZE_MINUTES }));
