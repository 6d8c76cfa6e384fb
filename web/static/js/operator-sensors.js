// Sensors that are silent or tell what cannot be, and why one thinks so.
import { ask, query } from './api.js';
import { h, keyed, setText } from './elements.js';
import { kindName } from './kinds.js';
import { OperatorPart } from './operator-part.js';
import { knows, number, t } from './strings.js';
import { ago, duration } from './times.js';

const STATES = ['silent,implausible', 'silent', 'implausible', 'ok'];
const MOST = 100;
const MOST_ON_MAP = 5000;

/** A reason in the page's language, else as the server words it. */
function reasonWords({ check, text, numbers = {} }) {
  if (!knows(`sensor.check.${check}`)) return text;
  const values = Object.fromEntries(Object.entries(numbers).map(([name, value]) =>
    [name, name.endsWith('_s') && typeof value === 'number' ? duration(value) : value]));
  return t(`sensor.check.${check}`, values);
}

/** Names and values in a line; what is unknown is left out. */
function listed(values) {
  const known = Object.entries(values).filter(([, value]) => value !== null);
  return known.map(([name, value]) => `${name} ${shown(value)}`).join(', ');
}

/** How many readings came late, were corrected or withdrawn; empty if none. */
const revisedWords = (revised) => Object.entries(revised).filter(([, count]) => count > 0)
  .map(([what, count]) => t(`sensor.revised.${what}`, { count })).join(', ');

/** How far rules trust it, and how exact its values are; empty where nothing is known. */
function trust(reliability) {
  if (!reliability) return [];
  const { percent, because, accuracy } = reliability;
  const off = Object.entries(accuracy).map(([name, value]) => `${name} ± ${number(value)}`).join(', ');
  return [because ? t('sensor.doubted', { percent, why: t(`sensor.doubt.${because}`) }) : t('sensor.reliability', { percent }), off];
}

function shown(value) {
  if (typeof value === 'number') return number(value);
  return typeof value === 'object' ? JSON.stringify(value) : value;
}

customElements.define('operator-sensors', class extends OperatorPart {
  build() {
    const reload = () => this.refresh();
    this.state = h('select', { onchange: reload }, ...STATES.map((state) => h('option', { value: state }, t(`sensor.show.${state.replace(',', '.')}`))));
    this.kinds = h('optgroup', { label: t('sensor.kind') });
    this.kind = h('select', { onchange: reload }, h('option', { value: '' }, t('sensor.all')), this.kinds);
    this.counts = h('p', { class: 'quiet' });
    this.list = h('ul', { class: 'cards' });
    this.empty = h('p', { class: 'empty', 'data-good': true, hidden: true }, t('sensor.none'));
    this.map = h('div', {});
    this.onMap = h('details', { class: 'sensor-map', ontoggle: reload }, h('summary', {}, t('sensor.map')), this.map);
    this.append(h('div', { class: 'fields' },
      h('label', { class: 'field' }, h('span', {}, t('sensor.show')), this.state),
      h('label', { class: 'field' }, h('span', {}, t('sensor.kind')), this.kind)), this.counts, this.onMap, this.list, this.empty);
  }

  async load() {
    const kind = this.kind.value || null;
    const [found, all] = await Promise.all([ask(`/operator/sensors${query({ state: this.state.value, kind, limit: MOST })}`),
      this.onMap.open ? ask(`/operator/sensors${query({ kind, limit: MOST_ON_MAP })}`) : null]);
    return { ...found, all };
  }

  /** The map, made when it is first unfolded: it has all sensors, whichever the list shows. */
  async #draw({ sensors }) {
    this.drawn ??= import('./sensor-map.js').then(({ SensorMap }) => SensorMap.in(this.map, reasonWords));
    try {
      (await this.drawn).show(sensors);
    } catch {
      this.drawn = null;
      setText(this.fault, t('sensor.map.failed'));
    }
  }

  show({ counts, sensors, truncated, all }) {
    if (all) this.#draw(all);
    keyed(this.kinds, Object.keys(counts), (kind) => kind, (kind) => h('option', { value: kind }), (option, kind) => setText(option, kindName(kind)));
    const some = Object.entries(counts).filter(([, count]) => Object.values(count).some(Boolean));
    const lines = some.map(([kind, count]) => t('sensor.count', { kind: kindName(kind), ok: count.ok ?? 0, silent: count.silent ?? 0, implausible: count.implausible ?? 0 }));
    setText(this.counts, lines.join(' · '));
    keyed(this.list, sensors, ({ kind, place }) => `${kind} ${place.id}`, (sensor) => this.#item(sensor), (item, sensor) => this.#update(item, sensor));
    this.empty.hidden = sensors.length > 0;
    if (truncated) setText(this.counts, `${this.counts.textContent} · ${t('sensor.truncated', { count: MOST })}`);
  }

  #item({ kind, place }) {
    const parts = { state: h('span', { class: 'chip' }), reasons: h('ul', { class: 'bullets' }), last: h('p', { class: 'quiet' }) };
    const map = typeof place.lat === 'number' ? h('a', { href: `/${query({ place: place.id })}` }, t('event.show'), h('span', { class: 'visually-hidden' }, `: ${place.name}`)) : null;
    const element = h('li', {}, h('article', { 'data-sensor': `${kind} ${place.id}` },
      h('header', {}, h('h3', {}, place.name ?? place.id), parts.state), parts.reasons, h('div', { class: 'line' }, parts.last, map)));
    return Object.assign(element, { parts });
  }

  #update({ parts }, { kind, state, reasons, last, revised = {}, reliability, period_s: period }) {
    parts.state.dataset.ok = String(state === 'ok');
    setText(parts.state, t(`sensor.${state}`));
    const words = reasons.map(reasonWords);
    if (parts.reasons.textContent !== words.join('')) parts.reasons.replaceChildren(...words.map((text) => h('li', {}, text)));
    const heard = last ? `${ago(last.age_s)}: ${listed(last.values)}` : t('sensor.never');
    const extra = last ? listed(last.extra) : '';
    setText(parts.last, [kindName(kind), heard, extra ? t('sensor.extra', { fields: extra }) : '', period ? t('sensor.period', { time: duration(period) }) : '', revisedWords(revised), ...trust(reliability)].filter(Boolean).join(' · '));
  }
});
