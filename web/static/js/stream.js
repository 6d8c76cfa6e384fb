// A connection to an event stream; the city's is one that all components share.
import { query } from './api.js';
import { user } from './user.js';

const ADDRESS = '/api/v1/events/stream';
const NAMES = [
  'hello', 'reset', 'event.opened', 'event.updated', 'event.cleared', 'event.corrected',
  'event.withdrawn', 'notice', 'trip', 'readings', 'clock',
];
const LONGEST_WAIT_MS = 15_000;

/**
 * Calls `onMessage(name, data, id)`, and `onState` with live or reconnecting; resumes by id.
 * `address` and `names` are of another stream than the city's.
 */
export class EventStream {
  #lastId = null;
  #wait = 1000;
  #source = null;
  #timer = null;

  constructor(onMessage, onState, { address = ADDRESS, names = NAMES } = {}) {
    this.onMessage = onMessage;
    this.onState = onState;
    this.address = address;
    this.names = names;
    addEventListener('online', () => this.open());
    user.addEventListener('change', () => this.open());
    addEventListener('pagehide', () => this.close());
    addEventListener('pageshow', (event) => event.persisted && this.open());
    this.open();
  }

  open() {
    this.close();
    const wanted = query({ last_event_id: this.#lastId, user: this.address === ADDRESS && user.id });
    this.#source = new EventSource(this.address + wanted);
    this.#source.addEventListener('error', () => this.#failed());
    for (const name of this.names) {
      this.#source.addEventListener(name, (message) => this.#received(name, message));
    }
  }

  close() {
    clearTimeout(this.#timer);
    this.#source?.close();
  }

  #received(name, message) {
    if (message.lastEventId) this.#lastId = message.lastEventId;
    this.#wait = 1000;
    this.onState('live');
    this.onMessage(name, JSON.parse(message.data), Number(message.lastEventId));
  }

  // A browser reconnects by itself after a broken connection, but gives up on a refusal: the
  // login may be over.
  #failed() {
    this.onState('reconnecting');
    if (this.#source.readyState !== EventSource.CLOSED) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => user.load().then(() => this.open()), this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }
}
