// What one does on a way, in order: the walk to the street, each turn with its arrow, the walk from it.
import { h, icon } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { metres } from './measures.js';

const FIRST = 12;
const LEAST_WALK_M = 5; // So near to a street one is on it.

/** The arrow of a turn; those to the left are those to the right in a mirror. */
const ARROWS = {
  depart: 'up', straight: 'up', 'slight-right': 'slight', right: 'turn', 'sharp-right': 'sharp',
  'slight-left': 'slight', left: 'turn', 'sharp-left': 'sharp', back: 'back', roundabout: 'roundabout',
};

const arrow = (turn) => {
  const drawn = icon(ARROWS[turn] ?? 'up');
  drawn.toggleAttribute('data-mirrored', turn.endsWith('left') || turn === 'back');
  return drawn;
};

/** What one does where a step begins; `turn` is missing in what was kept long ago. */
export function turnWords({ name, turn = 'straight', exit }) {
  return t(`plan.turn.${turn}${name ? '' : '.unnamed'}`, { street: name, exit: exit ?? '' });
}

const row = (symbol, words, m) => h('li', {}, symbol, h('span', { class: 'step-name' }, words), h('span', { class: 'quiet' }, metres(m)));

/** One step as a row: its arrow, what one does, how far one then goes. */
export const stepRow = (step) => row(arrow(step.turn ?? 'straight'), turnWords(step), step.distance_m);

const walkRow = (m, words) => (m > LEAST_WALK_M ? [row(icon('walk'), words, m)] : []);

/** All of a way; `to` is what is reached: of a drive to a garage the garage. */
export function directions(steps, access, to) {
  if (!steps.length) return null;
  const rows = [
    ...walkRow(access?.from_m, t('plan.walk.to', { street: steps[0].name ?? t('plan.walk.street') })),
    ...steps.map(stepRow),
    ...walkRow(access?.to_m, t('plan.walk.from')),
    h('li', {}, icon('flag'), h('span', { class: 'step-name' }, t('plan.arrive.at', { place: to })), h('span', {})),
  ];
  const rest = rows.length - FIRST - 1;
  const shown = rest > 0 ? rows.slice(0, FIRST) : rows;
  return h('div', {}, h('h4', {}, t('plan.steps')), h('ol', { class: 'steps' }, ...shown),
    rest > 0 ? h('details', { class: 'why' }, h('summary', {}, t('plan.steps.more', { count: rest + 1 })), h('ol', { class: 'steps', start: FIRST + 1 }, ...rows.slice(FIRST))) : null);
}

const at = ({ lat, lon }) => [lat, lon];
const apart = ([lat, lon], [otherLat, otherLon]) => Math.hypot(lat - otherLat, (lon - otherLon) * Math.cos((lat * Math.PI) / 180)) * 111_320;

/** The walks from a place to a line on the streets and from it to another, as lines of [lat, lon]. */
export function walksOf(line, from, to) {
  const walks = [from && [at(from), line[0]], to && [line.at(-1), at(to)]];
  return line.length ? walks.filter((walk) => walk && apart(...walk) > LEAST_WALK_M) : [];
}
