// What readings mean: the state of a road and of a garage. Map and list both ask here.
const ROAD_OLD_S = 30 * 60;
const GARAGE_OLD_S = 60 * 60;
const FASTEST_KMH = 130; // The free-flow speeds of some roads are implausibly high.
const FEW_SHARE = 0.1;

/** State of a road: free, slow, heavy, jam, old or unknown; with what it follows from. */
export function roadState(place, reading, jam, now) {
  if (!reading) return { state: jam ? 'jam' : 'unknown' };
  const ageS = (now - reading.observedMs) / 1000;
  const known = Boolean(reading.expected) || reading.vehicle_count > 0;
  const free = Math.min(place.free_flow_kmh ?? FASTEST_KMH, FASTEST_KMH);
  const ratio = reading.speed_kmh / free;
  const facts = { ageS, speed: reading.speed_kmh, count: reading.vehicle_count, free, ratio, known, expected: reading.expected };
  if (jam) return { state: 'jam', ...facts };
  if (ageS > ROAD_OLD_S) return { state: 'old', ...facts };
  if (!known) return { state: 'unknown', ...facts };
  if (ratio >= 0.75) return { state: 'free', ...facts };
  return { state: ratio >= 0.5 ? 'slow' : 'heavy', ...facts };
}

/** State of a garage: free, few, full, over or unknown; `old` if the count is. */
export function garageState(place, reading, now) {
  if (!reading) return { state: 'unknown', old: false };
  const { capacity, observedMs } = reading;
  const occupied = reading.occupied ?? capacity - reading.free;
  if (!Number.isFinite(occupied)) return { state: 'unknown', old: false };
  const ageS = (now - observedMs) / 1000;
  const free = Math.max(0, capacity - occupied);
  const facts = { ageS, occupied, capacity, free, old: ageS > GARAGE_OLD_S, expected: reading.expected };
  if (occupied > capacity) return { state: 'over', ...facts };
  if (free === 0) return { state: 'full', ...facts };
  return { state: free <= capacity * FEW_SHARE ? 'few' : 'free', ...facts };
}

/** An air-quality index in a word. */
export const airName = (value) => (value <= 50 ? 'good' : value <= 100 ? 'fair' : value <= 150 ? 'moderate' : 'poor');

/** The fields that a place's readings have for some purposes, by role. */
export const ROAD = { speed_kmh: 'road_speed', vehicle_count: 'road_vehicles' };
export const GARAGE = { capacity: 'total_places', occupied: 'occupied_places', free: 'free_places' };
export const AIR = 'air_index';

/** The worst index of an air reading; what is unknown (null) is none. */
export const worstAir = (reading, names) => Math.max(...names.map((name) => reading[name] ?? 0));

/** The air of the city: the median over all places of each place's worst index. */
export function airIndex(readings, names) {
  const worst = readings.map((reading) => worstAir(reading, names.get(reading.kind))).sort((a, b) => a - b);
  if (!worst.length) return null;
  const value = worst[Math.floor(worst.length / 2)];
  return { value, name: airName(value) };
}
