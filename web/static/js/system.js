// Readiness and dead letters, for those who run the system.
import { h, setText } from './elements.js';
import { knows, number, t } from './strings.js';
import { ago, at } from './times.js';

const EVERY_MS = 5000;
const REASON = (key) => (knows(`check.${key}`) ? t(`check.${key}`) : key);

function shown(value) {
  if (value === null) return t('system.none');
  if (typeof value === 'boolean') return t(value ? 'system.yes' : 'system.no');
  return typeof value === 'number' ? number(value) : String(value);
}

function headings(...keys) {
  return h('thead', {}, h('tr', {}, ...keys.map((key) => h('th', { scope: 'col' }, t(key)))));
}

customElements.define('system-readiness', class extends HTMLElement {
  connectedCallback() {
    this.verdict = h('p', { class: 'verdict', role: 'status' });
    this.rows = h('tbody');
    this.append(this.verdict, h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('system.readiness') },
      h('table', {}, headings('system.check', 'system.state', 'system.found', 'system.limit'), this.rows)));
    this.#load();
    setInterval(() => this.#load(), EVERY_MS);
  }

  async #load() {
    try {
      const report = await (await fetch('/readyz')).json();
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

customElements.define('dead-letters', class extends HTMLElement {
  #next = null;

  connectedCallback() {
    this.reasons = h('select', { onchange: () => this.#load() }, h('option', { value: '' }, t('letters.all')));
    this.list = h('ul', { class: 'letters' });
    this.empty = h('p', { class: 'empty', 'data-good': true, hidden: true }, t('letters.none'));
    this.more = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#load(this.#next) }, t('letters.more'));
    this.append(h('label', { class: 'field' }, h('span', {}, t('letters.reason')), this.reasons), this.list, this.empty, this.more);
    this.#load();
    setInterval(() => scrollY < 400 && this.list.childElementCount <= 50 && this.#load(), EVERY_MS);
  }

  async #load(before = null) {
    const query = new URLSearchParams({ limit: '50' });
    if (before) query.set('before', before);
    if (this.reasons.value) query.set('reason', this.reasons.value);
    let body;
    try {
      body = await (await fetch(`/api/v1/dead-letters?${query}`)).json();
    } catch {
      return; // Readiness above says that the system cannot be reached.
    }
    this.#offer(body.counts);
    const open = new Set([...this.list.querySelectorAll('details[open]')].map((d) => d.dataset.id));
    if (!before) this.list.replaceChildren();
    this.list.append(...body.dead_letters.map((letter) => this.#item(letter, open)));
    this.empty.hidden = this.list.childElementCount > 0;
    this.#next = body.next;
    this.more.hidden = body.next === null;
  }

  #offer(counts) {
    if (JSON.stringify(counts) === this.counts) return;
    this.counts = JSON.stringify(counts);
    const chosen = this.reasons.value;
    const options = Object.entries(counts).map(([reason, count]) =>
      h('option', { value: reason }, `${reason} (${number(count)})`));
    this.reasons.replaceChildren(h('option', { value: '' }, t('letters.all')), ...options);
    this.reasons.value = chosen;
  }

  #item(letter, open) {
    const received = Date.parse(letter.received_at);
    const now = Date.now();
    return h('li', {}, h('details', { 'data-id': letter.id, open: open.has(String(letter.id)) },
      h('summary', {}, h('span', { class: 'chip' }, letter.reason), h('span', { class: 'topic' }, letter.topic),
        h('time', { datetime: letter.received_at, title: at(received, now), class: 'quiet' }, ago((now - received) / 1000))),
      h('dl', { class: 'facts' },
        h('div', {}, h('dt', {}, t('letters.detail')), h('dd', {}, letter.detail)),
        h('div', {}, h('dt', {}, t('letters.received')), h('dd', {}, `${at(received, now)} · ${t('letters.size', { size: letter.size })}`)),
        h('div', {}, h('dt', {}, t('letters.payload')), h('dd', {}, h('code', {}, letter.payload))))));
  }
});
