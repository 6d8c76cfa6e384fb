// Asking for another password, and where the link for it leads.
import { ask } from './api.js';
import { nameField, passwordField } from './credentials.js';
import { h } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { takeSecret } from './link-secret.js';
import { t } from './strings.js';
import { user } from './user.js';

const LONGEST = 254;

customElements.define('reset-password', class extends HTMLElement {
  connectedCallback() {
    const secret = takeSecret();
    this.said = h('p', { role: 'status', tabindex: '-1' });
    this.form = secret ? this.#choosing(secret) : this.#asking();
    this.append(this.said, this.form, h('p', { class: 'quiet' }, h('a', { href: '/log-in' }, t('reset.back'))));
    user.follow(() => {
      if (this.isDone) return;
      const isOff = user.loaded && !user.writes;
      this.form.hidden = isOff;
      this.said.textContent = isOff ? t('mail.off') : t(secret ? 'reset.choose' : 'reset.explain');
    });
  }

  #asking() {
    return fieldsForm({
      fields: [nameField({ title: t('reset.name'), maxlength: LONGEST })],
      submit: t('reset.send'),
      send: async (body) => {
        const { minutes } = await ask('/password-reset', { method: 'POST', body, again: false });
        this.#done(t('reset.sent', { minutes }));
      },
    });
  }

  #choosing(secret) {
    return fieldsForm({
      fields: [passwordField({ title: t('account.newpassword'), isNew: true, help: t('person.password.help') })],
      submit: t('account.changepassword'),
      send: async ({ password }) => {
        await ask('/password-reset', { method: 'PUT', body: { secret, password }, again: false });
        this.#done(t('reset.done'));
      },
    });
  }

  #done(text) {
    this.isDone = true;
    this.form.hidden = true;
    this.said.textContent = text;
    this.said.focus();
  }
});
