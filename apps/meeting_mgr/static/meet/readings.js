// What sensors told last, and what of it is worth telling now: what has changed by more than
// chance, and everything every few seconds, as a sign of life.

const LEAST_MS = 1000;
const LIFE_MS = 5000;
const LIVES = 3; // So many signs of life fit into the time after which a sensor is silent.
const USUAL_FRESH_MS = 4000;

/** By how much a value has to change to be news; others are news whenever they change. */
const NEWS = {
  noise_db: 1.5, light_lux: 10, motion_ms2: 0.5, speed_kmh: 2, lat: 0.00005, lon: 0.00005, accuracy_m: 10,
  battery_pct: 1, network_mbps: 0.5,
};

const TOGETHER = [['lat', 'lon', 'accuracy_m']]; // One means nothing without the others.

export class Readings {
  #latest = new Map(); // Of each sensor: `{ values, until }`
  #told = new Map(); // Of each value: `{ value, at }`
  #toldAt = -Infinity;
  #lifeMs = LIFE_MS;

  /** The meeting takes a sensor to be silent after so many seconds. */
  heedSilence(seconds) {
    this.#lifeMs = Math.min(LIFE_MS, (seconds * 1000) / LIVES);
  }

  /** A sensor tells `values` at `now`; they hold for `freshMs`. */
  take(sensor, values, now, freshMs = USUAL_FRESH_MS) {
    this.#latest.set(sensor, { values, until: now + freshMs });
  }

  /** A sensor is no longer shared, or cannot tell: nothing of it may be told any more. */
  drop(sensor) {
    for (const key of Object.keys(this.#latest.get(sensor)?.values ?? {})) this.#told.delete(key);
    this.#latest.delete(sensor);
  }

  /** Whether a sensor has said something that holds at `now`. */
  tells(sensor, now) {
    return (this.#latest.get(sensor)?.until ?? -Infinity) > now;
  }

  /** What is to be told at `now`, or null. */
  due(now) {
    if (now - this.#toldAt < LEAST_MS) return null;
    const all = Object.assign({}, ...[...this.#latest.values()].filter(({ until }) => until > now).map(({ values }) => values));
    const news = new Set(Object.keys(all).filter((key) => this.#isDue(key, all[key], now)));
    for (const group of TOGETHER) if (group.some((key) => news.has(key))) group.forEach((key) => news.add(key));
    return news.size ? Object.fromEntries(Object.entries(all).filter(([key]) => news.has(key))) : null;
  }

  /** These values are on their way. */
  sent(values, now) {
    this.#toldAt = now;
    for (const [key, value] of Object.entries(values)) this.#told.set(key, { value, at: now });
  }

  /** These values never arrived. */
  lost(values) {
    for (const key of Object.keys(values)) this.#told.delete(key);
  }

  #isDue(key, value, now) {
    const told = this.#told.get(key);
    if (!told || now - told.at >= this.#lifeMs) return true;
    return key in NEWS ? Math.abs(value - told.value) >= NEWS[key] : value !== told.value;
  }
}
