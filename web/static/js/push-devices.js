// Alerts in this browser where no page of the city is open, and which browsers get them.
import { ask, wrong } from './api.js';
import { agentName } from './account-logins.js';
import { pushedHere } from './browser-notifications.js';
import { attempt, button, tried } from './doing.js';
import { h, setText } from './elements.js';
import { t } from './strings.js';
import { ago } from './times.js';
import { user } from './user.js';

const PATH = '/me/push';
const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));

customElements.define('push-devices', class extends HTMLElement {
  connectedCallback() {
    this.state = h('p', { class: 'quiet', role: 'status' });
    this.here = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#begin() }, t('push.here'));
    this.list = h('ul', { class: 'cards compact' });
    this.append(this.state, this.here, this.list);
    user.follow(() => this.load());
  }

  async load() {
    if (!user.own) return;
    const found = await ask(PATH).catch(() => null);
    if (!found) return;
    this.key = found.key;
    const own = await pushedHere();
    const name = own && (await idOf(own.endpoint));
    const isOn = found.browsers.some(({ id }) => id === name);
    // It was given by who was here before, or removed from elsewhere.
    if (own && !isOn) await tried(() => own.unsubscribe());
    this.here.hidden = !('PushManager' in window) || isOn;
    setText(this.state, 'PushManager' in window ? (isOn ? t('push.on') : '') : t('push.unsupported'));
    this.list.replaceChildren(...found.browsers.map((browser) => this.#item(browser)));
  }

  #item({ id, agent, last_success: last, error }) {
    const name = agentName(agent);
    const said = error ? t('push.failing', { error }) : last ? t('device.used', { age: ago((Date.now() - Date.parse(last)) / 1000) }) : t('device.unused');
    return h('li', { 'data-browser': id }, h('div', { class: 'line' }, h('p', {}, h('strong', {}, name), h('span', { class: 'quiet' }, ` ${said}`)),
      button(t('device.remove'), () => this.#remove(id, name), { label: `${t('device.remove')}: ${name}` })));
  }

  async #begin() {
    if ((await Notification.requestPermission()) !== 'granted') {
      setText(this.state, t('channel.state.denied'));
      return;
    }
    const registration = await navigator.serviceWorker.ready;
    let taken = null;
    try {
      taken = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(this.key) });
      await ask(PATH, { method: 'POST', body: taken.toJSON() });
    } catch (error) {
      await taken?.unsubscribe();
      // The browser asks its maker's push service, which may be away or not allowed here.
      setText(this.state, taken ? wrong(error) : t('push.unreachable'));
      return;
    }
    await this.load();
  }

  async #remove(id, name) {
    const own = await pushedHere();
    await attempt(() => ask(`${PATH}/${id}`, { method: 'DELETE' }), t('device.removed', { label: name }));
    if (own && (await idOf(own.endpoint)) === id) await tried(() => own.unsubscribe());
    await this.load();
  }
});

/** What the server calls a browser. */
async function idOf(endpoint) {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint));
  const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `w-${hex.slice(0, 32)}`;
}
