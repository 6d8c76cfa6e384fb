// Devices that tell or hear for a person, each with a token of its own.
import { ask, wrong } from './api.js';
import { copied } from './copied.js';
import { devicesBroker } from './devices-broker.js';
import { fieldsForm } from './fields-form.js';
import { h } from './elements.js';
import { textField } from './labelled-field.js';
import { t } from './strings.js';
import { ago } from './times.js';
import { tickedField } from './ticked-field.js';
import { toast } from './toast.js';
import { user } from './user.js';

const RIGHTS = ['notices', 'context', 'all'];
const OF_CITY = ['sensors', 'places']; // Only admins give them.
const SCOPE = ['kinds', 'sensors', 'places', 'sources']; // Patterns, to which these are limited.
const LONGEST_LABEL = 100;

customElements.define('account-devices', class extends HTMLElement {
  connectedCallback() {
    this.list = h('ul', { class: 'cards compact' });
    this.made = h('div', { class: 'made', role: 'region', 'aria-label': t('device.made'), tabindex: '-1', hidden: true });
    this.adding = h('details', { class: 'why' });
    this.append(this.list, this.made, this.adding);
    user.follow(() => {
      this.#offer(user.has('admin') ? [...RIGHTS, ...OF_CITY] : RIGHTS);
      this.#load();
    });
  }

  #offer(values) {
    const form = fieldsForm({
      fields: [textField({ name: 'label', title: t('device.label'), help: t('device.label.help'), maxlength: LONGEST_LABEL, autocomplete: 'off' }), tickedField({ name: 'rights', title: t('device.rights'), values, key: (right) => `device.right.${right}`, ticked: ['notices'] }),
        ...(values.includes('sensors') ? SCOPE.map((name) => textField({ name, title: t(`device.scope.${name}`), help: t('device.scope.help'), required: false, autocomplete: 'off' })) : [])],
      submit: t('device.make'),
      primary: false,
      send: async ({ label, rights, ...patterns }) => {
        const scope = Object.fromEntries(Object.entries(patterns).map(([name, text]) => [name, (text ?? '').split(/[\s,]+/).filter(Boolean)]));
        const body = { label, rights, ...(Object.values(scope).some((list) => list.length) ? { scope } : {}) };
        this.#show(await ask('/me/tokens', { method: 'POST', body }), await devicesBroker());
        form.reset();
        await this.#load();
      },
    });
    this.adding.replaceChildren(h('summary', {}, t('device.add')), form);
  }

  async #load() {
    if (!user.own) return;
    const { tokens } = await ask('/me/tokens').catch(() => ({ tokens: [] }));
    this.list.replaceChildren(...tokens.map((token) => this.#item(token)));
  }

  #item({ id, label, rights, used }) {
    const seen = used ? t('device.used', { age: ago((Date.now() - Date.parse(used)) / 1000) }) : t('device.unused');
    return h('li', { 'data-token': id }, h('div', { class: 'line' },
      h('p', {}, h('strong', {}, label), h('span', { class: 'quiet' }, ` ${rights.map((right) => t(`device.can.${right}`)).join(', ')} · ${seen}`)),
      h('button', { type: 'button', class: 'button', 'aria-label': `${t('device.remove')}: ${label}`, onclick: () => this.#remove(id, label) }, t('device.remove'))));
  }

  /** The secret, which is shown this once. */
  #show({ id, secret, topic, context_topic: told }, broker) {
    const mqtt = broker ? [copied(t(broker.tls ? 'device.broker.tls' : 'device.broker'), broker.address),
      copied(t('device.user'), id), copied(t('device.secret'), secret),
      topic ? copied(t('device.topic'), topic) : null, told ? copied(t('device.tells'), told) : null] : [];
    this.made.hidden = false;
    this.made.replaceChildren(h('p', { class: 'verdict missing' }, t('device.once')),
      h('dl', { class: 'facts' }, copied(t('device.bearer'), `${id}.${secret}`), ...mqtt),
      h('p', { class: 'quiet' }, broker ? '' : t('device.nobroker')), h('button', { type: 'button', class: 'button', onclick: () => {
      this.made.hidden = true;
      this.made.replaceChildren();
      this.querySelector('summary').focus();
    } }, t('device.done')));
    this.made.focus();
  }

  async #remove(id, label) {
    try {
      await ask(`/me/tokens/${id}`, { method: 'DELETE' });
      toast(t('device.removed', { label }), { focus: true });
    } catch (error) {
      toast(wrong(error));
    }
    await this.#load();
  }
});
