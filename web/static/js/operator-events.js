// Road works, closures and the like, opened, changed and ended by hand.
import { ask, query, wrong } from './api.js';
import { city } from './city.js';
import { h, keyed, setText } from './elements.js';
import { eventFile } from './event-file.js';
import { fieldsForm } from './fields-form.js';
import { labelledField, textField } from './labelled-field.js';
import { levelMeter, levelWords } from './levels.js';
import { OperatorPart } from './operator-part.js';
import { isOutline } from './outlines.js';
import { placeSelect } from './parameter-places.js';
import { language, t } from './strings.js';
import { at, fromLocalInput, localInput } from './times.js';
import { toast } from './toast.js';

const LONGEST_NAME = 200;
const USUAL_LEVEL = 3;
const KEPT = 'citywise-byhand';
const given = new URLSearchParams(location.search);

const timeField = (name, title, help) => {
  const field = textField({ name, title: t('form.optional', { title }), help, type: 'datetime-local', required: false });
  return { ...field, value: () => (field.input.value ? new Date(fromLocalInput(field.input.value)).toISOString() : null) };
};

function levelField() {
  const input = h('select', {}, ...[1, 2, 3, 4, 5].map((level) => h('option', { value: level, selected: level === USUAL_LEVEL }, levelWords(level))));
  return { ...labelledField({ name: 'level', title: t('byhand.level'), input }), input, value: () => Number(input.value), check: () => true, focus: () => input.focus() };
}

/** What was typed stays while a point is chosen on the map: `inputs` by name. */
const whilePicking = (inputs) => ({
  keep() {
    const values = Object.entries(inputs).map(([name, { value }]) => [name, value]);
    sessionStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(values)));
  },
  bringBack() {
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? '{}');
    sessionStorage.removeItem(KEPT);
    for (const [name, value] of Object.entries(kept)) inputs[name].value = value;
    return kept;
  },
});

function typeField() {
  const input = h('select', { required: true }, h('option', { value: '' }, t('form.choose')));
  const field = labelledField({ name: 'type', title: t('list.type'), input });
  let wanted = null;
  const choose = (type) => (wanted = type);
  const offer = (labels) => {
    if (input.options.length > 1) return;
    const named = [...labels].sort(([, a], [, b]) => a.localeCompare(b, language));
    input.append(...named.map(([type, label]) => h('option', { value: type, selected: type === wanted }, label)));
  };
  return { ...field, input, offer, choose, value: () => input.value, focus: () => input.focus(), check() {
    field.say(input.value ? null : t('form.missing'));
    return Boolean(input.value);
  } };
}

/** The section of a street, or the outline of an area, that was drawn on the map, as [longitude, latitude] of each point. */
function drawn() {
  const points = (given.get('line') ?? '').split(';').map((point) => point.split(',').map(Number));
  return points.length > 1 && points.flat().every(Number.isFinite) ? points.map(([lat, lon]) => [lon, lat]) : null;
}

/** What was drawn, in words; an outline ends where it begins. */
function drawing(line) {
  const isArea = isOutline(line);
  return t(isArea ? 'byhand.area' : 'byhand.section', { points: t('byhand.section.points', { count: line.length - Number(isArea) }) });
}

/** Where it is: a place that is known, a point, a section of a street, or an area. */
function whereField(onpick) {
  let line = drawn();
  const { select, element } = placeSelect(() => true, { title: t('list.place'), 'aria-label': t('list.place') });
  const number = (name, min, max) => h('input', { type: 'number', step: 'any', min, max, value: given.get(name) });
  const [lat, lon] = [number('lat', -90, 90), number('lon', -180, 180)];
  const labelled = (name, input) => h('label', { class: 'field' }, h('span', {}, t(`form.area.${name}`)), input);
  const point = h('div', { class: 'number point' }, labelled('lat', lat), labelled('lon', lon), h('a', { class: 'button', href: '/?pick', onclick: onpick }, t('byhand.onmap')));
  const draw = h('a', { class: 'button', href: '/?pick=line', onclick: onpick }, t('byhand.draw.begin'));
  const points = h('span', {}, line ? drawing(line) : '');
  const off = h('button', { type: 'button', class: 'button small', onclick: () => {
    line = null;
    show();
    draw.focus();
  } }, t('byhand.section.remove'));
  const section = h('div', { class: 'section' }, draw, points, off);
  const show = () => (points.hidden = off.hidden = line === null);
  show();
  const field = labelledField({ name: 'place_id', title: t('byhand.where'), help: t('byhand.where.help'), input: select, element: h('div', { class: 'stack' }, element, point, section), group: true });
  const hasPoint = () => lat.value !== '' && lon.value !== '';
  return {
    ...field,
    focus: () => (hasPoint() ? lat : select).focus(),
    check() {
      const isValid = lat.checkValidity() && lon.checkValidity();
      const isThere = select.value || line || hasPoint();
      field.say(isThere && isValid ? null : t(isValid ? 'form.missing' : 'byhand.badpoint'));
      return Boolean(isThere && isValid);
    },
    isPoint: () => !select.value && (line !== null || hasPoint()),
    value() {
      if (select.value) return { place_id: select.value };
      return { geometry: line ? { type: 'LineString', coordinates: line } : { type: 'Point', coordinates: [Number(lon.value), Number(lat.value)] } };
    },
    /** What was drawn has been published. */
    clear() {
      line = null;
      show();
    },
  };
}

/** Take back what was done, with its entry in the list of actions. */
const undo = (audit, then) => async () => {
  try {
    await ask(`/audit/${audit}/undo`, { method: 'POST' });
  } catch (error) {
    toast(wrong(error));
  }
  await then();
};

/** What types of events are called here, the first letter capital. */
const labelsOf = (types) => new Map(types.map(({ type, labels }) => {
  const label = labels[language] ?? labels.en ?? type;
  return [type, label[0].toLocaleUpperCase(language) + label.slice(1)];
}));

customElements.define('operator-events', class extends OperatorPart {
  build() {
    this.type = typeField();
    const name = textField({ name: 'name', title: t('form.optional', { title: t('form.name') }), help: t('byhand.name.help'), maxlength: LONGEST_NAME, required: false });
    const level = levelField();
    const [start, until] = ['start', 'until'].map((key) => timeField(key, t(`byhand.${key}`), t(`byhand.${key}.help`)));
    const whereIs = whereField(() => typed.keep());
    // A place has a name; of a point people must be told where it is.
    const named = { ...name, check: () => {
      name.input.required = whereIs.isPoint();
      return name.check();
    } };
    const typed = whilePicking({ type: this.type.input, name: name.input, level: level.input, start: start.input, until: until.input });
    if (given.has('lat') || given.has('line')) this.type.choose(typed.bringBack().type);
    const form = fieldsForm({
      fields: [this.type, whereIs, named, level, start, until],
      submit: t('byhand.open'),
      send: async ({ place_id: where, name, ...rest }) => {
        const opened = await ask('/operator/events', { method: 'POST', body: { ...rest, ...where, ...(name.trim() ? { name: name.trim() } : {}) } });
        form.reset();
        whereIs.clear();
        this.#say(opened, opened.state === 'planned' ? 'byhand.planned' : 'byhand.opened');
        await this.refresh();
      },
    });
    this.list = h('ul', { class: 'cards' });
    this.empty = h('p', { class: 'empty', hidden: true }, t('byhand.none'));
    this.ended = h('input', { type: 'checkbox', onchange: () => this.refresh() });
    this.append(h('div', { class: 'columns' }, h('div', {}, h('h3', {}, t('byhand.new')), form, eventFile(() => this.labels ?? new Map(), (answer) => this.#imported(answer))),
      h('div', {}, h('h3', {}, t('byhand.mine')), h('label', { class: 'tick' }, this.ended, t('byhand.ended')), this.list, this.empty)));
  }

  load() {
    const state = this.ended.checked ? 'planned,open,ended,withdrawn' : null;
    return ask(`/operator/events${query({ state })}`);
  }

  show({ events, types }) {
    this.labels = labelsOf(types);
    this.type.offer(this.labels);
    keyed(this.list, events, ({ id }) => id, (event) => this.#item(event), (item, event) => this.#update(item, event));
    this.empty.hidden = events.length > 0;
  }

  #item(event) {
    const level = levelMeter();
    const parts = { level, state: h('span', { class: 'chip' }), times: h('p', { class: 'quiet' }) };
    const title = this.labels.get(event.type) ?? event.type;
    const until = h('input', { type: 'datetime-local', 'aria-label': t('byhand.until') });
    const act = (key, onclick) => h('button', { type: 'button', class: 'button small', 'aria-label': `${t(key)}: ${title}, ${event.name}`, onclick }, t(key));
    const name = h('p', { class: 'card-place' });
    const change = h('details', { class: 'why' }, h('summary', {}, t('byhand.change')), h('div', { class: 'number' }, until,
      act('form.save', () => this.#do(`/operator/events/${event.id}`, 'PATCH', 'byhand.changed', { until: until.value ? new Date(fromLocalInput(until.value)).toISOString() : null }))));
    const over = (key, said) => act(key, () => this.#do(`/operator/events/${event.id}/end`, 'POST', said));
    const [end, withdraw] = [over('byhand.end', 'byhand.isended'), over('byhand.withdraw', 'byhand.iswithdrawn')];
    Object.assign(parts, { name, until, change, end, withdraw });
    return Object.assign(h('li', {}, h('article', { 'data-byhand': event.id }, h('header', {}, h('h3', {}, title), level.meter),
      name, h('div', { class: 'line' }, parts.times, parts.state), h('div', { class: 'actions' }, end, withdraw), change)), { parts });
  }

  #update({ parts }, event) {
    const now = city.now();
    parts.level.show(event.level);
    setText(parts.name, event.name);
    setText(parts.state, t(`byhand.is.${event.state}`));
    const until = event.end ?? event.until;
    setText(parts.times, [at(Date.parse(event.start), now), until ? at(Date.parse(until), now) : t('byhand.openend')].join(' – '));
    parts.end.hidden = event.state !== 'open';
    parts.withdraw.hidden = event.state !== 'planned';
    parts.change.hidden = parts.end.hidden && parts.withdraw.hidden;
    if (!parts.change.open) parts.until.value = event.until ? localInput(Date.parse(event.until)) : '';
  }

  async #do(path, method, key, body) {
    try {
      this.#say(await ask(path, { method, body }), key);
    } catch (error) {
      toast(wrong(error), { focus: true });
    }
    await this.refresh();
  }

  async #imported({ events, known, audit }) {
    const said = [t('eventfile.published', { count: events.length }), known && t('eventfile.known', { count: known })].filter(Boolean).join(' ');
    toast(said, { focus: true, undo: audit === null ? null : undo(audit, () => this.refresh()) });
    await this.refresh();
  }

  #say({ type, name, audit }, key) {
    const what = `${this.labels?.get(type) ?? type}, ${name}`;
    toast(t(key, { what }), { focus: true, undo: undo(audit, () => this.refresh()) });
  }
});
