// One meeting as somebody sees it: one source for their page; what they do goes through here.
import { ask } from 'citywise/api.js';
import { EventStream } from 'citywise/stream.js';

const RETRY_MS = 3000;
const LATE_MS = 10_000; // No answer is overtaken by one so much later.

/** Whether a meeting, of its view, is still to come or runs. */
export const isOpen = ({ state }) => state === 'planned' || state === 'running';

/** The path of a meeting in the API. */
export const pathOf = (id, rest = '') => `/meetings/${encodeURIComponent(id)}${rest}`;

/** Dispatches `view` with each view, and `change` whenever it, or how it is connected, is another. */
export class MeetingStore extends EventTarget {
  view = null;
  connection = 'connecting'; // or live, reconnecting
  error = null; // Why there is nothing to show.
  #ahead = 0; // How far the server's clock is ahead of the device's, in milliseconds.
  #isFollowing = false;
  #retry = null;
  #heard = -Infinity; // When the last view was made, by the server's clock.

  /** The meeting `id` as its host sees it, or as what `own` names below it does. */
  constructor(id, own = '') {
    super();
    this.id = id;
    this.own = own;
  }

  start() {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    const address = `/api/v1${pathOf(this.id, `${this.own}/events`)}`;
    new EventStream((name, data) => this.#receive(name, data), (state) => this.#connected(state), { address, names: ['hello', 'reset', 'meeting'] });
    this.load();
  }

  /** The meeting's time, in milliseconds. */
  now = () => Date.now() + this.#ahead;

  /** Call `show` now and whenever something changed. */
  follow(show) {
    this.addEventListener('change', show);
    show();
  }

  person(id) {
    return this.view.people.find((person) => person.id === id);
  }

  item(id) {
    return this.view.agenda.find((item) => item.id === id);
  }

  async load() {
    try {
      this.#take(await ask(pathOf(this.id, this.own)));
    } catch (error) {
      if (!error.status) {
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => this.load(), RETRY_MS);
        return;
      }
      this.error = error;
      this.#changed();
    }
  }

  /** What the host does in the meeting; throws as `ask` does. */
  act(what, more = {}) {
    return this.send('/actions', { method: 'POST', body: { do: what, ...more } });
  }

  /** Change what is planned; refused where it has changed since it was read. */
  change(fields, version = this.view.version) {
    return this.send('', { method: 'PATCH', body: { version, ...fields } });
  }

  /** Call the meeting off, perhaps with those of its series that follow; `change({ state: 'planned' })` restores it. */
  cancel(isFollowing = false) {
    return this.send(isFollowing ? '?following=true' : '', { method: 'DELETE' });
  }

  /** Remove the meeting and all that is kept of it: there is no way back. */
  remove() {
    return this.send('?forever=true', { method: 'DELETE' });
  }

  /** The host's word on what a person can do: `{speak: 'on' | 'off' | null}`. */
  override(person, words) {
    return this.send(`/people/${person}/overrides`, { method: 'PUT', body: words });
  }

  /** `accept`, `decline` or `undo` a proposal. */
  answer(number, answer, option = null) {
    return this.send(`/proposals/${number}`, { method: 'POST', body: { answer, ...(option === null ? {} : { option }) } });
  }

  decide(text, item) {
    return this.send('/decisions', { method: 'POST', body: { text, ...(item ? { item } : {}) } });
  }

  /** Send something about the meeting; an answer that is a view is taken. */
  async send(rest, how) {
    const view = await ask(pathOf(this.id, rest), how);
    this.#take(view);
    return view;
  }

  #receive(name, data) {
    if (name === 'meeting' && data.meeting) this.#take(data.meeting);
    else this.load(); // What happened in between was missed.
  }

  #connected(state) {
    if (state === 'reconnecting') this.load(); // A stream does not say why it is refused.
    if (this.connection === state) return;
    this.connection = state;
    this.#changed();
  }

  // Answers and messages may overtake each other: the later view wins.
  #take(view) {
    const made = Date.parse(view?.now);
    const isLate = made < this.#heard && this.#heard - made < LATE_MS; // Else the clock was put back.
    if (Number.isNaN(made) || isLate) return;
    this.#heard = made;
    this.#ahead = made - Date.now();
    this.error = null;
    this.view = view;
    this.dispatchEvent(new Event('view'));
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }
}
