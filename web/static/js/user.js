// Who the person is: an account that is logged in, the demo's user, or nobody.
import { ask, asker } from './api.js';

const NOBODY = { user: null, name: null, roles: [], means: 'nobody', csrf: null, sign_up: 'closed', provider: null, passwords: true, by_provider: false, writes: false };
const RECENT_PLACES = 'citywise-recent-places';
const TEST_PERSON = 'citywise-test-person';
const DEVELOPING = 'citywise-developing';
const RETRY_MS = 3000;
const LEFT = 'left'; // What other pages are told where somebody logs out.

/** What a test person's name looks like. */
export const NAME = '[A-Za-z0-9][A-Za-z0-9_.:\\-]{0,63}';

const others = new BroadcastChannel('citywise-login');

class User extends EventTarget {
  #me = NOBODY;
  #asking = null;
  #leaving = [];
  loaded = false;

  constructor() {
    super();
    others.addEventListener('message', ({ data }) => this.#heard(data));
    addEventListener('pageshow', (event) => event.persisted && this.load());
  }

  /** For whom the page asks and acts: oneself, or a developer's test person; null: nobody. */
  get id() {
    return this.testPerson ?? this.#me.user;
  }

  /** The id of the account, whoever is acted for. */
  get own() {
    return this.#me.user;
  }

  get name() {
    return this.#me.name;
  }

  get isDemo() {
    return this.#me.means === 'demo';
  }

  /** `open`, `invited` or `closed`. */
  get signUp() {
    return this.#me.sign_up;
  }

  /** What the provider of identities is called where people can log in, or null. */
  get provider() {
    return this.#me.provider;
  }

  /** Whether people can log in with passwords, too. */
  get passwords() {
    return this.#me.passwords;
  }

  /** Whether people are written to by e-mail here. */
  get writes() {
    return this.#me.writes;
  }

  /** Whether the provider vouched for this login. */
  get byProvider() {
    return this.#me.by_provider;
  }

  has(role) {
    return this.#me.roles.includes(role);
  }

  /** Whether somebody sees how the city runs, and may set its clock. */
  get isOperating() {
    return this.has('admin') || this.has('developer');
  }

  /** Whether a developer wants to see what is for developers, on this device. */
  get isDeveloping() {
    return this.has('developer') && localStorage.getItem(DEVELOPING) !== null;
  }

  set isDeveloping(isOn) {
    if (isOn) localStorage.setItem(DEVELOPING, '');
    else localStorage.removeItem(DEVELOPING);
    this.dispatchEvent(new Event('change'));
  }

  /** A made-up person that a developer acts for, or null. */
  get testPerson() {
    return this.isDeveloping ? sessionStorage.getItem(TEST_PERSON) : null;
  }

  set testPerson(name) {
    if (name) sessionStorage.setItem(TEST_PERSON, name);
    else sessionStorage.removeItem(TEST_PERSON);
    this.dispatchEvent(new Event('change'));
  }

  /** Call `show` now and whenever the person is another. */
  follow(show) {
    this.addEventListener('change', show);
    show();
  }

  /** Call `work` too where somebody logs out in this page, which waits for what it returns. */
  whenLeaving(work) {
    this.#leaving.push(work);
  }

  /** Ask who it is; several questions at once are one. */
  load() {
    return (this.#asking ??= this.#load().finally(() => (this.#asking = null)));
  }

  async #load() {
    try {
      this.#take(await ask('/me', { again: false }));
    } catch (error) {
      if (error.status) this.#take(NOBODY);
      else setTimeout(() => this.load(), RETRY_MS);
    }
  }

  #take(me) {
    const before = JSON.stringify({ ...this.#me, csrf: null });
    this.#me = { ...NOBODY, ...me };
    asker.csrf = this.#me.csrf;
    const isNew = !this.loaded || JSON.stringify({ ...this.#me, csrf: null }) !== before;
    this.loaded = true;
    if (isNew) this.dispatchEvent(new Event('change'));
  }

  /** With name and password, or by another way in. */
  async logIn(credentials, path = '/login') {
    await ask(path, { method: 'POST', body: credentials, again: false });
    await this.#changed();
  }

  /** Make an account, and be logged in with it. */
  async signUpAs(credentials) {
    await ask('/accounts', { method: 'POST', body: credentials, again: false });
    await this.load();
    const { name, password } = credentials;
    if (this.own === null || this.isDemo) await this.logIn({ name, password });
    else await this.#changed();
  }

  async logOut() {
    const { leave } = await ask('/login', { method: 'DELETE' });
    await this.leave();
    return leave ?? '/';
  }

  /** Keep nothing of the person on this device. */
  async leave() {
    sessionStorage.removeItem(TEST_PERSON);
    localStorage.removeItem(RECENT_PLACES);
    const isOut = Promise.allSettled(this.#leaving.map(async (work) => work()));
    others.postMessage(LEFT);
    await isOut;
    await forgetOnDevice();
    await this.load();
  }

  /** Another page logged in, or out: then this one dispatches `left`. */
  #heard(word) {
    if (word === LEFT) this.dispatchEvent(new Event(LEFT));
    this.load();
  }

  async #changed() {
    await this.load();
    others.postMessage('changed');
  }
}

/** Clear what the browser kept: pages and answers, and notifications that still stand. */
async function forgetOnDevice() {
  if ('caches' in window) await caches.delete('citywise-data');
  const registration = await navigator.serviceWorker?.getRegistration();
  for (const notification of (await registration?.getNotifications()) ?? []) notification.close();
}

export const user = new User();
