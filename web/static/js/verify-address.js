// Where the link leads that shows an address to be somebody's.
import { ask, wrong } from './api.js';
import { h } from './elements.js';
import { takeSecret } from './link-secret.js';
import { t } from './strings.js';

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
