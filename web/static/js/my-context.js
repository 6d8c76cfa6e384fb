// What apps know of the person, and telling them where that is.
import { wrong } from './api.js';
import { consents } from './consents.js';
import { context } from './context.js';
import { h, setText } from './elements.js';
import { t } from './strings.js';
import { user } from './user.js';

const SUBJECTS = ['position', 'route', 'activity'];
const WAIT_MS = 20_000;

/** Where this device is; rejects with the key of the string that says why not. */
export const whereIAm = () => new Promise((resolve, reject) => {
  if (!isSecureContext || !('geolocation' in navigator)) reject('context.unavailable');
  else {
    navigator.geolocation.getCurrentPosition(resolve,
      ({ code }) => reject(code === GeolocationPositionError.PERMISSION_DENIED ? 'context.denied' : 'context.unfound'),
      { timeout: WAIT_MS, maximumAge: 60_000, enableHighAccuracy: true });
  }
});

customElements.define('my-context', class extends HTMLElement {
  connectedCallback() {
    this.states = SUBJECTS.map((subject) => ({ subject, value: h('dd') }));
    this.locate = h('button', { type: 'button', class: 'button', onclick: () => this.#start() }, t('context.tell'));
    this.forget = h('button', { type: 'button', class: 'link', onclick: () => this.#tell({ position: null }, 'context.forgotten') }, t('context.forget'));
    this.said = h('p', { role: 'status' });
    this.how = h('p', { class: 'quiet' });
    this.agree = h('button', { type: 'button', class: 'button primary', onclick: () => this.#agree() }, t('consent.agree'));
    this.offer = h('div', { class: 'offer', hidden: true }, h('p', {}, t('consent.position.for')),
      h('p', { class: 'actions' }, this.agree, h('a', { href: '/account#consents' }, t('consent.all'))));
    this.append(
      h('dl', { class: 'facts' }, ...this.states.map(({ subject, value }) => h('div', {}, h('dt', {}, t(`context.${subject}`)), value))),
      h('p', { class: 'actions' }, this.locate, this.forget), this.offer, this.said,
      h('details', { class: 'why' }, h('summary', {}, t('context.phone')), this.how));
    context.follow(() => this.#show());
    consents.follow(() => this.#show());
    user.addEventListener('change', () => {
      setText(this.said, '');
      this.offer.hidden = true;
      this.#show();
    });
  }

  #show() {
    this.parentElement.hidden = user.id === null;
    this.forget.hidden = !context.knows('position');
    setText(this.how, t('context.phone.how', { user: user.id ?? '' }));
    for (const { subject, value } of this.states) {
      const known = context.knows(subject);
      setText(value, known === null ? '…' : t(known ? 'context.known' : 'context.unknown'));
    }
  }

  /** Without consent it is asked for here and now, before the browser is asked anything. */
  async #start() {
    if (await consents.allows('position')) await this.#locate();
    else this.#offer();
  }

  #offer() {
    this.offer.hidden = false;
    this.agree.focus();
  }

  async #agree() {
    try {
      await consents.change('position', true);
    } catch (error) {
      setText(this.said, wrong(error));
      return;
    }
    this.offer.hidden = true;
    this.locate.focus();
    await this.#locate();
  }

  async #locate() {
    setText(this.said, t('context.looking'));
    try {
      const { coords: { latitude: lat, longitude: lon, heading } } = await whereIAm();
      await this.#tell({ position: { lat, lon, heading: Number.isFinite(heading) ? heading : null } }, 'context.told', { lat, lon });
    } catch (key) {
      setText(this.said, t(key));
    }
  }

  async #tell(body, key, { lat, lon } = {}) {
    try {
      await context.tell(body);
      setText(this.said, t(key, { lat: lat?.toFixed(4), lon: lon?.toFixed(4) }));
    } catch (error) {
      setText(this.said, wrong(error));
      if (error.kind === 'no-consent') {
        this.#offer();
        return;
      }
    }
    if (!this.forget.isConnected || this.forget.hidden) this.locate.focus();
  }
});
