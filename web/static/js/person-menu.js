// Who one is, in the header: logging in and out, and the way to the account.
import { wrong } from './api.js';
import { h, setText } from './elements.js';
import { t } from './strings.js';
import { toast } from './toast.js';
import { user } from './user.js';

const UNCHANGED = ['/log-in', '/sign-up'];

customElements.define('person-menu', class extends HTMLElement {
  connectedCallback() {
    this.summary = this.querySelector('summary');
    this.label = this.querySelector('.person-name');
    this.body = this.querySelector('.menu-body');
    user.follow(() => user.loaded && this.#show());
  }

  #show() {
    const { own, name, isDemo } = user;
    const label = own === null ? t('person.menu.out') : t('person.menu.in', { name });
    this.summary.setAttribute('aria-label', label);
    this.summary.title = label;
    this.dataset.known = String(own !== null);
    setText(this.label, own === null ? t('person.login') : name);
    const link = (href, key) => h('li', {}, h('a', { href }, t(key)));
    const next = UNCHANGED.includes(location.pathname) ? location.search : `?${new URLSearchParams({ next: location.pathname + location.search })}`;
    const entry = [
      user.signUp === 'closed' ? null : link(`/sign-up${next}`, 'person.signup'),
      link(`/log-in${next}`, 'person.login')];
    this.body.replaceChildren(...[
      own === null ? null : h('p', { class: 'person-who' }, h('strong', {}, name)),
      isDemo ? h('p', { class: 'quiet' }, t('person.demo')) : null,
      h('ul', { class: 'choices' },
        own === null ? null : link('/account', 'person.account'),
        ...(own === null || isDemo ? entry : [h('li', {}, h('button', { type: 'button', onclick: () => this.#leave() }, t('person.logout')))]))].filter(Boolean));
  }

  async #leave() {
    try {
      location.assign(await user.logOut());
    } catch (error) {
      toast(wrong(error));
    }
  }
});
