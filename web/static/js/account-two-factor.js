// Two-factor sign-in: setting it up with a code to scan, recovery codes, and turning it off.
import { ask } from './api.js';
import { copied } from './copied.js';
import { codeField, passwordField } from './credentials.js';
import { h } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { t } from './strings.js';
import { toast } from './toast.js';
import { user } from './user.js';

const ADDRESS = '/me/two-factor';

customElements.define('account-two-factor', class extends HTMLElement {
  connectedCallback() {
    this.state = h('p', {});
    this.shown = h('div', { role: 'region', 'aria-label': t('twofactor.title'), tabindex: '-1', hidden: true });
    this.asking = h('div', {});
    this.append(this.state, this.shown, this.asking);
    user.follow(() => {
      this.closest('section').hidden = user.isDemo || user.byProvider;
      this.load();
    });
  }

  async load() {
    if (!user.own || user.isDemo || user.byProvider) return;
    const found = await ask(ADDRESS).catch(() => null);
    if (!found) return;
    const waiting = found.needed_for.length ? ` ${t('twofactor.needed', { roles: found.needed_for.map((role) => t(`role.${role}`)).join(', ') })}` : '';
    this.state.textContent = found.on ? t('twofactor.on', { count: found.recovery_left }) : t('twofactor.off') + waiting;
    this.asking.replaceChildren(...(found.on ? [this.#renewing(), this.#ending()] : [this.#beginning()]));
  }

  #beginning() {
    return this.#folded('twofactor.begin', [passwordField()], async (body, form) => {
      const { secret, svg } = await ask(ADDRESS, { method: 'POST', body, again: false });
      form.reset();
      this.#scan(secret, svg);
    });
  }

  #scan(secret, svg) {
    const form = fieldsForm({
      fields: [codeField({ help: t('twofactor.code.help') })],
      submit: t('twofactor.confirm'),
      send: async (body) => this.#codes(await ask(ADDRESS, { method: 'PUT', body, again: false })),
    });
    const drawing = h('img', { class: 'scanned', alt: t('twofactor.scan'), src: `data:image/svg+xml,${encodeURIComponent(svg)}` });
    this.asking.replaceChildren();
    this.#show(h('p', {}, t('twofactor.scan')), drawing, h('dl', {}, copied(t('twofactor.secret'), secret)), form);
  }

  #renewing() {
    return this.#folded('twofactor.renew', [codeField({ help: t('twofactor.code.help') })], async (body) => {
      this.#codes(await ask(`${ADDRESS}/recovery`, { method: 'POST', body, again: false }));
    });
  }

  #ending() {
    return this.#folded('twofactor.end', [codeField({ help: t('twofactor.either') })], async (body) => {
      await ask(ADDRESS, { method: 'DELETE', body, again: false });
      this.shown.hidden = true;
      await this.#changed(t('twofactor.ended'));
    });
  }

  async #codes({ recovery }) {
    this.#show(h('p', {}, t('twofactor.recovery')), h('ul', { class: 'recovery' }, ...recovery.map((code) => h('li', {}, h('code', {}, code)))),
      h('dl', {}, copied(t('twofactor.all'), recovery.join('\n'))));
    await this.#changed(t('twofactor.done'));
  }

  async #changed(said) {
    await user.load();
    await this.load();
    document.querySelector('account-logins')?.load();
    toast(said);
  }

  #show(...parts) {
    this.shown.replaceChildren(...parts);
    this.shown.hidden = false;
    this.shown.focus();
  }

  #folded(key, fields, send) {
    const form = fieldsForm({ fields, submit: t(key), primary: false, send: (body) => send(body, form) });
    return h('details', { class: 'why' }, h('summary', {}, t(key)), form);
  }
});
