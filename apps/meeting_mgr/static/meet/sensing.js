// The sensors that are shared: started, listened to, told of, and stopped at once when they no
// longer are.
import { Readings } from './readings.js';
import { calibration } from './sensors/calibration.js';
import { offered, SENSORS } from './sensors/index.js';
import { Telling } from './telling.js';

const EVERY_MS = 250;

export class Sensing extends EventTarget {
  offered = null; // Names of what this device has, once that is known.
  problems = new Map(); // Of each sensor that could not be started: `refused` or `failed`.
  isTold = true; // Whether the last message arrived.
  #readings = new Readings();
  #telling;
  #running = new Map(); // Of each sensor a promise of what stops it.
  #timer = null;
  #isSending = false;

  constructor(seat) {
    super();
    this.#telling = new Telling(seat);
  }

  async look() {
    this.offered = await offered();
    this.#changed();
  }

  /** The meeting takes sensors to be silent after so many seconds; until it has said so, nothing changes. */
  heedSilence(seconds) {
    if (seconds) this.#readings.heedSilence(seconds);
  }

  /** Ask what browsers let nobody ask later; call it while a button is being pressed. */
  allow(names) {
    for (const { name, allow } of SENSORS) if (names.includes(name)) allow?.().catch(() => null);
  }

  /** Share exactly these sensors, of those that the device has. */
  share(names) {
    const wanted = SENSORS.filter(({ name }) => names.includes(name) && this.offered?.includes(name));
    for (const name of this.#running.keys()) if (!wanted.some((sensor) => sensor.name === name)) this.#stop(name);
    for (const sensor of wanted) if (!this.#running.has(sensor.name)) this.#start(sensor);
    if (this.#running.size) this.#timer ??= setInterval(() => this.#tell(), EVERY_MS);
    else this.#rest();
  }

  /** Whether a sensor tells something right now. */
  tells(name) {
    return this.#readings.tells(name, performance.now());
  }

  /** Try again what could not be started. */
  again(name) {
    const sensor = SENSORS.find((one) => one.name === name);
    this.allow([name]);
    this.#stop(name);
    this.#start(sensor);
  }

  close() {
    this.share([]);
    this.#telling.close();
  }

  #start(sensor) {
    const { name, freshMs } = sensor;
    const isWanted = () => this.#running.get(name) === starting;
    const tell = (values) => {
      if (!isWanted()) return;
      if (this.problems.delete(name)) this.#changed();
      this.#readings.take(name, values, performance.now(), freshMs);
    };
    const failed = (error) => isWanted() && this.#fail(name, error);
    // One step later, so that it is known to be wanted whatever it tells first.
    const starting = Promise.resolve().then(() => sensor.start(tell, failed)).catch((error) => {
      failed(error);
      return () => null;
    });
    this.#running.set(name, starting);
  }

  #stop(name) {
    this.#running.get(name)?.then((stop) => stop());
    this.#running.delete(name);
    this.#readings.drop(name);
    this.problems.delete(name);
    if (name === 'noise') calibration.silent();
    this.#changed();
  }

  #fail(name, error) {
    const isRefused = error.name === 'NotAllowedError' || error.code === 1;
    this.problems.set(name, isRefused ? 'refused' : 'failed');
    this.#readings.drop(name);
    this.#changed();
  }

  async #tell() {
    const values = this.#isSending ? null : this.#readings.due(performance.now());
    if (!values) return;
    this.#isSending = true;
    this.#readings.sent(values, performance.now());
    const isTold = await this.#telling.tell(values).then(() => true, () => false);
    this.#isSending = false;
    if (!isTold) this.#readings.lost(values);
    if (this.isTold === isTold) return;
    this.isTold = isTold;
    this.#changed();
  }

  #rest() {
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }
}
