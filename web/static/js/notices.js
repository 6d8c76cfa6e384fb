// The open notices to the person: one source for cards, lists, the announcer and notifications.
import { ask, query } from './api.js';
import { city } from './city.js';
import { language } from './strings.js';
import { user } from './user.js';
import { wishes } from './wishes.js';

const RETRY_MS = 3000;
const WITHOUT_ALERT = ['quiet-hours', 'cool-down']; // These hold back news, not what was told before.

class Notices extends EventTarget {
  loaded = false;
  #open = new Map();
  #asked = 0;
  #meanwhile = null; // Announcements that come while a snapshot is asked for.

  constructor() {
    super();
    city.addEventListener('notice', (event) => this.#take(event.detail));
    city.addEventListener('connected', () => this.#load());
    city.addEventListener('loaded', () => this.dispatchEvent(new Event('change')));
    user.addEventListener('change', () => this.#forget());
    wishes.addEventListener('saved', () => this.#load());
    wishes.addEventListener('change', () => this.dispatchEvent(new Event('change')));
  }

  /** Call `show` now and whenever something changed. */
  follow(show) {
    this.addEventListener('change', show);
    show();
  }

  /** Open notices that are not held back, the most critical first, then the newest. */
  list() {
    return this.#all().filter((notice) => heldBecause(notice) === null);
  }

  /** Open notices that are held back, but for those for which another of their event stands. */
  held() {
    return this.#all().filter((notice) => ![null, 'same-event'].includes(heldBecause(notice)));
  }

  of(instance) {
    return this.#all().filter((notice) => notice.instance === instance);
  }

  find(id) {
    return this.#open.get(id) ?? null;
  }

  /** Acknowledge, snooze or take that back: `act` is `acknowledge` or `snooze`. */
  async act(notice, act, method, body) {
    const changed = await ask(`/notices/${encodeURIComponent(notice.id)}/${act}${query({ lang: language })}`, { method, body });
    this.#keep({ ...notice, ...changed, announced: notice.announced });
    this.dispatchEvent(new Event('change'));
  }

  #all() {
    return [...this.#open.values()].sort((a, b) =>
      b.criticality - a.criticality || Date.parse(b.opened) - Date.parse(a.opened));
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
    this.dispatchEvent(new CustomEvent('told', { detail: notice }));
    this.dispatchEvent(new Event('change'));
  }

  #keep(notice) {
    if (notice.closed) this.#open.delete(notice.id);
    else this.#open.set(notice.id, notice);
  }
}

/** Why a notice is held back, or null; what was muted or unmuted just now counts at once. */
export function heldBecause(notice) {
  const { held_because: because, criticality, alerted } = notice;
  if (wishes.isMuted(notice)) return 'muted';
  if (wishes.now && criticality < wishes.now.threshold) return 'below-threshold';
  if (wishes.now && ['muted', 'below-threshold'].includes(because)) return null;
  if (because === 'acknowledged' || (alerted && WITHOUT_ALERT.includes(because))) return null;
  return because ?? null;
}

export const notices = new Notices();
