// The form of a template, in a dialog: made from its typed parameters, tried before it is saved.
import { ask, Refused } from './api.js';
import { city } from './city.js';
import { context } from './context.js';
import { h, setText } from './elements.js';
import { noticeCard } from './notice-card.js';
import { parameterField } from './parameter-field.js';
import { t } from './strings.js';
import { user } from './user.js';

const LONGEST_TITLE = 200;
const MOST_TRIED = 3;

customElements.define('template-form', class extends HTMLElement {
  connectedCallback() {
    this.dialog = h('dialog', { class: 'sheet-dialog', 'aria-labelledby': 'template-form-title' });
    this.append(this.dialog);
  }

  /** Let the person fill in a template of an app, from an instance if there is one already. */
  open(app, template, instance = null) {
    this.app = app;
    this.template = template;
    this.instance = instance;
    this.fields = template.parameters.map(parameterField);
    this.#build();
    for (const field of this.fields) {
      const { default: usual } = template.parameters.find(({ name }) => name === field.name);
      field.set(instance ? instance.values[field.name] : usual);
    }
    this.dialog.showModal();
  }

  #build() {
    const { template, instance } = this;
    const already = instance ? 0 : document.querySelector('my-instances').of(this.app.name, template.name).length;
    const suggested = already ? `${template.title} ${already + 1}` : undefined;
    const moves = instance && instance.version !== template.version;
    this.name = h('input', { type: 'text', maxlength: LONGEST_TITLE, value: instance?.title ?? suggested, id: 'template-form-name' });
    this.summary = h('p', { class: 'field-error', role: 'alert' });
    this.trial = h('section', { class: 'trial', 'aria-live': 'polite' });
    this.form = h('form', { novalidate: true, onsubmit: (event) => this.#submit(event) },
      h('h2', { id: 'template-form-title' }, template.title),
      h('p', { class: 'quiet' }, template.help),
      moves ? h('p', { class: 'verdict' }, t('form.moves', { from: instance.version, to: template.version })) : null,
      already ? h('p', { class: 'verdict' }, t('form.already')) : null,
      ...this.fields.map((field) => field.element),
      h('div', { class: 'parameter' }, h('label', { for: 'template-form-name' }, t('form.optional', { title: t('form.name') })), this.name),
      this.summary, this.trial,
      h('div', { class: 'actions' },
        h('button', { type: 'submit', class: 'button primary' }, t('form.save')),
        h('button', { type: 'button', class: 'button', onclick: () => this.#try() }, t('form.try')),
        h('button', { type: 'button', class: 'button', onclick: () => this.dialog.close() }, t('form.cancel'))));
    this.dialog.replaceChildren(this.form);
  }

  /** What was filled in, or null after saying what is wrong with it. */
  #body() {
    setText(this.summary, '');
    const wrong = this.fields.filter((field) => !field.check());
    wrong[0]?.focus();
    if (wrong.length) return null;
    const values = Object.fromEntries(this.fields.map((field) => [field.name, field.value() ?? null]));
    const { app, template } = this;
    return { app: app.name, template: template.name, version: template.version, user: user.id, values, title: this.name.value.trim() || null };
  }

  async #submit(event) {
    event.preventDefault();
    const body = this.#body();
    if (!body) return;
    const [method, path] = this.instance ? ['PUT', `/instances/${this.instance.id}`] : ['POST', '/instances'];
    await this.#attempt(async () => {
      const saved = await ask(path, { method, body });
      this.dialog.close();
      this.dispatchEvent(new CustomEvent('saved', { detail: saved }));
    });
  }

  async #try() {
    const body = this.#body();
    if (!body) return;
    setText(this.trial, t('form.trying'));
    await this.#attempt(async () => this.#show(await ask('/instances/check', { method: 'POST', body })));
  }

  async #attempt(what) {
    try {
      await what();
    } catch (error) {
      this.trial.replaceChildren();
      if (error instanceof Refused) this.#refused(error);
      else setText(this.summary, t('form.unreachable'));
    }
  }

  #refused({ message, errors }) {
    const placed = errors.map((error) => {
      const [, name] = error.path.match(/^values\.([^.[]+)/) ?? [];
      const field = this.fields.find((candidate) => candidate.name === name);
      field?.say(error.message);
      return field;
    });
    placed.find(Boolean)?.focus();
    const rest = errors.filter((_, index) => !placed[index]).map((error) => `${error.path}: ${error.message}`);
    setText(this.summary, errors.length ? rest.join('; ') : message);
  }

  #show({ notices, reason, missing }) {
    const found = notices ?? [];
    const cards = found.slice(0, MOST_TRIED).map((notice) => {
      const card = noticeCard(notice, { isTrial: true });
      card.update(notice, city.now());
      return h('li', {}, card.element);
    });
    const verdict = notices && t(found.length ? 'form.would' : 'form.wouldnot', { count: found.length });
    const rest = found.length - cards.length;
    this.trial.replaceChildren(h('h3', {}, t('form.trial')), h('p', {}, verdict ?? t('form.untried')),
      h('p', { class: 'verdict missing' }, found.length ? '' : context.missing(missing)),
      h('p', { class: 'quiet' }, reason ?? ''), h('ul', { class: 'cards' }, ...cards),
      h('p', { class: 'quiet' }, rest ? t('form.more', { count: rest }) : ''));
  }
});
