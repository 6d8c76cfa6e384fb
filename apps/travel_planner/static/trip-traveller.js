// Where the person is while trips are followed: as this device finds it, or as somebody who
// travels in the city's own time would be, where that time is a recording or a simulation.
import { city } from 'citywise/city.js';
import { trips } from './trip-store.js';
import { pointsOf, Way } from './trip-way.js';

const EVERY_MS = 1000; // Of a simulated traveller.
const LEAST_MS = 2000; // Between two positions that the device tells.
const LEAST_MOVE_S = 1;

/** Where one is on a journey by line at this time of the city: on the legs as they run now. */
function along(legs, planned) {
  const now = city.now();
  const found = legs.findIndex(({ arrives }) => Date.parse(arrives) > now);
  const index = found < 0 ? legs.length - 1 : found;
  const [start, end] = [legs[index].departs, legs[index].arrives].map(Date.parse);
  const points = planned[index].geometry.coordinates;
  if (points.length < 2) return null;
  const way = new Way(points);
  const share = Math.min(1, Math.max(0, (now - start) / Math.max(1, end - start)));
  return { ...way.at(way.length * share), speed_kmh: null };
}

class Traveller extends EventTarget {
  /** `off`, `asking`, `device` or `simulated`. */
  state = 'off';
  /** Key of the string that says why there is no position, or null. */
  problem = null;
  accuracy = null;
  #watch = null;
  #timer = null;
  #sending = false;
  #waiting = null;
  #sentAt = -Infinity;
  #lastMs = null;

  constructor() {
    super();
    trips.addEventListener('change', () => this.state !== 'off' && !trips.followed.length && this.stop());
  }

  /** Whether the city's time is made by a source, so that one can travel in it. */
  get canSimulate() {
    return Boolean(city.clock?.controllable);
  }

  /** Ask the device where it is, from now on. */
  locate() {
    this.stop();
    if (!isSecureContext || !('geolocation' in navigator)) {
      this.#fail('context.unavailable');
      return;
    }
    this.#set('asking');
    this.#watch = navigator.geolocation.watchPosition((found) => this.#found(found),
      ({ code }) => this.#fail(code === GeolocationPositionError.PERMISSION_DENIED ? 'context.denied' : 'context.unfound'),
      { enableHighAccuracy: true, maximumAge: 5000, timeout: 30_000 });
  }

  /** Travel along the first trip's way, in the city's time. */
  simulate() {
    this.stop();
    this.#lastMs = null;
    this.#set('simulated');
    this.#timer = setInterval(() => this.#step(), EVERY_MS);
    this.#step();
  }

  stop() {
    if (this.#watch !== null) navigator.geolocation.clearWatch(this.#watch);
    clearInterval(this.#timer);
    [this.#watch, this.#timer, this.#waiting, this.accuracy, this.problem] = [null, null, null, null, null];
    this.#sentAt = -Infinity;
    this.#set('off');
  }

  #found({ coords: { latitude: lat, longitude: lon, accuracy, heading, speed } }) {
    this.accuracy = accuracy;
    this.problem = null;
    if (this.state !== 'device') this.#set('device');
    this.#tell({
      lat, lon, accuracy_m: Number.isFinite(accuracy) ? accuracy : null,
      heading: Number.isFinite(heading) ? heading : null, speed_kmh: Number.isFinite(speed) ? speed * 3.6 : null,
    });
  }

  // A position that cannot be found once may be found later: the watch goes on.
  #fail(key) {
    if (key !== 'context.unfound') this.stop();
    this.problem = key;
    this.dispatchEvent(new Event('change'));
  }

  #step() {
    const now = city.now();
    const [trip] = trips.followed;
    const seconds = (now - (this.#lastMs ?? now)) / 1000;
    if (!trip || this.#sending || (this.#lastMs !== null && seconds < LEAST_MOVE_S)) return;
    const spot = this.#advance(trip, seconds);
    this.#lastMs = now;
    if (spot) this.#send({ ...spot, accuracy_m: null });
  }

  /** Where one comes to on a trip's way in some seconds, at its own speed. */
  #advance(trip, seconds) {
    if (trip.journey) return along(trip.journey.legs, trip.plan.legs);
    const points = pointsOf(trip);
    if (points.length < 2) return null;
    const way = new Way(points);
    const whole = trip.kind === 'parking' ? trip.plan.drive.time_s : trip.plan.time_s;
    const speed = way.length / Math.max(whole, 1);
    const done = trip.position ? way.nearest([trip.position.lon, trip.position.lat]) + speed * seconds : 0;
    return { ...way.at(Math.min(way.length, done)), speed_kmh: speed * 3.6 };
  }

  /** The newest position, when the one before has arrived and it is time. */
  #tell(position) {
    this.#waiting = position;
    const wait = this.#sentAt + LEAST_MS - performance.now();
    clearTimeout(this.#timer);
    if (wait > 0) this.#timer = setTimeout(() => this.#waiting && this.#tell(this.#waiting), wait);
    else if (!this.#sending) this.#send(position);
  }

  async #send(position) {
    [this.#sending, this.#waiting, this.#sentAt] = [true, null, performance.now()];
    await Promise.all(trips.followed.map((trip) => trips.move(trip, position).catch(() => null)));
    this.#sending = false;
    if (this.#waiting) this.#tell(this.#waiting);
  }

  #set(state) {
    this.state = state;
    this.dispatchEvent(new Event('change'));
  }
}

export const traveller = new Traveller();
