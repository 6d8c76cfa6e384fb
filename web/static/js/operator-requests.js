// How requests and processes fare: lag, time, failures, and the limits that hold.
import { ask } from './api.js';
import { h, setText } from './elements.js';
import { minuteChart } from './minute-chart.js';
import { OperatorPart, table } from './operator-part.js';
import { locale, number, t } from './strings.js';
import { ago, duration } from './times.js';

const inMs = (seconds) => (seconds === null ? '–' : t('request.ms', { ms: seconds * 1000 }));
const bytes = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });

customElements.define('operator-requests', class extends OperatorPart {
  build() {
    this.limits = h('p', { class: 'quiet' });
    this.requests = h('tbody');
    this.processes = h('tbody');
    this.broken = h('tbody');
    this.apps = h('div', { hidden: true }, h('h3', {}, t('broken.title')), h('p', { class: 'quiet' }, t('broken.explain')),
      table(t('broken.title'), ['broken.app', 'broken.part', 'broken.reason'], this.broken));
    this.waiting = h('tbody');
    this.others = h('div', { hidden: true }, h('h3', {}, t('waiting.title')), h('p', { class: 'quiet' }, t('waiting.explain')),
      table(t('waiting.title'), ['broken.app', 'waiting.kinds'], this.waiting));
    this.charts = {
      evaluations: minuteChart('minutes.evaluations', number),
      slowest_s: minuteChart('minutes.slowest', inMs),
      lag_s: minuteChart('minutes.lag', duration),
      refused: minuteChart('minutes.refused', number),
    };
    this.append(this.apps, this.others, h('div', { class: 'minute-charts' }, ...Object.values(this.charts).map(({ element }) => element)),
      table(t('request.title'), ['request.name', 'system.state', 'request.lag', 'request.evaluations', 'request.p50', 'request.p99', 'request.failures'], this.requests),
      this.limits, h('h3', {}, t('process.title')),
      table(t('process.title'), ['process.name', 'system.state', 'process.detail'], this.processes));
  }

  load() {
    return ask('/operator/requests');
  }

  show({ limits, requests, processes, dead_letters: letters, broken_apps: broken, waiting_apps: waiting, minutes }) {
    for (const [name, chart] of Object.entries(this.charts)) chart.show(minutes[name]);
    this.apps.hidden = !broken.length;
    this.broken.replaceChildren(...broken.map((fault) => this.#fault(fault)));
    this.others.hidden = !waiting.length;
    this.waiting.replaceChildren(...waiting.map(({ app, kinds }) => h('tr', { 'data-waits': app }, h('th', { scope: 'row' }, app), h('td', {}, h('code', {}, kinds.join(', '))))));
    this.requests.replaceChildren(...requests.map((request) => this.#request(request)));
    this.processes.replaceChildren(...processes.map((process) => this.#process(process)));
    setText(this.limits, [t('request.limits', limits), t('request.letters', letters)].join(' '));
  }

  #request({ request, answered, lag_s: lag, lag_bytes: behind, lag_grows: grows, hour, last_failure: failure, slow_because: slow }) {
    const isFine = !slow.length && !failure;
    const state = h('span', { class: 'chip', 'data-ok': String(isFine) }, t(slow.length ? 'request.slow' : failure ? 'request.failed' : 'system.ok'));
    const notes = [...slow, failure ? t('request.lastfailure', { age: ago((Date.now() - Date.parse(failure.at)) / 1000), error: failure.error }) : null].filter(Boolean);
    const late = answered === null ? t('request.never') : [lag === null ? null : duration(lag), behind ? t('request.bytes', { bytes: bytes.format(behind) }) : null, grows ? t('request.grows') : null].filter(Boolean).join(', ');
    return h('tr', { 'data-request': request }, h('th', { scope: 'row' }, h('code', {}, request), ...notes.map((note) => h('p', { class: 'quiet' }, note))),
      h('td', {}, state), h('td', {}, late), h('td', {}, number(hour.evaluations)), h('td', {}, inMs(hour.p50_s)), h('td', {}, inMs(hour.p99_s)), h('td', {}, number(hour.failures)));
  }

  #fault({ app, part, reason, times, last }) {
    return h('tr', { 'data-app': app }, h('th', { scope: 'row' }, app), h('td', {}, h('code', {}, part)),
      h('td', {}, reason, h('p', { class: 'quiet' }, t('broken.times', { times, age: ago((Date.now() - Date.parse(last)) / 1000) }))));
  }

  #process({ process, alive, age_s: age, problem, detail }) {
    const state = h('span', { class: 'chip', 'data-ok': String(alive && !problem) }, t(alive ? 'system.ok' : 'process.silent'));
    const numbers = Object.entries(detail ?? {}).filter(([name]) => !name.endsWith('_ms'))
      .map(([name, value]) => `${name} ${typeof value === 'number' ? number(value) : value}`).join(', ');
    return h('tr', { 'data-process': process }, h('th', { scope: 'row' }, process), h('td', {}, state),
      h('td', {}, [problem, age === null ? null : t('process.heard', { age: ago(age) }), numbers].filter(Boolean).join(' · ')));
  }
});
