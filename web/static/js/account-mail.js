// Where one is written to, and which alerts come there.
import { ask } from './api.js';
import { allApps } from './catalogue.js';
import { passwordField } from './credentials.js';
import { attempt } from './doing.js';
import { h, setText } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { labelledField, textField } from './labelled-field.js';
import { t } from './strings.js';
import { tickedField } from './ticked-field.js';
import { toast } from './toast.js';
import { user } from './user.js';
import { wishes } from './wishes.js';

const LONGEST = 254;
const LEVELS = [1, 2, 3, 4, 5];
const USUAL = 3;

/** From which importance on, as words. */
function levelField() {
  const input = h('select', {}, ...LEVELS.map((level) => h('option', { value: level }, t(`threshold.${level}`))));
  const field = labelledField({ name: 'from', title: t('threshold.title'), input });
  return { ...field, value: () => Number(input.value), set: (level) => (input.value = level), focus: () => input.focus(), check: () => true };
}

customElements.define('account-mail', class extends HTMLElement {
  #asking = null;

  connectedCallback() {
    this.state = h('p', { role: 'status' });
    this.removal = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#remove() }, t('mail.remove'));
    this.giving = h('details', { class: 'why', hidden: true });
    this.which = h('div', { hidden: true });
    this.append(this.state, h('p', { class: 'actions' }, this.removal), this.giving, this.which);
    user.follow(() => this.load());
    wishes.follow(() => this.#showWhich());
  }

  async load() {
    if (!user.own) return;
    this.now = await ask('/me/mail').catch(() => null);
    if (!this.now) return;
    const { available, address, wanted, error } = this.now;
    this.giving.hidden = !available;
    this.removal.hidden = !address && !wanted;
    setText(this.state, this.#words());
    this.state.classList.toggle('missing', Boolean(error));
    if (!this.giving.children.length) this.giving.append(h('summary', {}), this.#form());
    this.giving.querySelector('summary').textContent = t(address || wanted ? 'mail.change' : 'mail.give');
    this.#showWhich();
  }

  #words() {
    const { available, address, wanted, error, sender } = this.now;
    const fails = error ? t('mail.failing', { error }) : '';
    const said = [address && t('mail.at', { address }), available && wanted && t('mail.waits', { address: wanted, sender }), fails, !available && t('mail.off')];
    return said.filter(Boolean).join(' ') || t('mail.none');
  }

  #form() {
    const password = passwordField({ required: this.now.asks_password });
    password.element.hidden = !password.input.required;
    const form = fieldsForm({
      fields: [textField({ name: 'address', type: 'email', title: t('mail.address'), maxlength: LONGEST, autocomplete: 'email' }), password],
      submit: t('mail.send'),
      primary: false,
      send: async ({ address, password: given }) => {
        await ask('/me/mail', { method: 'PUT', body: { address, ...(given ? { password: given } : {}) }, again: false });
        form.reset();
        this.giving.open = false;
        toast(t('mail.sent', { address }));
        await this.load();
      },
    });
    return form;
  }

  async #remove() {
    await attempt(() => ask('/me/mail', { method: 'DELETE' }), t('mail.removed'));
    await this.load();
  }

  // Which alerts come by e-mail, once there is an address.
  async #showWhich() {
    this.which.hidden = !(wishes.now && this.now?.available && this.now.address);
    if (this.which.hidden) return;
    await (this.#asking ??= this.#choosing());
    const chosen = wishes.now?.channels.email ?? null;
    this.box.checked = chosen !== null;
    this.form.hidden = chosen === null;
    if (!chosen) return;
    this.level.set(chosen.from);
    this.apps.set(chosen.apps ?? this.all);
  }

  async #choosing() {
    const found = (await allApps()).filter(({ templates }) => templates.some(({ notices }) => notices.length));
    this.all = found.map(({ name }) => name);
    const titles = new Map(found.map(({ name, title }) => [name, title]));
    this.level = levelField();
    this.apps = tickedField({ name: 'apps', title: t('mail.apps'), values: this.all, words: (name) => titles.get(name), ticked: this.all });
    this.box = h('input', { type: 'checkbox', role: 'switch', onchange: () => this.#keep(this.box.checked ? { from: USUAL, apps: null } : null) });
    this.form = fieldsForm({
      fields: [this.level, this.apps],
      submit: t('wishes.save'),
      primary: false,
      send: ({ from, apps }) => this.#keep({ from, apps: apps.length === this.all.length ? null : apps }),
    });
    this.which.append(h('label', { class: 'tick' }, this.box, t('channel.email')), h('p', { class: 'quiet' }, t('channel.email.help', { count: this.now.per_hour })), this.form);
  }

  async #keep(email) {
    await attempt(() => wishes.change({ channels: { ...wishes.now.channels, email } }), t('wishes.saved'));
    this.#showWhich();
  }
});
