// One's data: taking it along, and being forgotten.
import { ask } from './api.js';
import { passwordField } from './credentials.js';
import { h } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { t } from './strings.js';
import { user } from './user.js';

const GOES = ['account', 'context', 'instances', 'notices', 'devices', 'log'];

customElements.define('account-data', class extends HTMLElement {
  connectedCallback() {
    this.dialog = h('dialog', { class: 'sheet-dialog', 'aria-labelledby': 'forget-title' });
    this.append(
      h('p', {}, t('data.export.explain')),
      h('p', { class: 'actions' }, h('a', { class: 'button', href: '/api/v1/me/export', download: 'citywise.json' }, t('data.export'))),
      h('p', { class: 'apart' }, t('data.forget.explain')),
      h('p', { class: 'actions' }, h('button', { type: 'button', class: 'button danger', onclick: () => this.#first() }, t('data.forget'))));
    document.body.append(this.dialog); // It stays when all that is the person's goes.
  }

  #cancel() {
    return h('button', { type: 'button', class: 'button', onclick: () => this.dialog.close() }, t('form.cancel'));
  }

  /** What goes, before anything is asked. */
  #first() {
    const go = h('button', { type: 'button', class: 'button', onclick: () => this.#second() }, t('data.goon'));
    this.dialog.replaceChildren(
      h('h2', { id: 'forget-title' }, t('data.forget.title')),
      h('p', {}, t('data.forget.goes')),
      h('ul', { class: 'bullets' }, ...GOES.map((what) => h('li', {}, t(`data.goes.${what}`)))),
      h('p', { class: 'verdict missing' }, t('data.noundo')),
      h('p', { class: 'actions' }, go, this.#cancel()));
    this.dialog.showModal();
  }

  #second() {
    const password = passwordField({ help: t('data.password.help') });
    const isAsked = !user.isDemo && !user.byProvider;
    const form = fieldsForm({
      fields: isAsked ? [password] : [],
      submit: t('data.forget.really'),
      send: async (body) => {
        await ask('/me', { method: 'DELETE', body: isAsked ? body : { confirm: 'forget me' }, again: false });
        this.#done();
        await user.leave();
      },
      actions: [this.#cancel()],
    });
    form.querySelector('[type="submit"]').classList.add('danger');
    this.dialog.replaceChildren(h('h2', { id: 'forget-title' }, t('data.forget.title')), h('p', {}, t('data.noundo')), form);
    (form.querySelector('input') ?? form.querySelector('button')).focus();
  }

  #done() {
    const away = h('a', { class: 'button primary', href: '/' }, t('missing.back'));
    this.dialog.addEventListener('close', () => location.assign('/'));
    this.dialog.replaceChildren(h('h2', { id: 'forget-title' }, t('data.forgotten')), h('p', { role: 'status' }, t('data.forgotten.how')),
      h('p', { class: 'actions' }, away));
    away.focus();
  }
});
