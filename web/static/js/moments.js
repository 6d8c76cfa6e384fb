// Other times than now: what was measured then, what is expected, and what is usual.
import { ask, query } from './api.js';
import { city, dated } from './city.js';

const FRESH_MS = 60_000;
const MOST_KEPT = 60;
const kept = new Map(); // Answers of the last minute: a slider is moved to and fro.

async function asked(address) {
  const known = kept.get(address);
  if (known && performance.now() - known.at < FRESH_MS) return known.answer;
  const answer = await ask(address);
  kept.delete(address);
  kept.set(address, { answer, at: performance.now() });
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  return answer;
}

const iso = (ms) => new Date(ms).toISOString();

/** A moment of which nothing is known (yet). */
export const nothing = (atMs) => ({ atMs, readings: new Map(), events: [], noEvents: 'moment.nothing' });

/** What was measured last before a time, and the events that were open. */
export async function past(atMs) {
  const [{ kinds }, { events }] = await Promise.all([
    asked(`/history/moment${query({ at: iso(atMs) })}`),
    asked(`/history/events${query({ from: iso(atMs), until: iso(atMs + 1) })}`),
  ]);
  const readings = new Map();
  for (const [kind, { fields, places }] of Object.entries(kinds)) {
    for (const [place, [ageS, ...values]] of Object.entries(places)) {
      const said = Object.fromEntries(fields.map((name, index) => [name, values[index]]));
      readings.set(`${kind}/${place}`, { kind, place_id: place, observedMs: atMs - ageS * 1000, ...said });
    }
  }
  return { atMs, readings, events: events.map(dated), noEvents: 'moment.noevents' };
}

/** What is expected at a time, or (by `usual`) what is usual then. */
export async function expected(atMs, by) {
  const { roads, garages, events } = await asked(`/expected${query({ at: iso(atMs), usual: by === 'usual' && 'true' })}`);
  const readings = new Map();
  const put = (placeId, role, told, more) => {
    const sensors = city.places.get(placeId)?.sensors ?? [];
    const [kind] = city.having(role).find(([name]) => sensors.includes(name)) ?? city.having(role)[0] ?? [];
    if (!kind) return;
    const { fields } = city.kinds.get(kind);
    const named = Object.entries(told).map(([of, value]) => [Object.keys(fields).find((name) => fields[name].role === of), value]);
    readings.set(`${kind}/${placeId}`, { kind, place_id: placeId, observedMs: atMs, expected: { by, ...more }, ...Object.fromEntries(named) });
  };
  for (const [id, speed] of Object.entries(roads)) put(id, 'road_speed', { road_speed: speed });
  for (const [id, { free, capacity, ...range }] of Object.entries(garages)) {
    put(id, 'occupied_places', { occupied_places: capacity - free, total_places: capacity }, range);
  }
  const lasting = events.map((id) => city.events.get(id)).filter((event) => event?.endMs === null);
  return { atMs, readings, events: lasting, noEvents: 'moment.unforeseen' };
}
