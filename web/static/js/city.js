// The city as it is known here: one source of data for the map and the lists.
import { breath, inSlices } from './slices.js';
import { EventStream } from './stream.js';
import { user } from './user.js';

const API = '/api/v1';
const SHOW_EVERY_MS = 200;
const TICK_MS = 1000;
const OFFLINE_AFTER_MS = 10_000;
const RETRY_MS = 3000;
const LONGEST_GUESS_S = 5; // How far the clock runs on without hearing from the server.
const KEPT_ENDED = 1000;
const LOAD_ANYWAY_MS = 1500;
const JAM = 'TrafficJam';

/** An event with its times in ms. */
export const dated = (event) => ({
  ...event,
  startMs: Date.parse(event.start),
  confirmedMs: Date.parse(event.confirmed),
  endMs: event.end ? Date.parse(event.end) : null,
});

class City extends EventTarget {
  places = new Map();
  events = new Map();
  kinds = new Map(); // Of observations, as their files say.
  placeKinds = new Map();
  clock = null;
  state = 'connecting'; // live, reconnecting, offline
  loaded = false;
  failed = false;
  moment = null; // Another time than now that is looked at (`moments.js`).
  heardAt = null; // Wall time of the newest data, in ms.
  #live = new Map();
  #shown = 0;
  #timer = null;
  #isBehind = false; // Something has changed since it was begun to be shown.
  #shownNow = 0;
  #brokenAt = null;
  #loading = false;
  #jams = new Map();
  #asked = new Set();
  #askTimer = null;
  #followers = [];
  #showing = Promise.resolve();
  #having = new Map();
  #carrying = new Map();

  async start() {
    await user.load(); // The stream is theirs.
    this.stream = new EventStream(
      (name, data, id) => this.#receive(name, data, id),
      (state) => this.#connection(state),
    );
    // The stream's first message loads the rest; without a stream there may be kept data.
    setTimeout(() => this.loaded || this.load(), LOAD_ANYWAY_MS);
    setInterval(() => this.#tick(), TICK_MS);
    addEventListener('offline', () => this.#connection('reconnecting'));
  }

  /** Call `show` now and whenever something changed, at most five times a second. One that returns
      an iterator is taken through it in slices. */
  follow(show) {
    this.#followers.push(show);
    const steps = show();
    if (steps?.next) this.#show(steps);
  }

  /** Resolves once everybody has shown what there is now. */
  get shown() {
    return this.#showing;
  }

  // One after the other, so that nobody is shown anything older after the newer.
  #show(steps) {
    return (this.#showing = this.#showing.then(() => inSlices(steps)).catch(reportError));
  }

  *#everywhere() {
    for (const show of this.#followers) {
      try {
        const steps = show();
        if (steps?.next) yield* steps;
      } catch (error) {
        reportError(error); // It keeps nobody else from being shown.
      }
      yield;
    }
  }

  /** Stream time in ms, run on from the last the server said. */
  now() {
    if (!this.clock) return Date.now();
    const { nowMs, speed, untilMs, heard } = this.clock;
    const elapsed = Math.min((performance.now() - heard) / 1000, LONGEST_GUESS_S);
    let now = nowMs + elapsed * 1000 * (speed ?? 0);
    if (untilMs) now = Math.min(now, Math.max(untilMs, nowMs));
    // A report that was late on its way must not turn the clock back.
    const back = this.#shownNow - now;
    if (back > 0 && back < 5000 * Math.max(speed ?? 1, 1)) return this.#shownNow;
    return (this.#shownNow = now);
  }

  /** The time that is looked at: now, or another. */
  time() {
    return this.moment?.atMs ?? this.now();
  }

  /** Show another time, or (null) now again. */
  lookAt(moment) {
    this.moment = moment;
    this.#changed();
  }

  get readings() {
    return this.moment?.readings ?? this.#live;
  }

  reading(kind, placeId) {
    return this.readings.get(`${kind}/${placeId}`);
  }

  /** The names of fields that fill a role, by kind. */
  having(role) {
    if (this.#having.has(role)) return this.#having.get(role);
    const found = [];
    for (const { kind, fields } of this.kinds.values()) {
      const names = Object.keys(fields).filter((name) => fields[name].role === role);
      if (names.length) found.push([kind, names]);
    }
    this.#having.set(role, found);
    return found;
  }

  /** Whether a place is of a kind that carries a kind which fills a role. */
  carries(place, role) {
    if (!this.#carrying.has(role)) {
      this.#carrying.set(role, new Set(this.having(role).flatMap(([kind]) => this.kinds.get(kind).places)));
    }
    return this.#carrying.get(role).has(place.kind);
  }

  /** A place's newest reading of a kind that fills the first of some roles, its values by
      the names that `roles` gives them. */
  told(placeId, roles) {
    const [first] = Object.values(roles);
    let newest;
    for (const [kind] of this.having(first)) {
      const reading = this.reading(kind, placeId);
      if (reading && !(newest?.observedMs > reading.observedMs)) newest = reading;
    }
    if (!newest) return undefined;
    const { fields } = this.kinds.get(newest.kind);
    const field = (role) => Object.keys(fields).find((name) => fields[name].role === role);
    return { observedMs: newest.observedMs, expected: newest.expected, ...Object.fromEntries(Object.entries(roles).map(([name, role]) => [name, newest[field(role)]])) };
  }

  openEvents() {
    return this.moment?.events ?? this.#openNow();
  }

  jamAt(placeId) {
    if (!this.moment) return this.#jams.get(placeId);
    return this.moment.events.find(({ type, place }) => type === JAM && place.id === placeId);
  }

  async load() {
    if (this.#loading) return;
    this.#loading = true;
    try {
      const { kinds, places, readings, events, clock } = await this.#get('/city');
      this.#having.clear();
      this.#carrying.clear();
      this.kinds = new Map(kinds.kinds.map((kind) => [kind.kind, kind]));
      this.placeKinds = new Map(kinds.places.map((kind) => [kind.place, kind]));
      this.#setClock(clock);
      for (const feature of places.features) {
        this.places.set(feature.id, { ...feature.properties, geometry: feature.geometry });
      }
      this.#addReadings(readings.readings);
      this.#onlyOpen(events);
      this.loaded = true;
      this.failed = false;
      this.dispatchEvent(new Event('loaded'));
    } catch {
      this.failed = true;
      setTimeout(() => this.load(), RETRY_MS);
    } finally {
      this.#loading = false;
    }
    this.#changed();
  }

  /** Load events that ended since `fromMs`. */
  async loadEnded(fromMs) {
    const from = encodeURIComponent(new Date(fromMs).toISOString());
    const { events } = await this.#get(`/events?open=false&from=${from}`);
    events.forEach((event) => this.#addEvent(event));
    this.#changed();
  }

  async #get(path) {
    const response = await fetch(API + path, { headers: { Accept: 'application/json' } });
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    const kept = response.headers.get('X-Citywise-Kept');
    const at = kept ? Date.parse(kept) : Date.now();
    this.heardAt = Math.max(this.heardAt ?? 0, at);
    return response.json();
  }

  #receive(name, data, id) {
    this.heardAt = Date.now();
    if (name === 'hello' || name === 'reset') {
      if (name === 'reset') this.events.forEach((event) => (event.announced = 0));
      this.load(); // Readings carry no id: those sent meanwhile were missed.
      this.dispatchEvent(new Event('connected'));
    } else if (name === 'clock') {
      this.#setClock(data);
    } else if (name === 'readings') {
      this.#addReadings(data.readings);
    } else if (name === 'notice' || name === 'trip') {
      this.dispatchEvent(new CustomEvent(name, { detail: { ...data, announced: id } }));
    } else {
      const added = this.#addEvent(data, id);
      if (added && name === 'event.withdrawn') this.events.delete(data.id);
      if (added) this.dispatchEvent(new CustomEvent(name, { detail: added }));
    }
    this.#changed();
  }

  #setClock(clock) {
    const parse = (text) => (text ? Date.parse(text) : null);
    this.clock = {
      ...clock,
      nowMs: parse(clock.now),
      startMs: parse(clock.start),
      untilMs: parse(clock.until),
      heard: performance.now(),
    };
  }

  #addReadings(readings) {
    for (const reading of readings) {
      const key = `${reading.kind}/${reading.place_id}`;
      const observedMs = Date.parse(reading.observed_at);
      if ((this.#live.get(key)?.observedMs ?? -Infinity) > observedMs) continue;
      this.#live.set(key, { ...reading, observedMs });
      if (this.loaded && !this.places.has(reading.place_id)) this.#askFor(reading.place_id);
    }
  }

  // A place that was described after the page was loaded.
  #askFor(placeId) {
    if (this.#asked.has(placeId)) return;
    this.#asked.add(placeId);
    clearTimeout(this.#askTimer);
    this.#askTimer = setTimeout(() => this.load(), RETRY_MS);
  }

  // Snapshots and announcements may overtake each other; the later state of an event wins,
  // as one that was ended by hand may be open again.
  #addEvent(event, announced = 0) {
    const known = this.events.get(event.id);
    const before = known?.announced ?? 0;
    const next = { ...dated(event), announced: Math.max(announced, before) };
    if (announced < before && (announced || next.endMs === null)) return null;
    if (announced === before && known?.confirmedMs > next.confirmedMs && next.endMs === null) return null;
    this.events.delete(event.id);
    this.events.set(event.id, next);
    this.#indexJam(next);
    this.#forgetOldest();
    return next;
  }

  #indexJam(event) {
    if (event.type !== JAM) return;
    if (event.endMs === null) this.#jams.set(event.place.id, event);
    else if (this.#jams.get(event.place.id)?.id === event.id) this.#jams.delete(event.place.id);
  }

  #forgetOldest() {
    if (this.events.size < 2 * KEPT_ENDED) return;
    const ended = [...this.events.values()].filter((event) => event.endMs !== null);
    for (const event of ended.slice(0, -KEPT_ENDED)) this.events.delete(event.id);
  }

  // A snapshot of what is open also says what is not: that has ended while we were away.
  #onlyOpen({ events, position }) {
    const open = new Set(events.map((event) => event.id));
    for (const event of this.#openNow()) {
      if (!open.has(event.id) && event.announced <= position) {
        this.events.delete(event.id);
        this.#indexJam({ ...event, endMs: 0 });
      }
    }
    events.forEach((event) => this.#addEvent(event, position));
  }

  #openNow() {
    return [...this.events.values()].filter((event) => event.endMs === null);
  }

  #connection(state) {
    if (state === 'live') this.#brokenAt = null;
    else this.#brokenAt ??= Date.now();
    if (this.state === state || (this.state === 'offline' && state !== 'live')) return;
    this.state = state;
    this.#changed();
  }

  #tick() {
    const broken = this.#brokenAt && Date.now() - this.#brokenAt > OFFLINE_AFTER_MS;
    if (this.state !== 'live' && (broken || !navigator.onLine)) this.state = 'offline';
    this.#changed();
  }

  #changed() {
    this.#isBehind = true;
    if (this.#timer) return;
    const wait = Math.max(0, this.#shown + SHOW_EVERY_MS - performance.now());
    this.#timer = setTimeout(async () => {
      this.#isBehind = false;
      this.dispatchEvent(new Event('change'));
      await breath();
      await this.#show(this.#everywhere());
      this.#timer = null;
      this.#shown = performance.now();
      if (this.#isBehind) this.#changed();
    }, wait);
  }
}

export const city = new City();
