// Who one is at the provider of identities: linking that to the account, and taking it away.
import { ask, wrong } from './api.js';
import { h } from './elements.js';
import { t } from './strings.js';
import { ago } from './times.js';
import { toast } from './toast.js';
import { user } from './user.js';

customElements.define('account-identities', class extends HTMLElement {
  connectedCallback() {
    this.list = h('ul', { class: 'cards compact' });
    this.append(this.list, h('p', { class: 'actions' }, h('a', { class: 'button', href: '/sign-in?link&next=/account' }, t('identity.link'))));
    user.follow(() => {
      this.closest('section').hidden = user.isDemo || !user.provider;
      this.load();
    });
  }

  async load() {
    if (!user.own || user.isDemo || !user.provider) return;
    const { identities } = await ask('/me/identities').catch(() => ({ identities: [] }));
    this.list.replaceChildren(...identities.map((identity) => this.#item(identity)));
  }

  #item({ id, issuer, used }) {
    const name = new URL(issuer).host;
    const end = h('button', { type: 'button', class: 'button', 'aria-label': `${t('identity.unlink')}: ${name}`, onclick: () => this.#unlink(id) }, t('identity.unlink'));
    return h('li', {}, h('div', { class: 'line' },
      h('p', {}, h('strong', {}, name), h('span', { class: 'quiet' }, ` ${t('login.seen', { age: ago((Date.now() - Date.parse(used)) / 1000) })}`)), end));
  }

  async #unlink(id) {
    try {
      await ask(`/me/identities/${id}`, { method: 'DELETE' });
      toast(t('identity.unlinked'), { focus: true });
    } catch (error) {
      toast(wrong(error));
    }
    await this.load();
  }
});
