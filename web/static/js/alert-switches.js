// Alerts that one switch turns on: what a template declares as its switch, with good defaults.
import { ask, query, wrong } from './api.js';
import { attempt, tried } from './doing.js';
import { h, setText } from './elements.js';
import { parameterField } from './parameter-field.js';
import { pointField } from './point-field.js';
import { savedPlaces } from './saved-places.js';
import { language, t } from './strings.js';
import { user } from './user.js';

const NEAR_M = 1000;
const LONGEST_ID = 64;

/** The id of the instance behind a switch: a person has one of each. */
const idOf = (app, template) => `${user.id}.on.${app}.${template}`.slice(0, LONGEST_ID);
const around = ({ lat, lon }) => ({ center: { lat, lon }, radius_m: NEAR_M });

/** What a switch asks for, as a field: a place one lives near for an area, else its widget. */
function asked(parameter) {
  if (parameter.type !== 'area') {
    const field = parameterField({ ...parameter, optional: false });
    return { ...field, check: async () => field.check() };
  }
  const field = pointField({ name: parameter.name, title: t('switch.near'), help: t('switch.near.help'), near: () => null, onChange: () => null });
  return {
    ...field,
    value: () => around(field.value()),
    keep: () => savedPlaces.save({ ...field.value(), kind: 'home' }),
    set: () => null,
  };
}

customElements.define('alert-switches', class extends HTMLElement {
  connectedCallback() {
    this.only = this.getAttribute('switches');
    this.list = h('ul', { class: 'cards switches' });
    this.said = h('p', { class: 'field-error', role: 'alert' });
    this.append(this.list, this.said);
    const folded = this.closest('details');
    if (folded) folded.addEventListener('toggle', () => this.#load(), { once: true });
    else this.#load();
  }

  async #load() {
    try {
      const { apps } = await ask(`/apps${query({ lang: language })}`);
      const all = apps.flatMap((app) => app.templates.map((template) => ({ app: app.name, template: template.name, version: template.version, ...template.switch })));
      all.sort((a, b) => Boolean(a.asks) - Boolean(b.asks)); // What is on by one press comes first.
      this.rows = all.filter(({ title, app, template }) => title && (!this.only || this.only.split(' ').includes(`${app}/${template}`))).map((found) => this.#row(found));
      this.list.replaceChildren(...this.rows.map(({ element }) => element));
      user.follow(() => this.#states());
      document.addEventListener('instances-changed', ({ target }) => target !== this && this.#states());
    } catch (error) {
      setText(this.said, wrong(error));
    }
  }

  #row(found) {
    const toggle = h('button', { type: 'button', role: 'switch', class: 'switch', 'aria-checked': 'false', 'aria-label': found.title, onclick: () => this.#press(row) });
    const fill = h('form', { class: 'switch-asks', novalidate: true, hidden: true, onsubmit: (event) => this.#given(event, row) });
    const change = found.asks && h('button', { type: 'button', class: 'link', hidden: true, 'aria-label': `${t('switch.change')}: ${found.title}`, onclick: () => this.#askFor(row) }, t('switch.change'));
    const element = h('li', {}, h('article', { 'data-switch': `${found.app}/${found.template}` },
      h('header', {}, h('h3', {}, found.title), toggle), h('p', { class: 'card-place' }, found.help), change, fill));
    const row = { ...found, element, toggle, fill, change, instance: null };
    return row;
  }

  /** Which of them are on. */
  async #states() {
    for (const { toggle } of this.rows) toggle.disabled = user.id === null;
    const { id } = user;
    const { instances } = id ? await ask(`/instances${query({ user: id, limit: 1000 })}`).catch(() => ({ instances: [] })) : { instances: [] };
    if (id !== user.id) return;
    for (const row of this.rows) this.#show(row, instances.find((one) => one.id === idOf(row.app, row.template)) ?? null);
  }

  #show(row, instance) {
    row.instance = instance;
    row.toggle.setAttribute('aria-checked', String(instance !== null));
    if (row.change) row.change.hidden = instance === null;
  }

  async #press(row) {
    setText(this.said, '');
    if (row.instance) {
      const before = row.instance;
      await attempt(() => this.#off(row), t('switch.off', { title: row.title }), () => this.#on(row, before.values));
      return;
    }
    const home = row.asks?.type === 'area' ? await savedPlaces.home() : null;
    if (row.asks && !home) this.#askFor(row);
    else await attempt(() => this.#on(row, { ...row.values, ...(home ? { [row.asks.name]: around(home) } : {}) }), t('switch.on', { title: row.title }), () => this.#off(row));
  }

  #askFor(row) {
    row.field = asked(row.asks);
    row.fill.replaceChildren(row.field.element, h('div', { class: 'actions' },
      h('button', { type: 'submit', class: 'button primary' }, t(row.instance ? 'form.save' : 'switch.save')),
      h('button', { type: 'button', class: 'button', onclick: () => this.#fold(row) }, t('form.cancel'))));
    row.field.set(row.instance?.values[row.asks.name]);
    row.fill.hidden = false;
    row.field.focus();
  }

  #fold(row) {
    row.fill.hidden = true;
    row.fill.replaceChildren();
    row.toggle.focus();
  }

  async #given(event, row) {
    event.preventDefault();
    if (!(await row.field.check())) return;
    const values = { ...row.values, [row.asks.name]: row.field.value() };
    if (row.field.keep && !(await tried(row.field.keep))) return;
    if (await attempt(() => this.#on(row, values), t('switch.on', { title: row.title }), () => this.#off(row))) this.#fold(row);
  }

  async #on(row, values) {
    const { app, template, version, title } = row;
    const saved = await ask(`/instances/${idOf(app, template)}`, { method: 'PUT', body: { app, template, version, user: user.id, values, title } });
    this.#show(row, saved);
    this.#tell();
  }

  async #off(row) {
    await ask(`/instances/${row.instance.id}`, { method: 'DELETE' });
    this.#show(row, null);
    this.#tell();
  }

  #tell() {
    this.dispatchEvent(new Event('instances-changed', { bubbles: true }));
  }
});
