// How a person wishes to be told: what the server keeps, for all who show or change it.
import { ask, query } from './api.js';
import { user } from './user.js';

class Wishes extends EventTarget {
  /** As the server has them; null while nobody can say. */
  now = null;
  #asked = 0;

  constructor() {
    super();
    user.addEventListener('change', () => this.load());
  }

  follow(show) {
    this.addEventListener('change', show);
    show();
  }

  isMuted({ app, notice }) {
    return Boolean(this.now?.muted.some((kind) => kind.app === app && kind.notice === notice));
  }

  async load() {
    const { id } = user;
    const asked = ++this.#asked;
    const found = id ? await ask(this.#path()).catch(() => null) : null;
    if (asked === this.#asked && id === user.id) this.#take(found);
  }

  /** Change some of them; throws as `ask` does. */
  async change(some) {
    const changed = await ask(this.#path(), { method: 'PATCH', body: some });
    this.#asked += 1; // What was asked for before knows nothing of it.
    this.#take(changed);
    this.dispatchEvent(new Event('saved')); // What is open is decided anew by them.
  }

  async mute({ app, notice }) {
    await this.change({ muted: [...this.#without({ app, notice }), { app, notice }] });
  }

  async unmute(kind) {
    await this.change({ muted: this.#without(kind) });
  }

  #without({ app, notice }) {
    return this.now.muted.filter((kind) => kind.app !== app || kind.notice !== notice);
  }

  #path() {
    return `/me/wishes${user.testPerson ? query({ user: user.testPerson }) : ''}`;
  }

  #take(found) {
    this.now = found;
    this.dispatchEvent(new Event('change'));
  }
}

export const wishes = new Wishes();
