// For developers: acting for a made-up person, to try what an app would tell them.
import { h, setText } from './elements.js';
import { t } from './strings.js';
import { NAME, user } from './user.js';

customElements.define('app-user', class extends HTMLElement {
  connectedCallback() {
    this.input = h('input', { type: 'text', pattern: NAME, maxlength: 64, required: true, autocomplete: 'off', autocapitalize: 'none', 'aria-describedby': 'user-help' });
    this.error = h('p', { class: 'field-error', role: 'alert' });
    this.asking = h('form', { novalidate: true, onsubmit: (event) => this.#keep(event) },
      h('label', { class: 'field' }, h('span', {}, t('user.name')), this.input),
      h('button', { type: 'submit', class: 'button' }, t('user.keep')),
      h('p', { class: 'quiet', id: 'user-help' }, t('user.help')), this.error);
    this.choosing = h('details', { class: 'why' }, h('summary', {}, t('user.title')), this.asking);
    this.name = h('strong');
    this.known = h('p', {}, t('user.is'), ' ', this.name, ' ',
      h('button', { type: 'button', class: 'link', onclick: () => this.#change() }, t('user.change')));
    this.append(this.choosing, this.known);
    user.follow(() => this.#show());
  }

  #show() {
    const { testPerson } = user;
    this.hidden = !user.isDeveloping;
    this.choosing.hidden = testPerson !== null;
    this.known.hidden = testPerson === null;
    setText(this.name, testPerson ?? '');
  }

  #keep(event) {
    event.preventDefault();
    const name = this.input.value.trim();
    const fits = new RegExp(`^${NAME}$`).test(name);
    setText(this.error, fits ? '' : t('user.wrong'));
    if (fits) user.testPerson = name;
    else this.input.focus();
  }

  #change() {
    this.input.value = user.testPerson;
    user.testPerson = null;
    this.choosing.open = true;
    this.choosing.querySelector('summary').focus();
  }
});
