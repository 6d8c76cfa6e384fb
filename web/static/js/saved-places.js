// The places a person saved: home, work, and others; asked for where they are first needed.
import { ask } from './api.js';
import { t } from './strings.js';
import { user } from './user.js';

class SavedPlaces extends EventTarget {
  #all = [];
  #asked = null; // Whose they are, and what was asked.

  constructor() {
    super();
    user.addEventListener('change', () => this.#asked && this.#asked.own !== user.own && this.load());
  }

  /** All of them; those that cannot be had are none. */
  load() {
    const { own } = user;
    if (this.#asked?.own !== own) {
      const answer = own ? ask('/me/places').then(({ places }) => places, () => []) : Promise.resolve([]);
      this.#asked = { own, answer: answer.then((places) => (own === user.own ? this.#take(places) : this.load())) };
    }
    return this.#asked.answer;
  }

  async home() {
    return (await this.load()).find(({ kind }) => kind === 'home') ?? null;
  }

  /** Keep a place, in place of one that is called the same; throws as `ask` does. */
  async save({ kind = 'other', name, lat, lon }) {
    const others = (await this.load()).filter((old) => old.kind !== kind || (kind === 'other' && old.name !== name));
    await this.put([...others, { kind, name, lat, lon }]);
  }

  /** Keep these and no others; throws as `ask` does. */
  async put(places) {
    this.#take((await ask('/me/places', { method: 'PUT', body: { places } })).places);
    this.#asked = { own: user.own, answer: Promise.resolve(this.#all) };
  }

  #take(places) {
    const order = ['home', 'work', 'other'];
    this.#all = [...places].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
    this.dispatchEvent(new Event('change'));
    return this.#all;
  }
}

export const savedPlaces = new SavedPlaces();

/** A saved place as one that can be chosen: *Home*, with its address as detail. */
export const asPoint = ({ kind, name, lat, lon }) => ({
  lat, lon, name: kind === 'other' ? name : t(`plan.kind.${kind}`), detail: kind === 'other' ? '' : name,
});
