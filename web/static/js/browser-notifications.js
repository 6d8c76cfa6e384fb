// Alerts beside the page, where nobody looks at it: each once, however many pages are open.
import { query } from './api.js';
import { wholeText } from './notice-words.js';
import { notices } from './notices.js';
import { t } from './strings.js';
import { user } from './user.js';
import { wishes } from './wishes.js';

const LOOKING = 'citywise-looking'; // Held, shared, by each page that is seen.
const TELLING = 'citywise-telling'; // Held by the page that shows a notification.
const TOLD = 'citywise-told';
const REMEMBERED = 50;

/** How this browser gets alerts with no page open, or null. */
export async function pushedHere() {
  const registration = await navigator.serviceWorker?.getRegistration();
  return (await registration?.pushManager?.getSubscription()) ?? null;
}

// Who comes after in this browser is not told what is another's.
user.whenLeaving(async () => (await pushedHere())?.unsubscribe());

class BrowserNotifications {
  #look = null;
  #isRefused = false;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#hold());
    this.#hold();
    notices.addEventListener('told', ({ detail }) => this.#heard(detail));
    notices.addEventListener('change', () => this.#tidy());
    navigator.serviceWorker?.addEventListener('message', ({ data }) => this.#opened(data));
  }

  /** The browser takes no service worker of ours, as where it does not trust our certificate. */
  refuse() {
    this.#isRefused = true;
    dispatchEvent(new Event('notifications-refused'));
  }

  /** `unsupported`, `insecure`, `untrusted`, `default` (not asked yet), `granted` or `denied`. */
  get state() {
    if (this.#isRefused && location.protocol === 'https:') return 'untrusted';
    if (!isSecureContext) return 'insecure';
    if (!('Notification' in window && navigator.serviceWorker)) return 'unsupported';
    return Notification.permission;
  }

  /** Ask the browser, on a click. */
  async allow() {
    await Notification.requestPermission();
  }

  // A page that is seen says so with a lock that others can ask for.
  #hold() {
    this.#look?.();
    this.#look = null;
    if (document.hidden) return;
    const seen = new Promise((resolve) => (this.#look = resolve));
    navigator.locks?.request(LOOKING, { mode: 'shared' }, () => seen);
  }

  async #heard(notice) {
    if (notice.closed || notice.acknowledged) await this.#take(notice.id);
    else if (notice.alert && this.state === 'granted' && wishes.now?.channels.browser) {
      await navigator.locks.request(TELLING, () => this.#tell(notice));
    } else if (notice.advice && (await this.#shown({ tag: notice.id })).length) {
      await this.#notify(notice, { silent: true });
    }
  }

  async #tell(notice) {
    const { held } = await navigator.locks.query();
    if (held.some(({ name }) => name === LOOKING) || !this.#isNew(notice)) return;
    await this.#notify(notice);
  }

  async #notify(notice, how = {}) {
    const registration = await navigator.serviceWorker.ready;
    await registration.showNotification(notice.title, {
      ...how,
      body: wholeText(notice),
      tag: notice.id,
      lang: document.documentElement.lang,
      icon: document.querySelector('link[rel="apple-touch-icon"]').href,
      actions: [{ action: 'acknowledge', title: t('notice.ack') }, { action: 'snooze', title: t('notification.snooze') }],
      data: { user: user.id, url: notice.advice?.url ?? null },
    });
  }

  /** Whether no page has told this announcement yet. */
  #isNew({ announced }) {
    const told = JSON.parse(localStorage.getItem(TOLD) ?? '[]');
    if (told.includes(announced)) return false;
    localStorage.setItem(TOLD, JSON.stringify([...told, announced].slice(-REMEMBERED)));
    return true;
  }

  async #shown(filter) {
    const registration = await navigator.serviceWorker?.getRegistration();
    return (await registration?.getNotifications(filter)) ?? [];
  }

  async #take(id) {
    for (const notification of await this.#shown({ tag: id })) notification.close();
  }

  /** Take away what has ended, or was answered here, since it was shown. */
  async #tidy() {
    if (!notices.loaded || this.state !== 'granted') return;
    for (const notification of await this.#shown()) {
      if (notification.data?.user !== user.id) continue;
      const notice = notices.find(notification.tag);
      if (!notice || notice.acknowledged || notice.held_because === 'snoozed') notification.close();
    }
  }

  #opened({ type, id, url }) {
    if (type !== 'show-notice') return;
    if (url) location.assign(url);
    else if (document.querySelector('city-notices')) dispatchEvent(new CustomEvent(type, { detail: id }));
    else location.assign(`/list${query({ notice: id })}`);
  }
}

export const browserNotifications = new BrowserNotifications();
