// What a person lets apps know of them: each kind of context, and for how long it is kept.
import { ask } from './api.js';
import { user } from './user.js';

export const SUBJECTS = ['position', 'route', 'activity', 'preferences'];

class Consents extends EventTarget {
  #known = null;
  #asked = 0;
  #loading = null;
  usualHours = null;

  constructor() {
    super();
    user.addEventListener('change', () => this.#asked && this.load());
  }

  /** Call `show` now and whenever it changed; only who follows it makes it ask. */
  follow(show) {
    this.addEventListener('change', show);
    show();
    if (!this.#asked) this.load();
  }

  /** `{subject, given, since, hours}`, or null while nobody can say. */
  of(subject) {
    return this.#known?.find((consent) => consent.subject === subject) ?? null;
  }

  /** Whether a kind may be told, as far as anybody can say; test persons need no consent. */
  async allows(subject) {
    await this.#loading;
    return user.testPerson !== null || this.of(subject)?.given !== false;
  }

  load() {
    return (this.#loading = this.#load());
  }

  async #load() {
    const { own } = user;
    const asked = ++this.#asked;
    const answer = own ? await ask('/me/consents').catch(() => null) : null;
    if (asked !== this.#asked || own !== user.own) return; // A later answer, or somebody else.
    this.usualHours = answer?.hours ?? null;
    this.#take(answer?.consents ?? null);
  }

  /** Give or withdraw; throws as `ask` does. */
  async change(subject, given, hours = this.of(subject)?.hours ?? null) {
    await ask(`/me/consents/${subject}`, { method: 'PUT', body: { given, hours } });
    await this.load();
  }

  #take(known) {
    this.#known = known;
    this.dispatchEvent(new Event('change'));
  }
}

export const consents = new Consents();
