// For developers: what each evaluation did, and why somebody was not told something.
import { ask, query } from './api.js';
import { city } from './city.js';
import { h, keyed, setHidden, setText } from './elements.js';
import { eventTitle } from './event-card.js';
import { noticeCard } from './notice-card.js';
import { heldWords } from './notice-actions.js';
import { heldBecause } from './notices.js';
import { language, number, t } from './strings.js';
import { at } from './times.js';
import { NAME, user } from './user.js';
import { wishes } from './wishes.js';

const EVERY_MS = 3000;
const PAGE = 50;
const TEMPLATES = 'templates';
const OURS = /\w+:\/\/[\w.]+\/citywise\//g; // What all our names begin with.
const given = new URLSearchParams(location.search);

customElements.define('trace-list', class extends HTMLElement {
  #asked = 0;
  #next = null;
  #isAwaited = false; // Whether somebody waits for an answer.

  connectedCallback() {
    const reload = () => this.#load();
    this.request = h('select', { onchange: reload },
      h('option', { value: TEMPLATES }, t('trace.templates')), h('option', { value: '' }, t('trace.all')));
    this.which = h('select', { onchange: reload },
      ...['all', 'changed', 'failed'].map((which) => h('option', { value: which }, t(`trace.which.${which}`))));
    this.list = h('ul', { class: 'letters' });
    this.empty = h('p', { class: 'empty', hidden: true }, t('trace.none'));
    this.more = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#isAwaited || this.#load(this.#next) }, t('trace.more'));
    this.append(h('div', { class: 'fields' },
      h('label', { class: 'field' }, h('span', {}, t('trace.request')), this.request),
      h('label', { class: 'field' }, h('span', {}, t('trace.which')), this.which)),
    this.list, this.empty, this.more);
    this.#offer();
    user.follow(() => {
      if (user.isDeveloping) this.#load();
    });
    // Not while somebody reads: the list moves down as it grows.
    setInterval(() => user.isDeveloping && !this.querySelector('details[open]') && !this.#isAwaited && this.list.childElementCount <= PAGE && this.#load(null, false), EVERY_MS);
  }

  async #offer() {
    const { apps } = await ask('/apps').catch(() => ({ apps: [] }));
    for (const { name, templates } of apps) {
      for (const { name: template, versions } of templates) {
        const requests = versions.map((version) => `${name}/${template}@${version}`).reverse();
        this.request.append(...requests.map((request) => h('option', { value: request }, request)));
      }
    }
  }

  // What is under way disables no button: it would lose the focus.
  async #load(before = null, isAwaited = true) {
    const asked = ++this.#asked;
    this.#isAwaited = isAwaited;
    const { value: request } = this.request;
    const which = request === TEMPLATES ? { templates: true } : { request };
    const wanted = { limit: PAGE, before, idle: 'false', ...which };
    if (this.which.value !== 'all') wanted[this.which.value] = true;
    let body;
    try {
      body = await ask(`/traces${query(wanted)}`);
    } catch {
      body = null;
    }
    if (asked !== this.#asked) return; // Something else was asked for since.
    this.#isAwaited = false;
    if (!body) {
      setText(this.empty, t('list.failed'));
      this.empty.hidden = false;
      return;
    }
    const first = before ? this.traces.length : 0;
    this.traces = before ? [...this.traces, ...body.traces] : body.traces;
    keyed(this.list, this.traces, ({ id }) => id, (trace) => this.#item(trace), () => null);
    setText(this.empty, t('trace.none'));
    this.empty.hidden = this.list.childElementCount > 0;
    this.#next = body.next;
    setHidden(this.more, body.next === null, () => this.list.children[first]?.querySelector('summary'));
  }

  #item(trace) {
    // The city's own requests have neither instances nor notices.
    const told = trace.request.includes('/') ? ['instances', 'facts', 'took', 'notices'] : ['facts', 'took'];
    const measured = told.map((name) => t(`trace.${name}`, {
      count: { instances: trace.keys, facts: trace.items, took: trace.seconds * 1000, notices: trace.notices }[name],
    })).join(' · ');
    const details = h('details', { 'data-trace': trace.id },
      h('summary', {}, h('time', { datetime: trace.t, class: 'chip' }, at(Date.parse(trace.t), city.now())),
        h('span', { class: 'topic' }, trace.request), h('span', { class: 'quiet' }, measured),
        trace.error ? h('span', { class: 'chip', 'data-ok': 'false' }, t('trace.failed')) : null));
    details.addEventListener('toggle', () => details.childElementCount === 1 && details.append(this.#details(trace)));
    return h('li', {}, details);
  }

  #details(trace) {
    const { error, atoms, position, changed } = trace;
    const why = document.querySelector('why-not');
    const row = (key, ...value) => h('div', {}, h('dt', {}, t(key)), h('dd', {}, ...value));
    const asked = (id) => h('button', { type: 'button', class: 'link', onclick: () => why.about({ instance: id, trace: trace.id }) }, id);
    return h('dl', { class: 'facts' },
      error ? row('trace.error', error) : null,
      row('trace.answer', t('trace.atoms', { count: atoms })),
      row('trace.position', position === null ? '–' : number(position)),
      row('trace.evaluated', h('ul', {}, ...changed.instances.map((id) => h('li', {}, asked(id))))),
      row('trace.sent', h('ul', {}, ...changed.notices.map((notice) => h('li', {}, this.#sent(notice))))));
  }

  #sent(notice) {
    const { change, instance, notice: kind, about, criticality } = notice;
    return `${t(`trace.change.${change}`)}: ${kind}, ${about} → ${instance} (${criticality})`;
  }
});

/** A text of rules with short names. */
const short = (text) => text.replace(OURS, '');

/** Let a field's list of choices hold values, each with what people read. */
const offer = ({ choices }, values) =>
  choices.replaceChildren(...values.map(([value, label]) => h('option', { value, label })));

customElements.define('why-not', class extends HTMLElement {
  connectedCallback() {
    const field = (name, attributes) => {
      const choices = h('datalist', { id: `why-${name}` });
      const input = h('input', { type: 'text', name, list: choices.id, autocomplete: 'off', ...attributes });
      return { input, choices, element: h('label', { class: 'field' }, h('span', {}, t(`why.${name}`)), input, choices) };
    };
    this.fields = {
      instance: field('instance', { required: true, pattern: NAME, onchange: () => this.#offerKinds() }),
      notice: field('notice', {}),
      about: field('about', {}),
      at: field('at', { placeholder: '2014-08-05T07:30:00Z' }),
    };
    this.error = h('p', { class: 'field-error', role: 'alert' });
    this.answer = h('div', { class: 'answer', role: 'region', 'aria-label': t('why.result'), hidden: true });
    const form = h('form', { novalidate: true, onsubmit: (event) => this.#ask(event) },
      h('div', { class: 'fields' }, ...Object.values(this.fields).map(({ element }) => element)),
      h('p', { class: 'quiet' }, t('why.help')),
      h('button', { type: 'submit', class: 'button primary' }, t('why.ask')));
    this.told = h('ul', { class: 'cards', hidden: true });
    this.append(this.told, given.has('id') ? h('details', { class: 'why' }, h('summary', {}, t('why.other')), form) : form, this.error, this.answer);
    city.follow(() => {
      this.#offerThings();
      this.#nameAgain();
    });
    user.follow(() => this.#offerInstances());
    if (given.has('id')) this.#aboutNotice(Object.fromEntries(given));
    else if (given.has('instance')) this.about(Object.fromEntries(given));
  }

  /** Of a notice that is known: itself, in words, and why it was when it was opened. */
  async #aboutNotice({ id, ...asked }) {
    const notice = await ask(`/notices/${encodeURIComponent(id)}${query({ lang: language })}`).catch(() => null);
    if (notice) {
      const card = noticeCard(notice, { isTrial: true });
      city.follow(() => card.update(notice, city.now()));
      const because = heldBecause(notice);
      this.told.replaceChildren(h('li', {}, card.element), because ? h('li', { class: 'held-why' }, heldWords(notice, because)) : '');
      this.told.hidden = false;
      this.#because(notice);
      this.name = notice.about.name;
    }
    this.about({ ...asked, at: notice?.opened ?? asked.at, orNow: true });
  }

  /** Why, in one sentence: whose alert it was, and how it stands to what the person asked for. */
  #because({ title, about, criticality }) {
    const sentence = h('p', { class: 'verdict' });
    this.told.prepend(h('li', {}, sentence));
    wishes.follow(() => setText(sentence, t('why.because', { alert: title, name: about.name, level: criticality, least: wishes.now?.threshold ?? 1 })));
  }

  /** What people call an event or a place. */
  #nameOf(about) {
    const event = city.events.get(about);
    return event ? `${eventTitle(event)}, ${event.place.name}` : this.name ?? city.places.get(about)?.name ?? about;
  }

  /** Offer the person's own instances, and then the kinds of notices of the one chosen. */
  async #offerInstances() {
    if (!user.id) return;
    const { instances } = await ask(`/instances${query({ user: user.id, limit: 1000 })}`).catch(() => ({ instances: [] }));
    this.instances = instances;
    offer(this.fields.instance, instances.map(({ id, title }) => [id, title ?? id]));
    this.#offerKinds();
  }

  async #offerKinds() {
    const chosen = this.instances?.find(({ id }) => id === this.fields.instance.input.value.trim());
    if (!chosen || this.app === chosen.app) return;
    this.app = chosen.app;
    const { templates } = await ask(`/apps/${chosen.app}${query({ lang: language })}`).catch(() => ({ templates: [] }));
    offer(this.fields.notice, (templates[0]?.notices ?? []).map(({ name, title }) => [name, title]));
  }

  /** Offer open events, the newest first, and places. */
  #offerThings() {
    const events = city.openEvents().sort((a, b) => b.startMs - a.startMs);
    const count = events.length + city.places.size;
    const latest = `${count} ${events[0]?.id}`;
    if (this.offered === latest) return;
    this.offered = latest;
    offer(this.fields.about, [
      ...events.map((event) => [event.id, `${eventTitle(event)}: ${event.place.name}`]),
      ...[...city.places.values()].map(({ id, name }) => [id, name])]);
  }

  /**
   * Fill in what is asked about, and ask; `trace` is the evaluation meant, if not the last;
   * with `orNow` it is about now where nobody knows any more how it was then.
   */
  about(values) {
    for (const [name, { input }] of Object.entries(this.fields)) input.value = values[name] ?? '';
    this.#offerKinds();
    this.#ask(null, values.trace, values.orNow);
    this.scrollIntoView({ block: 'start' });
  }

  async #ask(event, trace = null, orNow = false) {
    event?.preventDefault();
    const values = Object.fromEntries(Object.entries(this.fields).map(([name, { input }]) => [name, input.value.trim()]));
    setText(this.error, '');
    this.answer.hidden = true;
    const { input } = this.fields.instance;
    input.toggleAttribute('aria-invalid', !input.validity.valid);
    if (!input.validity.valid) {
      setText(this.error, t(input.value ? 'user.wrong' : 'why.which'));
      input.focus();
      return;
    }
    try {
      this.#show(await ask(`/why${query({ ...values, trace, at: trace ? null : values.at })}`));
    } catch ({ message }) {
      if (orNow && values.at) {
        this.fields.at.input.value = '';
        await this.#ask(null);
      } else {
        setText(this.error, message);
      }
    }
  }

  /** The verdict, with the name that the city has by now for what it is about. */
  #nameAgain() {
    if (!this.verdict) return;
    const { words, about, at: time } = this.verdict;
    setText(this.verdict.element, t(words, { about: about && this.#nameOf(about), time: at(Date.parse(time), city.now()) }));
  }

  #show({ at: time, told, about, text, inputs, answer }) {
    const isClosed = told !== null && !user.isDeveloping;
    const words = told === null ? 'why.then' : told ? 'why.told' : 'why.nottold';
    this.verdict = { words, about, at: time, element: h('p', { class: 'verdict' }) };
    this.#nameAgain();
    const part = (key, atoms) => h('details', { class: 'why', open: told === null }, h('summary', {}, t(key, { count: atoms.length })),
      h('ul', { class: 'atoms' }, ...atoms.map((atom) => h('li', {}, h('code', {}, short(atom))))));
    this.answer.replaceChildren(
      this.verdict.element,
      told === null ? h('p', { class: 'quiet' }, t('why.choose')) : '',
      h('details', { class: 'why rules', open: !isClosed }, h('summary', {}, t('why.rules')),
        text ? h('pre', { class: 'tree', tabindex: '0' }, short(text)) : '',
        part('why.inputs', inputs), part('why.concluded', answer)));
    this.answer.hidden = false;
  }
});
