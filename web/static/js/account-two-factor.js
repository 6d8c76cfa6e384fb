// Two-factor sign-in: an authenticator app, passkeys, recovery codes, and turning it off.
import { ask } from './api.js';
import { copied } from './copied.js';
import { codeField, passwordField } from './credentials.js';
import { h } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { textField } from './labelled-field.js';
import { hasPasskeys, makePasskey, secondStep } from './passkeys.js';
import { t } from './strings.js';
import { ago } from './times.js';
import { toast } from './toast.js';
import { user } from './user.js';

const ADDRESS = '/me/two-factor';
const PASSKEYS = '/me/passkeys';
const LONGEST_NAME = 60;
const sent = (method, body) => ({ method, body, again: false });

customElements.define('account-two-factor', class extends HTMLElement {
  connectedCallback() {
    this.state = h('p', {});
    this.list = h('ul', { class: 'cards compact' });
    this.shown = h('div', { role: 'region', 'aria-label': t('twofactor.title'), tabindex: '-1', hidden: true });
    this.asking = h('div', {});
    this.append(this.state, this.list, this.shown, this.asking);
    user.follow(() => {
      this.closest('section').hidden = user.isDemo || user.byProvider;
      this.load();
    });
  }

  async load() {
    if (!user.own || user.isDemo || user.byProvider) return;
    const [found, keys] = await Promise.all([ask(ADDRESS), ask(PASSKEYS)]).catch(() => []);
    if (!found) return;
    const waiting = found.needed_for.length ? ` ${t('twofactor.needed', { roles: found.needed_for.map((role) => t(`role.${role}`)).join(', ') })}` : '';
    const isOn = found.on || found.passkeys > 0;
    this.hasKeys = keys.ask !== null && hasPasskeys;
    this.state.textContent = isOn ? t('twofactor.on', { count: found.recovery_left }) : t('twofactor.off') + waiting;
    this.list.replaceChildren(...keys.passkeys.map((key) => this.#item(key)));
    const proof = isOn ? [this.#proof()] : [];
    this.asking.replaceChildren(...[
      hasPasskeys ? this.#adding(proof) : null,
      found.on ? null : this.#beginning(isOn ? [this.#proof()] : []),
      isOn ? this.#renewing() : null,
      found.on ? this.#ending() : null,
    ].filter(Boolean));
  }

  /** The field for a code; left empty, a passkey is asked for, where there is one. */
  #proof() {
    return codeField({ required: !this.hasKeys, help: t(this.hasKeys ? 'passkey.or' : 'twofactor.either') });
  }

  #item({ id, name, used }) {
    const seen = used ? t('device.used', { age: ago((Date.now() - Date.parse(used)) / 1000) }) : t('device.unused');
    const end = this.#folded(t('passkey.remove', { name }), [this.#proof()], async ({ code }) => {
      await ask(`${PASSKEYS}/${id}`, sent('DELETE', await secondStep(code)));
      await this.#changed(t('passkey.removed', { name }));
    });
    const called = this.#folded(t('passkey.rename', { name }), [this.#name(name)], (given) => this.#rename(id, given.name, name));
    return h('li', {}, h('p', {}, h('strong', {}, name), h('span', { class: 'quiet' }, ` ${seen}`)), called, end);
  }

  async #rename(id, name, before) {
    const made = await ask(`${PASSKEYS}/${id}`, { method: 'PATCH', body: { name } });
    await this.#changed(t('passkey.renamed', { name: made.name }), before ? () => this.#rename(id, before) : null);
  }

  /** The field for what a passkey is called. */
  #name(value = '') {
    return textField({ name: 'name', title: t('passkey.name'), help: t('passkey.name.help'), value, maxlength: LONGEST_NAME, autocomplete: 'off' });
  }

  #adding(proof) {
    const name = this.#name();
    return this.#folded(t('passkey.add'), [name, passwordField(), ...proof], async (given) => {
      const asked = await ask(PASSKEYS, sent('POST', { password: given.password, ...(proof.length ? await secondStep(given.code) : {}) }));
      const made = await ask(PASSKEYS, sent('PUT', { name: given.name, passkey: await makePasskey(asked) }));
      if (made.recovery) await this.#codes(made);
      else await this.#changed(t('passkey.added', { name: made.name }));
    });
  }

  #beginning(proof) {
    return this.#folded(t('twofactor.begin'), [passwordField(), ...proof], async ({ password, code }, form) => {
      const { secret, svg } = await ask(ADDRESS, sent('POST', { password, ...(proof.length ? await secondStep(code) : {}) }));
      form.reset();
      this.#scan(secret, svg);
    });
  }

  #scan(secret, svg) {
    const form = fieldsForm({
      fields: [codeField({ help: t('twofactor.code.help') })],
      submit: t('twofactor.confirm'),
      send: async (body) => this.#codes(await ask(ADDRESS, sent('PUT', body))),
    });
    const drawing = h('img', { class: 'scanned', alt: t('twofactor.scan'), src: `data:image/svg+xml,${encodeURIComponent(svg)}` });
    this.asking.replaceChildren();
    this.#show(h('p', {}, t('twofactor.scan')), drawing, h('dl', {}, copied(t('twofactor.secret'), secret)), form);
  }

  #renewing() {
    return this.#folded(t('twofactor.renew'), [this.#proof()], async ({ code }) => {
      await this.#codes(await ask(`${ADDRESS}/recovery`, sent('POST', await secondStep(code))));
    });
  }

  #ending() {
    return this.#folded(t('twofactor.end'), [this.#proof()], async ({ code }) => {
      await ask(ADDRESS, sent('DELETE', await secondStep(code)));
      this.shown.hidden = true;
      await this.#changed(t('twofactor.ended'));
    });
  }

  async #codes({ recovery }) {
    this.#show(h('p', {}, t('twofactor.recovery')), h('ul', { class: 'recovery' }, ...recovery.map((code) => h('li', {}, h('code', {}, code)))),
      h('dl', {}, copied(t('twofactor.all'), recovery.join('\n'))));
    await this.#changed(t('twofactor.done'));
  }

  async #changed(said, undo = null) {
    await user.load();
    await this.load();
    document.querySelector('account-logins')?.load();
    toast(said, { undo, focus: undo !== null });
  }

  #show(...parts) {
    this.shown.replaceChildren(...parts);
    this.shown.hidden = false;
    this.shown.focus();
  }

  #folded(title, fields, send) {
    const form = fieldsForm({ fields, submit: title, primary: false, send: (body) => send(body, form) });
    return h('details', { class: 'why' }, h('summary', {}, title), form);
  }
});
