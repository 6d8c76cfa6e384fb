// The open notices to the person: one source for cards, lists and the announcer.
import { ask, query } from './api.js';
import { city } from './city.js';
import { language } from './strings.js';
import { user } from './user.js';

const RETRY_MS = 3000;

class Notices extends EventTarget {
  loaded = false;
  #open = new Map();
  #asked = 0;
  #meanwhile = null; // Announcements that come while a snapshot is asked for.

  constructor() {
    super();
    city.addEventListener('notice', (event) => this.#take(event.detail));
    city.addEventListener('connected', () => this.#load());
    user.addEventListener('change', () => this.#forget());
  }

  /** Call `show` now and whenever something changed. */
  follow(show) {
    this.addEventListener('change', show);
    show();
  }

  /** Open notices, the most critical first, then the newest. */
  list() {
    return [...this.#open.values()].sort((a, b) =>
      b.criticality - a.criticality || Date.parse(b.opened) - Date.parse(a.opened));
  }

  of(instance) {
    return this.list().filter((notice) => notice.instance === instance);
  }

  #forget() {
    this.#asked += 1;
    this.#open.clear();
    this.loaded = false;
    this.dispatchEvent(new Event('change'));
  }

  async #load() {
    if (!user.id) return;
    const asked = ++this.#asked;
    this.#meanwhile = [];
    try {
      const wanted = { user: user.id, open: true, limit: 500, lang: language };
      const snapshot = await ask(`/notices${query(wanted)}`);
      if (asked !== this.#asked) return; // Another user, or a later snapshot.
      this.#open = new Map(snapshot.notices.map((notice) => [notice.id, notice]));
      for (const notice of this.#meanwhile) {
        if (notice.announced > snapshot.position) this.#keep(notice);
      }
      this.#meanwhile = null;
      this.loaded = true;
      this.dispatchEvent(new Event('change'));
    } catch {
      setTimeout(() => asked === this.#asked && this.#load(), RETRY_MS);
    }
  }

  #take(told) {
    if (told.user !== user.id) return;
    const notice = { ...told, ...told.translations[language] };
    this.#meanwhile?.push(notice);
    this.#keep(notice);
    this.dispatchEvent(new CustomEvent(notice.change, { detail: notice }));
    this.dispatchEvent(new Event('change'));
  }

  #keep(notice) {
    if (notice.closed) this.#open.delete(notice.id);
    else this.#open.set(notice.id, notice);
  }
}

export const notices = new Notices();
