// What apps may know of the person: position, way and activity, as far as anybody told them.
import { ask } from './api.js';
import { city } from './city.js';
import { t } from './strings.js';
import { user } from './user.js';

const SHOWN = ['position', 'route', 'activity'];
const EVERY_MS = 20_000;

class Context extends EventTarget {
  #known = null;
  #asked = 0;

  constructor() {
    super();
    user.addEventListener('change', () => this.load());
    city.addEventListener('connected', () => this.load());
    setInterval(() => document.hidden || this.load(), EVERY_MS);
  }

  /** Call `show` now and whenever it changed; only who follows it makes it ask. */
  follow(show) {
    this.followed = true;
    this.addEventListener('change', show);
    show();
    this.load();
  }

  /** Whether something is known; null where nobody can say. */
  knows(subject) {
    return this.#known && this.#known.includes(subject);
  }

  /** What of `asked` is not known, in words; empty where all is, or nobody can say. */
  missing(asked = []) {
    const names = SHOWN.filter((name) => asked.includes(name) && this.knows(name) === false);
    const list = new Intl.ListFormat(document.documentElement.lang).format(names.map((name) => t(`context.the.${name}`)));
    return names.length ? t('context.missing', { what: list }) : '';
  }

  async load() {
    if (!this.followed) return;
    const { id } = user;
    const asked = ++this.#asked;
    const { known } = id ? await ask(`/users/${id}/context`).catch(() => ({})) : {};
    if (asked === this.#asked && id === user.id) this.#take(known ?? null);
  }

  /** Tell something new (null: forget it); throws as `ask` does. */
  async tell(body) {
    const { id } = user;
    const { told, forgotten } = await ask(`/users/${id}/context`, { method: 'PATCH', body });
    this.#asked += 1; // What was asked for before knows nothing of it.
    const others = (this.#known ?? []).filter((subject) => !forgotten.includes(subject) && !(subject in told));
    if (id === user.id) this.#take([...others, ...Object.keys(told)]);
  }

  #take(known) {
    if (String(known) === String(this.#known) && (known === null) === (this.#known === null)) return;
    this.#known = known;
    this.dispatchEvent(new Event('change'));
  }
}

export const context = new Context();
