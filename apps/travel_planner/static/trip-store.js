// The trips the person follows: one source for the panel, the map and the traveller.
import { ask } from 'citywise/api.js';
import { city } from 'citywise/city.js';
import { user } from 'citywise/user.js';
import { drop, keep, kept } from './trip-kept.js';

const RETRY_MS = 3000;
const LOAD_ANYWAY_MS = 1500;
const OWN_MOVES_MS = 3000; // A move that this page told comes back as an announcement.

const path = (trip, rest = '') => `/trips/${encodeURIComponent(trip.id)}${rest}`;

class Trips extends EventTarget {
  loaded = false;
  isOffline = false; // What is shown is what was kept, or heard last, at `keptAt`.
  keptAt = null;
  #known = new Map();
  #asked = 0;
  #soon = null;
  #heard = null; // State of the connection when it was looked at last.
  #movedAt = -Infinity;

  constructor() {
    super();
    city.addEventListener('trip', ({ detail }) => this.#hear(detail));
    city.addEventListener('connected', () => this.load());
    city.addEventListener('change', () => this.#listen());
    user.addEventListener('change', () => this.#forget());
  }

  /** Call `show` now and whenever something changed. */
  follow(show) {
    this.addEventListener('change', show);
    show();
    this.load();
  }

  /** Those that are followed, the newest first. */
  get followed() {
    return [...this.#known.values()].filter(({ state }) => state === 'following').sort((a, b) => b.created.localeCompare(a.created));
  }

  /** Those that have ended within the last day, the newest first. */
  get earlier() {
    return [...this.#known.values()].filter(({ state }) => state !== 'following').sort((a, b) => b.updated.localeCompare(a.updated));
  }

  /** Start a trip with a choice of a plan, or go on with one that ended; throws as `ask` does. */
  async start(body) {
    const { trip, ended } = await ask('/trips', { method: 'POST', body });
    this.#asked += 1; // A list that was asked for before knows nothing of it.
    if (ended) this.#take(ended);
    this.#take(trip);
    this.#changed();
    return { trip, ended };
  }

  /** Tell where one is: `{lat, lon}` and what more is known. */
  async move(trip, position) {
    this.#movedAt = performance.now();
    await this.#send(path(trip, '/position'), { method: 'PUT', body: position });
  }

  /** Answer the open proposal: `accept`, `decline`, `snooze`, or `undo`. */
  answer(trip, answer, more = {}) {
    const number = answer === 'undo' ? {} : { number: trip.proposal?.number };
    return this.#send(path(trip, '/proposal'), { method: 'POST', body: { answer, ...number, ...more } });
  }

  end(trip) {
    return this.#send(path(trip), { method: 'DELETE' });
  }

  async load() {
    const asked = ++this.#asked;
    clearTimeout(this.#soon);
    if (!user.loaded) await user.load(); // Who it is, they are theirs; where nobody answers it goes on too.
    if (asked !== this.#asked) return;
    if (!user.id && user.loaded) {
      this.#changed();
      return;
    }
    try {
      const { trips } = await ask('/trips');
      if (asked !== this.#asked) return;
      this.#known = new Map(trips.map((trip) => [trip.id, trip]));
      [this.isOffline, this.keptAt, this.loaded] = [false, null, true];
      this.#changed();
    } catch (error) {
      if (asked === this.#asked) await this.#without(error);
    }
  }

  // What is shown of a trip is old as soon as nobody tells of it.
  #listen() {
    if (city.state === 'offline' && this.#heard !== 'offline') this.load();
    this.#heard = city.state;
  }

  /** Nobody answers: what was kept is shown, and asked for again. */
  async #without(error) {
    if (error.status) return;
    const before = this.loaded ? null : await kept('trips');
    if (before) this.#known = new Map(before.value.map((trip) => [trip.id, trip]));
    this.isOffline = true;
    this.keptAt ??= before?.at ?? city.heardAt;
    this.dispatchEvent(new Event('change'));
    setTimeout(() => this.load(), RETRY_MS);
  }

  async #hear({ trip, change }) {
    if (change === 'moved' && performance.now() - this.#movedAt < OWN_MOVES_MS) return;
    await this.#send(path({ id: trip })).catch(() => null);
    this.dispatchEvent(new Event(change));
  }

  async #send(address, how) {
    const { trip } = await ask(address, how);
    this.#take(trip);
    this.#changed();
    return trip;
  }

  // Answers may overtake each other: the later state of a trip wins.
  #take(trip) {
    const known = this.#known.get(trip.id);
    if (!known || known.updated <= trip.updated) this.#known.set(trip.id, trip);
  }

  #forget() {
    this.#known.clear();
    this.loaded = false;
    this.#asked += 1;
    // Their stream asks as soon as it is connected.
    if (user.id) this.#soon = setTimeout(() => this.load(), LOAD_ANYWAY_MS);
    else this.load();
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
    if (this.isOffline) return;
    const { followed } = this;
    (followed.length ? keep('trips', followed) : drop('trips')).catch(() => null);
  }
}

export const trips = new Trips();
