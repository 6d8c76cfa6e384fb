// The sources that connectors read: how they fare, and making, changing, stopping and removing them.
import { ask, wrong } from './api.js';
import { copied } from './copied.js';
import { confirmed, isLost } from './doing.js';
import { h, setText } from './elements.js';
import { OperatorPart, table } from './operator-part.js';
import { sourceForm } from './source-form.js';
import { number, t } from './strings.js';
import { ago, duration } from './times.js';
import { toast } from './toast.js';

const since = (time) => ago((Date.now() - Date.parse(time)) / 1000);

customElements.define('operator-sources', class extends OperatorPart {
  #connectors = [];

  build() {
    this.sources = h('tbody');
    this.none = h('p', { class: 'empty', hidden: true }, t('source.none'));
    this.table = table(t('ops.sources'), ['source.name', 'system.state', 'source.success', 'source.lag', 'source.messages', 'source.observations', 'source.refused', 'source.not_taken', 'source.actions'], this.sources);
    this.adding = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#edit(null) }, t('source.add'));
    this.form = h('div');
    this.made = h('div', { class: 'made', role: 'region', 'aria-label': t('source.secret'), tabindex: '-1', hidden: true });
    this.append(this.none, this.table, this.made, this.adding, this.form);
  }

  load() {
    return ask('/operator/sources');
  }

  show({ sources, connectors }) {
    this.#connectors = connectors;
    this.adding.hidden = this.form.hasChildNodes(); // Before the answer its form had no formats to choose.
    this.none.hidden = sources.length > 0;
    this.table.hidden = !sources.length;
    if (this.sources.contains(document.activeElement)) return; // Its buttons are at work.
    this.sources.replaceChildren(...sources.map((source) => this.#source(source)));
  }

  #source(source) {
    const { name, connector, error, last_success: success, lag_s: lag, messages, observations, refused, not_taken: notTaken, samples, not_taken_samples: later, active, origin } = source;
    const word = error ? 'source.failing' : active ? 'system.ok' : 'source.stopped';
    const state = h('span', { class: 'chip', 'data-ok': String(!error) }, t(word));
    const note = (...parts) => parts.filter(Boolean).join(' · ');
    const notes = [error, ...samples.map(({ reason, at, said }) => note(reason, at, said)),
      ...later.map(({ reason, at, said, payload }) => note(t('source.not_taken'), reason, at, said, payload))].filter(Boolean);
    const button = (key, act) => h('button', { type: 'button', class: 'button small', 'aria-label': `${t(key)}: ${name}`, onclick: act }, t(key));
    const actions = origin === 'operator' ? [button('source.change', () => this.#edit(source)),
      button(active ? 'source.stop' : 'source.start', () => this.#act('PATCH', name, { active: !active })),
      button('source.remove', () => this.#remove(name))] : [h('span', { class: 'quiet' }, t('kinds.file'))];
    return h('tr', { 'data-source': name },
      h('th', { scope: 'row' }, name, ' ', h('code', {}, connector), ...notes.map((text) => h('p', { class: 'quiet' }, text))),
      h('td', {}, state), h('td', {}, success ? since(success) : t('source.never')), h('td', {}, lag === null ? '–' : duration(lag)),
      h('td', {}, number(messages)), h('td', {}, number(observations)), h('td', {}, number(refused)), h('td', {}, number(notTaken)), h('td', {}, h('div', { class: 'actions' }, ...actions)));
  }

  #edit(source) {
    this.adding.hidden = true;
    this.form.replaceChildren(sourceForm({ connectors: this.#connectors, source, saved: (answer) => this.#saved(answer) }));
    this.form.querySelector(source ? 'select' : 'input').focus();
  }

  #saved(answer) {
    this.form.replaceChildren();
    this.adding.hidden = false;
    this.adding.focus();
    if (answer === null) return;
    toast(t('source.saved', { name: answer.name }));
    if (answer.secret) this.#tell(answer);
    this.refresh();
  }

  /** The secret that others post with, which is shown this once. */
  #tell({ name, secret }) {
    this.made.hidden = false;
    this.made.replaceChildren(h('p', { class: 'verdict missing' }, t('device.once')),
      h('dl', { class: 'facts' }, copied(t('source.address'), `${location.origin}/api/v1/sources/${name}`), copied('X-Citywise-Secret', secret)),
      h('button', { type: 'button', class: 'button', onclick: () => {
        this.made.hidden = true;
        this.made.replaceChildren();
        this.adding.focus();
      } }, t('device.done')));
    this.made.focus();
  }

  /** There is no way back: keys and what was posted go with it. */
  async #remove(name) {
    const isMeant = await confirmed({ title: t('source.remove.title', { name }), text: t('source.remove.text'), word: t('source.remove') });
    if (isMeant) await this.#act('DELETE', name);
    else if (isLost(document.activeElement)) this.adding.focus(); // The row was drawn anew meanwhile.
  }

  async #act(method, name, body) {
    try {
      await ask(`/operator/sources/${encodeURIComponent(name)}`, { method, body });
      toast(t(method === 'DELETE' ? 'source.removed' : 'source.saved', { name }), { focus: true });
    } catch (error) {
      setText(this.fault, wrong(error));
    }
    this.adding.focus();
    this.refresh();
  }
});
