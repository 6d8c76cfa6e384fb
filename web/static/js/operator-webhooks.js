// Webhooks: addresses that are told of changes, how they fare, and what they did not take.
import { ask, wrong } from './api.js';
import { copied } from './copied.js';
import { confirmed, isLost, tried } from './doing.js';
import { h, keyed, setText } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { choiceField, labelledField, textField, tickField } from './labelled-field.js';
import { OperatorPart } from './operator-part.js';
import { language, number, t } from './strings.js';
import { tickedField } from './ticked-field.js';
import { ago, atReal } from './times.js';
import { toast } from './toast.js';

const LEVELS = [1, 2, 3, 4, 5];
const since = (time) => ago((Date.now() - Date.parse(time)) / 1000);

/** Around a point: all three numbers, or none. */
function nearField() {
  const within = (min, max) => h('input', { type: 'number', step: 'any', min, max });
  const inputs = { lat: within(-90, 90), lon: within(-180, 180), radius_m: within(1, 1_000_000) };
  const element = h('div', { class: 'number point' }, ...Object.entries(inputs).map(([name, input]) => h('label', { class: 'field' }, h('span', {}, t(`form.area.${name}`)), input)));
  const field = labelledField({ name: 'filter', title: t('hook.near'), help: t('hook.near.help'), input: inputs.lat, element, group: true });
  const all = Object.values(inputs);
  return {
    ...field,
    value: () => (inputs.lat.value === '' ? undefined : Object.fromEntries(Object.entries(inputs).map(([name, { value }]) => [name, Number(value)]))),
    focus: () => (all.find((input) => input.value === '' || !input.validity.valid) ?? inputs.lat).focus(),
    check() {
      const filled = all.filter(({ value, validity }) => value !== '' || validity.badInput).length;
      const isSound = (filled === 0 || filled === all.length) && all.every(({ validity }) => validity.valid);
      field.say(isSound ? null : t('hook.badnear'));
      return isSound;
    },
  };
}

/** What a filter takes, in words. */
function filterWords({ types = [], places = [], kinds = [], least_level: level = 1, near, bbox, notices }, labels) {
  const parts = [types.map((type) => labels.get(type) ?? type).join(', '), places.join(', '), kinds.join(', '),
    level > 1 ? t('hook.from', { level: t('event.level', { level }) }) : '', near ? t('hook.around', { radius_m: near.radius_m, lat: number(near.lat, 5), lon: number(near.lon, 5) }) : '', bbox ? bbox.join(', ') : '',
    notices ? t('hook.notices') : ''].filter(Boolean);
  return parts.join(' · ') || t('hook.everything');
}

customElements.define('operator-webhooks', class extends OperatorPart {
  #labels = new Map();

  build() {
    this.list = h('ul', { class: 'cards' });
    this.empty = h('p', { class: 'empty', hidden: true }, t('hook.none'));
    this.adding = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#add() }, t('hook.add'));
    this.form = h('div');
    this.made = h('div', { class: 'made', role: 'region', 'aria-label': t('hook.secret'), tabindex: '-1', hidden: true });
    this.append(this.list, this.empty, this.made, this.adding, this.form);
  }

  async load() {
    const [{ webhooks }, { types }] = await Promise.all([ask('/webhooks'), ask('/operator/events?limit=1')]);
    return { webhooks, types };
  }

  show({ webhooks, types }) {
    this.#labels = new Map(types.map(({ type, labels }) => [type, labels[language] ?? labels.en ?? type]));
    this.adding.hidden = this.form.hasChildNodes();
    keyed(this.list, webhooks, ({ id }) => id, (hook) => this.#item(hook), (item, hook) => item.update(hook));
    this.empty.hidden = webhooks.length > 0;
  }

  #item({ id, url, label, filter }) {
    const name = label || url;
    const act = (key, onclick) => h('button', { type: 'button', class: 'button small', 'aria-label': `${t(key)}: ${name}`, onclick }, t(key));
    const [state, counts, error] = [h('span', { class: 'chip' }), h('p', { class: 'quiet' }), h('p', { class: 'field-error' })];
    const letters = h('ul', { class: 'bullets' });
    const title = h('summary', {});
    const undelivered = h('details', { class: 'why', ontoggle: () => undelivered.open && this.#read(id, letters) }, title, letters,
      act('hook.again', () => this.#again(id, letters)));
    let isActive = true;
    const toggle = act('source.stop', () => this.#change(`/webhooks/${id}`, { method: 'PATCH', body: { active: !isActive } }, t('hook.changed', { name })));
    const update = ({ active, sent, undelivered: lost, last_success: success, error: why }) => {
      isActive = active;
      state.dataset.ok = String(active && !why);
      setText(state, t(!active ? 'source.stopped' : why ? 'source.failing' : 'system.ok'));
      setText(counts, [t('hook.sent', { sent }), t('hook.lost', { lost }), success ? t('hook.success', { time: since(success) }) : t('hook.never')].join(' · '));
      setText(error, why ?? '');
      setText(toggle, t(active ? 'source.stop' : 'source.start'));
      toggle.setAttribute('aria-label', `${toggle.textContent}: ${name}`);
      setText(title, t('hook.undelivered', { lost }));
      undelivered.hidden = lost === 0;
    };
    return Object.assign(h('li', {}, h('article', { 'data-webhook': id }, h('header', {}, h('h4', {}, name), state),
      label ? h('p', { class: 'quiet wrapped' }, url) : null, h('p', { class: 'quiet' }, filterWords(filter, this.#labels)), counts, error,
      h('div', { class: 'actions' }, toggle, act('hook.remove', () => this.#remove(id, name))), undelivered)), { update });
  }

  async #read(id, letters) {
    await tried(async () => {
      const { undelivered, total } = await ask(`/webhooks/${id}/undelivered`);
      const lines = undelivered.map((change) => h('li', {}, h('time', { datetime: change.failed }, atReal(Date.parse(change.failed))),
        ` · ${[change.kind, change.event?.place?.name ?? change.event?.id, change.again ? t('hook.waits') : change.error].filter(Boolean).join(' · ')}`));
      const rest = total - undelivered.length;
      letters.replaceChildren(...lines, ...(rest > 0 ? [h('li', {}, t('hook.more', { rest }))] : []));
    });
  }

  async #again(id, letters) {
    let told = null;
    if (!await tried(async () => { told = await ask(`/webhooks/${id}/undelivered/send`, { method: 'POST' }); })) return;
    toast(t('hook.sentagain', { again: told.again }));
    await this.#read(id, letters);
    await this.refresh();
  }

  #add() {
    this.adding.hidden = true;
    const types = [...this.#labels].sort(([, a], [, b]) => a.localeCompare(b, language));
    const fields = {
      url: textField({ name: 'url', title: t('hook.url'), help: t('hook.url.help'), type: 'url', maxlength: 1000, autocomplete: 'off' }),
      label: textField({ name: 'label', title: t('form.optional', { title: t('hook.label') }), required: false, maxlength: 200, autocomplete: 'off' }),
      types: tickedField({ name: 'types', title: t('hook.types'), help: t('hook.types.help'), values: types.map(([type]) => type), words: (type) => this.#labels.get(type), least: 0 }),
      level: choiceField({ name: 'least_level', title: t('hook.level'), options: LEVELS.map((level) => [level, t('event.level', { level })]) }),
      near: nearField(),
      notices: tickField({ name: 'notices', title: t('hook.notices'), help: t('hook.notices.help') }),
      secret: textField({ name: 'secret', title: t('form.optional', { title: t('hook.secret') }), help: t('hook.secret.help'), required: false, maxlength: 128, autocomplete: 'off', spellcheck: 'false' }),
    };
    const form = fieldsForm({
      fields: Object.values(fields),
      submit: t('hook.save'),
      actions: [h('button', { type: 'button', class: 'button', onclick: () => this.#close() }, t('form.cancel'))],
      send: async () => {
        const near = fields.near.value();
        const filter = { types: fields.types.value(), least_level: Number(fields.level.value()), notices: fields.notices.value(), ...(near ? { near } : {}) };
        const [label, secret] = [fields.label.value().trim(), fields.secret.value().trim()];
        const made = await ask('/webhooks', { method: 'POST', body: { url: fields.url.value().trim(), filter, ...(label ? { label } : {}), ...(secret ? { secret } : {}) } });
        this.#close();
        this.#tell(made);
        await this.refresh();
      },
    });
    fields.near.element.before(h('details', { class: 'why' }, h('summary', {}, t('hook.types')), fields.types.element));
    this.form.replaceChildren(form);
    fields.url.focus();
  }

  #close() {
    this.form.replaceChildren();
    this.adding.hidden = false;
    this.adding.focus();
  }

  /** The secret that changes are signed with, which is shown this once. */
  #tell({ url, secret }) {
    this.made.hidden = false;
    this.made.replaceChildren(h('p', { class: 'verdict missing' }, t('device.once')),
      h('dl', { class: 'facts' }, copied(t('hook.url'), url), copied(t('hook.secret'), secret)),
      h('button', { type: 'button', class: 'button', onclick: () => {
        this.made.hidden = true;
        this.made.replaceChildren();
        this.adding.focus();
      } }, t('device.done')));
    this.made.focus();
  }

  async #remove(id, name) {
    const isMeant = await confirmed({ title: t('hook.remove.title', { name }), text: t('hook.remove.text'), word: t('hook.remove') });
    if (isMeant) await this.#change(`/webhooks/${id}`, { method: 'DELETE' }, t('hook.removed', { name }));
    if (isLost(document.activeElement)) this.adding.focus();
  }

  async #change(path, how, said) {
    try {
      await ask(path, how);
      toast(said);
    } catch (error) {
      toast(wrong(error), { focus: true });
    }
    await this.refresh();
  }
});
