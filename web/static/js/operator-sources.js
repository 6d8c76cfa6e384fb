// How the sources fare that connectors read: when they answered, what they sent, what was refused.
import { ask } from './api.js';
import { h } from './elements.js';
import { OperatorPart, table } from './operator-part.js';
import { number, t } from './strings.js';
import { ago, duration } from './times.js';

const since = (time) => ago((Date.now() - Date.parse(time)) / 1000);

customElements.define('operator-sources', class extends OperatorPart {
  build() {
    this.sources = h('tbody');
    this.none = h('p', { class: 'empty', hidden: true }, t('source.none'));
    this.table = table(t('ops.sources'), ['source.name', 'system.state', 'source.success', 'source.lag', 'source.observations', 'source.refused'], this.sources);
    this.append(this.none, this.table);
  }

  load() {
    return ask('/operator/sources');
  }

  show({ sources }) {
    this.none.hidden = sources.length > 0;
    this.table.hidden = !sources.length;
    this.sources.replaceChildren(...sources.map((source) => this.#source(source)));
  }

  #source({ name, connector, error, last_success: success, lag_s: lag, observations, refused, samples }) {
    const state = h('span', { class: 'chip', 'data-ok': String(!error) }, t(error ? 'source.failing' : 'system.ok'));
    const notes = [error, ...samples.map(({ reason, at, said }) => [reason, at, said].filter(Boolean).join(' · '))].filter(Boolean);
    return h('tr', { 'data-source': name },
      h('th', { scope: 'row' }, name, ' ', h('code', {}, connector), ...notes.map((note) => h('p', { class: 'quiet' }, note))),
      h('td', {}, state), h('td', {}, success ? since(success) : t('source.never')), h('td', {}, lag === null ? '–' : duration(lag)),
      h('td', {}, number(observations)), h('td', {}, number(refused)));
  }
});
