// Readiness, for whoever wants to know.
import { h, setText } from './elements.js';
import { table } from './operator-part.js';
import { knows, number, t } from './strings.js';

const EVERY_MS = 5000;
const REASON = (key) => (knows(`check.${key}`) ? t(`check.${key}`) : key);

function shown(value) {
  if (value === null) return t('system.none');
  if (typeof value === 'boolean') return t(value ? 'system.yes' : 'system.no');
  return typeof value === 'number' ? number(value) : String(value);
}


customElements.define('system-readiness', class extends HTMLElement {
  connectedCallback() {
    this.verdict = h('p', { class: 'verdict', role: 'status' });
    this.rows = h('tbody');
    this.details = h('details', { class: 'why' }, h('summary', {}, t('system.checks')), table(t('system.checks'), ['system.check', 'system.state', 'system.found', 'system.limit'], this.rows));
    this.append(this.verdict, this.details);
    this.#load();
    setInterval(() => this.#load(), EVERY_MS);
  }

  async #load() {
    try {
      const report = await (await fetch('/readyz')).json();
      if (this.verdict.dataset.ok !== String(report.ready)) this.details.open = !report.ready;
      this.verdict.dataset.ok = String(report.ready);
      setText(this.verdict, report.ready ? t('system.ready') : `${t('system.notready')}: ${report.reasons.join('; ')}`);
      this.rows.replaceChildren(...report.checks.map((check) => this.#row(check)));
    } catch {
      this.verdict.dataset.ok = 'false';
      setText(this.verdict, t('system.unreachable'));
    }
  }

  #row(check) {
    const state = h('span', { class: 'chip', 'data-ok': String(check.ok) }, t(check.ok ? 'system.ok' : 'system.failing'));
    const limit = typeof check.limit === 'number' ? number(check.limit) : t('system.nolimit');
    return h('tr', {}, h('th', { scope: 'row' }, REASON(check.name)), h('td', {}, state),
      h('td', {}, shown(check.value)), h('td', {}, limit));
  }
});
