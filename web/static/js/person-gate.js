// Where one has to be logged in: who is not is told how to get there.
import { h } from './elements.js';
import { t } from './strings.js';
import { user } from './user.js';

customElements.define('person-gate', class extends HTMLElement {
  connectedCallback() {
    user.follow(() => user.loaded && this.#show());
  }

  #show() {
    const isIn = user.own !== null;
    const next = new URLSearchParams({ next: location.pathname + location.search });
    const link = (page, key, primary) => h('a', { class: primary ? 'button primary' : 'button', href: `${page}?${next}` }, t(key));
    this.replaceChildren(...(isIn ? this.#demo() : [h('div', { class: 'gate' }, h('p', {}, t('person.gate')),
      h('p', { class: 'actions' }, link('/log-in', 'person.login', true), user.signUp === 'closed' ? null : link('/sign-up', 'person.signup')))]));
  }

  #demo() {
    return user.isDemo ? [h('p', { class: 'verdict demo-line' }, t('person.demo'))] : [];
  }
});
