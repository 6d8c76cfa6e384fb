// Apps: what people can be told, and what they have asked to be told.
import { ask, query, wrong } from './api.js';
import { h, setText } from './elements.js';
import { context } from './context.js';
import { noticeCards, whyAddress } from './notice-card.js';
import { notices } from './notices.js';
import { language, t } from './strings.js';
import './template-form.js';
import { toast } from './toast.js';
import { user } from './user.js';

const languages = query({ lang: language });

customElements.define('app-shelf', class extends HTMLElement {
  async connectedCallback() {
    this.form = document.querySelector('template-form');
    this.state = h('p', { class: 'empty' }, t('list.loading'));
    this.append(this.state);
    user.addEventListener('change', () => this.#allow());
    await this.#load();
  }

  async #load() {
    try {
      const { apps } = await ask(`/apps${languages}`);
      this.replaceChildren(...apps.map((app) => this.#app(app)));
      // Where no alert has a switch, what there is is not hidden.
      if (!apps.some(({ templates }) => templates.some((template) => template.switch))) this.closest('details')?.setAttribute('open', '');
      if (!apps.length) this.append(h('p', { class: 'empty' }, t('apps.none')));
    } catch {
      setText(this.state, t('list.failed'));
      setTimeout(() => this.#load(), 3000);
    }
    this.#allow();
  }

  #app(app) {
    const templates = app.templates.map((template) => h('li', {}, h('article', {},
      h('header', {}, h('h4', {}, template.title),
        h('button', { type: 'button', class: 'button', 'data-start': true, 'aria-label': `${t('apps.use')}: ${template.title}`, onclick: () => this.start(app.name, template.name) }, t('apps.use'))),
      template.help ? h('p', { class: 'card-place' }, template.help) : null)));
    return h('section', { class: 'app', 'data-app': app.name }, h('h3', {}, app.title),
      app.description ? h('p', { class: 'quiet' }, app.description) : null,
      h('ul', { class: 'cards' }, ...templates));
  }

  #allow() {
    for (const button of this.querySelectorAll('[data-start]')) button.disabled = user.id === null;
  }

  /** Open the form of a template. */
  async start(name, template, instance = null) {
    const app = await ask(`/apps/${name}${languages}`);
    this.form.open(app, app.templates.find((candidate) => candidate.name === template), instance);
  }
});

customElements.define('my-instances', class extends HTMLElement {
  connectedCallback() {
    this.list = h('ul', { class: 'cards' });
    this.empty = h('p', { class: 'empty' });
    this.append(this.list, this.empty);
    document.addEventListener('instances-changed', ({ target }) => target !== this && this.#load());
    document.querySelector('template-form').addEventListener('saved', ({ detail }) => {
      toast(t('instance.saved', { title: this.#title(detail) }));
      this.#changed();
    });
    user.addEventListener('change', () => this.#load());
    notices.addEventListener('change', () => this.#showNotices());
    context.follow(() => this.#showNotices());
    this.#load();
  }

  async #load() {
    this.instances = [];
    if (user.id) {
      try {
        const [{ instances }, { apps }] = await Promise.all([
          ask(`/instances${query({ user: user.id, limit: 1000 })}`), ask(`/apps${languages}`)]);
        this.instances = instances;
        this.apps = apps;
      } catch {
        this.#none(t('list.failed'));
        return;
      }
    }
    this.#none(t(user.id ? 'instance.none' : 'instance.nobody'));
    this.list.replaceChildren(...this.instances.map((instance) => this.#item(instance)));
    this.#showNotices();
  }

  #none(text) {
    setText(this.empty, text);
    this.empty.hidden = this.instances.length > 0;
  }

  /** What there is already of a template of an app. */
  of(app, template) {
    return this.instances.filter((instance) => instance.app === app && instance.template === template);
  }

  #template({ app, template }) {
    const found = this.apps?.find(({ name }) => name === app);
    return { app: found, template: found?.templates.find(({ name }) => name === template) };
  }

  #title(instance) {
    return instance.title ?? this.#template(instance).template?.title ?? instance.template;
  }

  #item(instance) {
    const { app, template } = this.#template(instance);
    const title = this.#title(instance);
    const older = instance.newest > instance.version;
    const act = (key, onclick) =>
      h('button', { type: 'button', class: 'button', 'aria-label': `${t(key)}: ${title}`, onclick }, t(key));
    const open = h('ul', { class: 'cards' });
    const nothing = h('p', { class: 'quiet' }, t('instance.quiet'));
    const missing = h('p', { class: 'verdict missing' });
    const item = h('li', {}, h('article', { 'data-instance': instance.id },
      h('header', {}, h('h3', {}, title), older ? h('span', { class: 'chip' }, t('instance.older')) : null),
      h('p', { class: 'quiet' }, [app?.title ?? instance.app, template?.title].filter(Boolean).join(' · ')),
      h('footer', { class: 'actions' },
        act(older ? 'instance.update' : 'instance.edit', () => this.#edit(instance)),
        act('instance.remove', () => this.#remove(instance)),
        h('a', { class: 'button', href: whyAddress({ instance: instance.id }), 'aria-label': `${t('instance.why')} ${title}` }, t('instance.why'))),
      missing, nothing, open));
    return Object.assign(item, { instance, open, nothing, missing });
  }

  #showNotices() {
    for (const item of this.list.children) {
      const told = notices.of(item.instance.id);
      noticeCards(item.open, told, 'h4');
      item.open.hidden = told.length === 0;
      item.nothing.hidden = told.length > 0 || !notices.loaded;
      setText(item.missing, told.length ? '' : context.missing(item.instance.asks));
    }
  }

  #edit(instance) {
    document.querySelector('app-shelf').start(instance.app, instance.template, instance);
  }

  async #remove({ id }) {
    try {
      const removed = await ask(`/instances/${id}`, { method: 'DELETE' });
      toast(t('instance.removed', { title: this.#title(removed) }), { focus: true, undo: () => this.#bringBack(removed) });
    } catch (error) {
      toast(wrong(error));
    }
    await this.#changed();
  }

  /** Load them anew, and let the switches do so. */
  #changed() {
    this.dispatchEvent(new Event('instances-changed', { bubbles: true }));
    return this.#load();
  }

  async #bringBack(removed) {
    try {
      await ask(`/instances/${removed.id}`, { method: 'PUT', body: removed });
      toast(t('instance.back', { title: this.#title(removed) }));
    } catch (error) {
      toast(wrong(error));
    }
    await this.#changed();
  }
});
