// What is asked of the planners: as the page holds it, as an address, and as the API takes it.
import { written } from 'citywise/point-field.js';

export const TRAVEL = 'travel';
export const PARKING = 'parking';

/** What may be wished for in each planner, the best direction of each. */
export const WISHES = {
  [TRAVEL]: { time: 'minimise', distance: 'minimise', pollution: 'minimise', cost: 'minimise', walk: 'minimise' },
  [PARKING]: { walk: 'minimise', cost: 'minimise', free: 'maximise', time: 'minimise', pollution: 'minimise' },
};

/** What may be limited in each. */
export const LIMITS = {
  [TRAVEL]: ['time', 'distance', 'cost', 'walk', 'pollution', 'air'],
  [PARKING]: ['walk', 'cost', 'free', 'time', 'distance'],
};

export const OPERATORS = ['<=', '<', '=', '>', '>='];
export const MODES = ['car', 'bicycle', 'walk'];
/** By timetable, beside the ways on streets. */
export const TRANSIT = 'transit';
export const ALTERNATIVES = 4;
const DEFAULTS = { stay: 120, radius: 800 };
const ME = 'me';
const ARRIVE = 'arrive';
const LIMIT = /^([a-z]+)(<=|>=|<|>|=)(-?\d+(?:\.\d+)?)$/;

/** A request that asks for nothing yet. */
export const blank = (kind) => ({
  kind, from: null, to: null, mode: null, when: null, isArrival: false, limits: [], ...DEFAULTS,
  wishes: [kind === PARKING ? 'walk' : 'time'],
});

const place = ({ lat, lon }) => ({ lat, lon });

/** The path and body that ask the API for it. */
export function asked(request) {
  const { kind, from, to, mode, when, isArrival, wishes, limits, stay, radius } = request;
  const time = when === null ? null : new Date(when).toISOString();
  // By line, who wishes to be fast wishes to be there first: what counts unless something is wished.
  const isUsual = mode === TRANSIT && String(wishes) === 'time';
  const common = {
    constraints: limits.map(({ on, op, value }) => ({ on, op, value })),
    preferences: isUsual ? [] : wishes.map((wish) => ({ [WISHES[kind][wish]]: wish })),
  };
  const body = kind === PARKING
    ? { destination: to && place(to), from: from && place(from), arrive: time, stay_minutes: stay, radius_m: radius, ...common }
    : { from: from && place(from), to: to && place(to), mode, [isArrival ? 'arrive' : 'depart']: time, alternatives: ALTERNATIVES, ...common };
  return { path: `/plans/${kind}`, body };
}

/** The request with the limits of an answer's relaxation, and with its radius where that is what helps. */
export const relaxed = (request, { then }) => ({
  ...request,
  limits: then.constraints.map(({ on, op, value }) => ({ on, op, value })),
  radius: then.radius_m ?? request.radius,
});

function putPoint(values, name, point) {
  if (!point) return;
  values.set(name, point.isMe ? ME : `${point.lat.toFixed(6)},${point.lon.toFixed(6)}`);
  if (point.name && !point.isMe) values.set(`${name}_name`, point.name);
}

function takePoint(values, name) {
  const text = values.get(name);
  if (text === ME) return { isMe: true };
  const point = written(text ?? '');
  return point && { ...point, name: values.get(`${name}_name`) ?? point.name };
}

/** The query that carries a request; what is as usual is left out, and where one is oneself. */
export function toQuery(request) {
  const usual = blank(request.kind);
  const values = new URLSearchParams();
  if (request.kind === PARKING) values.set('for', PARKING);
  putPoint(values, 'from', request.from);
  putPoint(values, 'to', request.to);
  if (request.mode) values.set('mode', request.mode);
  if (request.when !== null) values.set('at', new Date(request.when).toISOString());
  if (request.when !== null && request.isArrival) values.set('by', ARRIVE);
  if (String(request.wishes) !== String(usual.wishes)) values.set('wishes', request.wishes.join(','));
  for (const { on, op, value } of request.limits) values.append('limit', `${on}${op}${value}`);
  if (request.kind === PARKING) {
    if (request.stay !== usual.stay) values.set('stay', request.stay);
    if (request.radius !== usual.radius) values.set('radius', request.radius);
  }
  const text = String(values);
  return text ? `?${text}` : '';
}

const limitOf = (kind) => (text) => {
  const [, on, op, value] = text.match(LIMIT) ?? [];
  return LIMITS[kind].includes(on) ? [{ on, op, value: Number(value) }] : [];
};

const within = (text, least, most, usual) => {
  const value = Number(text ?? NaN);
  return value >= least && value <= most ? value : usual;
};

/** The request that a query carries; what it does not say, or wrongly, is as usual. */
export function fromQuery(query) {
  const values = new URLSearchParams(query);
  const kind = values.get('for') === PARKING ? PARKING : TRAVEL;
  const request = blank(kind);
  const wishes = values.get('wishes')?.split(',').filter((wish) => wish in WISHES[kind]);
  const when = Date.parse(values.get('at') ?? '');
  return {
    ...request,
    from: takePoint(values, 'from'),
    to: takePoint(values, 'to'),
    mode: [...MODES, TRANSIT].includes(values.get('mode')) ? values.get('mode') : null,
    when: Number.isFinite(when) ? when : null,
    isArrival: kind === TRAVEL && Number.isFinite(when) && values.get('by') === ARRIVE,
    wishes: wishes ? [...new Set(wishes)] : request.wishes,
    limits: values.getAll('limit').flatMap(limitOf(kind)),
    stay: within(values.get('stay'), 1, 7 * 24 * 60, request.stay),
    radius: within(values.get('radius'), 100, 10_000, request.radius),
  };
}
