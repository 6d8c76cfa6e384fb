// Where links in letters lead: an address that is somebody's, and another password.
import { ask, wrong } from './api.js';
import { nameField, passwordField } from './credentials.js';
import { h } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { t } from './strings.js';
import { user } from './user.js';

const LONGEST = 254;

/** The secret in the address of the page, which other pages, that hold none, must not look for. */
function takeSecret() {
  const secret = location.hash.slice(1);
  // Nobody who looks at this screen, or at where the browser has been, shall use it.
  if (secret) history.replaceState(history.state, '', location.pathname);
  // A link that is opened where its page is open already changes nothing but what stands behind the #.
  addEventListener('hashchange', () => location.hash && location.reload());
  return secret;
}

customElements.define('verify-address', class extends HTMLElement {
  connectedCallback() {
    const secret = takeSecret();
    const said = h('p', { role: 'status' }, t(secret ? 'mail.verify.ask' : 'fault.link-over'));
    const confirm = h('button', { type: 'button', class: 'button primary', hidden: !secret, onclick: async () => {
      try {
        const { address } = await ask('/mail/verified', { method: 'POST', body: { secret }, again: false });
        said.textContent = t('mail.verified', { address });
      } catch (error) {
        said.textContent = error.errors?.[0]?.message ?? wrong(error);
      }
      confirm.remove();
    } }, t('mail.verify.do'));
    this.append(said, h('p', { class: 'actions' }, confirm), h('p', { class: 'quiet' }, h('a', { href: '/account#mail' }, t('mail.settings'))));
  }
});

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
