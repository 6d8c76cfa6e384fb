// What somebody asks the planners: one form for both, folded to a line once there is an answer.
import { Refused, wrong } from 'citywise/api.js';
import { city } from 'citywise/city.js';
import { h, icon, setText } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { breath } from 'citywise/slices.js';
import { t } from 'citywise/strings.js';
import { at, duration } from 'citywise/times.js';
import { limitsField } from './limits-field.js';
import { metres, minutes } from './measures.js';
import { plans } from './plans.js';
import { pointField, written } from 'citywise/point-field.js';
import { radioChips } from 'citywise/radio-chips.js';
import { remember } from 'citywise/recent-points.js';
import { blank, MODES, PARKING, TRANSIT, TRAVEL } from './request.js';
import { whenField } from './when-field.js';
import { wishesField } from './wishes-field.js';

const ALL = 'all';
const FORM = 'plan-form';
const SHEET = matchMedia('(max-width: 899px) and (min-height: 521px)'); // As in the style sheet.
const STAYS = [30, 60, 120, 180, 240, 480, 1440];
const RADII = { min: 100, max: 3000, step: 50 };

/** What a point is called: coordinates say less than the street that the planner found there. */
const nameOf = (point, told) => ((written(point?.name ?? '') && told?.name) || point?.name) ?? '';

await breath(); // Each part of the page is a task of its own.
customElements.define('plan-form', class extends HTMLElement {
  connectedCallback() {
    this.#make();
    this.#fill(plans.request);
    plans.addEventListener('change', () => this.#show());
    document.addEventListener('plan-point', ({ detail: { end, point, isDragged } }) => {
      const isPlanned = isDragged && plans.answer !== null;
      this.#take(end, point);
      if (isPlanned) this.submit();
    });
    document.addEventListener('plan-picking', ({ detail }) => this.#picking(detail));
  }

  #make() {
    const near = () => this.points.to.value() ?? this.points.from.value() ?? this.centre?.();
    const pick = (end) => () => this.#ask('plan-pick', end);
    const change = (end) => (point) => this.#changed(end, point);
    const point = (end, title, options) => pointField({ name: end, title, near, onPick: pick(end), onChange: change(end), ...options });
    this.points = { from: point('from', t('plan.from')), to: point('to', t('plan.to')) };
    this.swap = h('button', { type: 'button', class: 'wish-button plan-swap', 'aria-label': t('plan.swap'), title: t('plan.swap'), onclick: () => this.#swap() }, icon('swap'));
    this.mode = radioChips({
      name: 'mode', title: t('plan.mode'), isQuiet: true, onChange: () => plans.answer && this.submit(),
      choices: [...[...MODES, TRANSIT].map((mode) => [mode, t(`plan.mode.${mode}`), mode]), [ALL, t('plan.mode.all')]],
    });
    const kind = () => plans.kind;
    this.wishes = wishesField({ kind, onChange: () => {} });
    this.limits = limitsField({ kind, onChange: () => {} });
    this.depart = whenField({ name: 'depart', title: t('plan.when'), nowWord: t('plan.when.now'), laterWord: t('plan.when.depart'), byWord: t('plan.when.arrive') });
    this.arrive = whenField({ name: 'arrive', title: t('plan.arrive'), nowWord: t('plan.when.asap'), laterWord: t('plan.when.at') });
    this.#makeParking();
    this.more = h('details', { class: 'plan-more why' }, h('summary', {}, t('plan.more')), this.depart.element, this.arrive.element, this.limits.element);
    this.error = h('p', { class: 'field-error', role: 'alert' });
    this.go = h('button', { type: 'submit', form: FORM, class: 'button primary plan-go' });
    this.form = h('form', { id: FORM, class: 'plan-form', novalidate: true },
      h('div', { class: 'plan-ends' }, this.points.from.element, this.points.to.element, this.swap),
      this.mode.element, h('div', { class: 'plan-parking' }, this.radius.element, this.stay.element), this.wishes.element, this.more, this.error, this.go);
    this.form.addEventListener('submit', (event) => { event.preventDefault(); this.submit(); });
    this.summary = h('p', {});
    this.change = h('button', { type: 'button', class: 'button', onclick: () => this.#fold(false) }, t('plan.change'));
    this.folded = h('div', { class: 'plan-folded', hidden: true }, this.summary, this.change);
    this.append(this.#tabs(), this.folded, this.form);
    SHEET.addEventListener('change', () => this.#place());
    this.#place();
  }

  /** Where the panel is a sheet, its main button stands below all that scrolls, in reach at any height. */
  #place() {
    (SHEET.matches ? document.querySelector('.plan-bar') : this.form).append(this.go);
  }

  #makeParking() {
    const slider = h('input', { type: 'range', ...RADII });
    const said = h('output', {});
    const show = () => {
      setText(said, metres(slider.valueAsNumber));
      slider.setAttribute('aria-valuetext', said.textContent);
    };
    slider.addEventListener('input', () => { show(); plans.change({ radius: slider.valueAsNumber }); });
    this.radius = {
      ...labelledField({ name: 'radius_m', title: t('plan.radius'), input: slider, element: h('div', { class: 'number' }, slider, said) }),
      value: () => slider.valueAsNumber, set: (value) => {
        slider.max = Math.max(RADII.max, value); // A plan may have been found farther away.
        slider.value = value;
        show();
      }, focus: () => slider.focus(), check: () => true,
    };
    const stay = h('select', {}, ...STAYS.map((m) => h('option', { value: m }, duration(m * 60))));
    this.stay = {
      ...labelledField({ name: 'stay_minutes', title: t('plan.stay'), input: stay }),
      value: () => Number(stay.value), focus: () => stay.focus(), check: () => true,
      set: (value) => {
        if (!STAYS.includes(value)) stay.append(h('option', { value }, duration(value * 60)));
        stay.value = value;
      },
    };
  }

  #tabs() {
    this.tabs = [TRAVEL, PARKING].map((kind) => h('a', {
      href: kind === TRAVEL ? '/plan' : '/plan?for=parking', 'data-kind': kind,
      onclick: (event) => { event.preventDefault(); this.#turn(kind); },
    }, icon(kind === TRAVEL ? 'plan' : 'parking'), t(`plan.for.${kind}`)));
    return h('nav', { class: 'plan-tabs', 'aria-label': t('plan.for') }, ...this.tabs);
  }

  /** The fields of the planner that is open, by the path of what the API may find wrong. */
  get #fields() {
    const { from, to } = this.points;
    return plans.kind === PARKING
      ? { destination: to, from, radius_m: this.radius, stay_minutes: this.stay, arrive: this.arrive, preferences: this.wishes, constraints: this.limits }
      : { from, to, mode: this.mode, depart: this.depart, arrive: this.depart, preferences: this.wishes, constraints: this.limits };
  }

  /** The other planner; places, time and what was limited in both stay. */
  #turn(kind) {
    if (kind === plans.kind) return this.#fold(false);
    const { from, to, when } = plans.answer ? plans.request : this.#written();
    plans.clear();
    const request = { ...blank(kind), from, to, when, isArrival: kind === TRAVEL && when !== null }; // Who parks arrives.
    plans.change(request);
    this.#fill(request);
    this.#fold(false);
    this.#ask('plan-turned', kind);
    // Where one wants to go is all it takes to find a garage.
    return kind === PARKING && to ? this.submit() : undefined;
  }

  /** What is asked for now, as Back or Forward has it. */
  show(request) {
    plans.change(request);
    this.#fill(request);
    this.#fold(false);
  }

  #fill(request) {
    this.filled = request;
    const isParking = request.kind === PARKING;
    for (const tab of this.tabs) {
      if (tab.dataset.kind === request.kind) tab.setAttribute('aria-current', 'page');
      else tab.removeAttribute('aria-current');
    }
    this.dataset.kind = request.kind;
    this.points.from.set(request.from);
    this.points.to.set(request.to);
    this.#names();
    this.mode.set(request.mode ?? ALL);
    this.mode.element.hidden = this.depart.element.hidden = isParking;
    this.form.querySelector('.plan-parking').hidden = this.arrive.element.hidden = !isParking;
    this.depart.set(request.when, request.isArrival);
    this.arrive.set(request.when);
    this.radius.set(request.radius);
    this.stay.set(request.stay);
    this.wishes.set(request.wishes);
    this.limits.set(request.limits);
    this.more.open = request.limits.length > 0 || request.when !== null;
    setText(this.go, t(`plan.go.${request.kind}`));
  }

  /** Parking needs a destination only: where one comes from is second. */
  #names() {
    const isParking = plans.kind === PARKING;
    const { from, to } = this.points;
    from.call(t(isParking ? 'plan.from.optional' : 'plan.from'));
    to.call(t(isParking ? 'plan.destination' : 'plan.to'));
  }

  #written() {
    const isParking = plans.kind === PARKING;
    return {
      ...plans.request,
      from: this.points.from.value(),
      to: this.points.to.value(),
      mode: isParking || this.mode.value() === ALL ? null : this.mode.value(),
      when: (isParking ? this.arrive : this.depart).value(),
      isArrival: !isParking && this.depart.isArrival(),
      wishes: this.wishes.value(),
      limits: this.limits.value(),
      radius: this.radius.value(),
      stay: this.stay.value(),
    };
  }

  async submit() {
    setText(this.error, '');
    const fields = Object.values(this.#fields);
    const fine = await Promise.all(fields.map((field) => field.check(field !== this.points.from || plans.kind === TRAVEL)));
    const faulty = fields.find((_, index) => !fine[index]);
    if (faulty) {
      this.#fold(false);
      if (this.more.contains(faulty.element)) this.more.open = true;
      faulty.focus();
      return;
    }
    const request = this.#written();
    remember(request.to, request.from);
    this.#ask('plan-asked', request);
    await plans.find(request);
  }

  #show() {
    const { answer, error, isBusy, request } = plans;
    this.form.toggleAttribute('data-busy', isBusy);
    if (request !== this.filled) this.#fill(request);
    if (answer?.modes) for (const mode of MODES) this.mode.note(mode, answer.modes[mode] ? minutes(answer.modes[mode].time_s) : '');
    if (error) this.#refused(error);
    else if (answer && !isBusy) this.#fold(true);
  }

  #refused(error) {
    const errors = error instanceof Refused ? error.errors : [];
    const fields = this.#fields;
    const placed = errors.map(({ path, message }) => {
      const field = fields[path.split('.')[0]];
      field?.say(message, path);
      if (field && this.more.contains(field.element)) this.more.open = true;
      return field;
    });
    this.#fold(false);
    placed.find(Boolean)?.focus();
    const rest = errors.filter((_, index) => !placed[index]).map(({ path, message }) => `${path}: ${message}`);
    setText(this.error, errors.length ? rest.join('; ') : wrong(error));
    this.error.append(...errors.filter(({ suggestion }) => suggestion?.lat).map((each) => this.#suggestion(each)));
  }

  /** A button that takes the place which the API suggests instead of one that will not do. */
  #suggestion({ path, suggestion: { lat, lon } }) {
    const name = `${lat}, ${lon}`;
    const field = this.#fields[path.split('.')[0]];
    return h('button', { type: 'button', class: 'button', onclick: () => { field.set({ lat, lon, name }, true); this.submit(); } }, t('plan.suggestion', { place: name }));
  }

  /** Fold the form to a line, or open it; what has the focus keeps it, or gives it on. */
  #fold(isFolded) {
    const [form, go, folded] = [this.form, this.go, this.folded].map((part) => part.contains(document.activeElement));
    this.summary.replaceChildren(...this.#line());
    this.form.hidden = this.go.hidden = isFolded;
    this.folded.hidden = !isFolded;
    if (isFolded && (form || go)) queueMicrotask(() => this.#ask('plan-folded', null)); // When all have shown the answer.
    if (!isFolded && folded) this.points.to.focus();
  }

  #line() {
    const { kind, from, to, mode, when, isArrival, radius, stay } = plans.request;
    const clock = when === null ? t('plan.when.now') : at(when, city.now());
    const time = isArrival ? t('plan.when.by', { time: clock }) : clock;
    const values = { from: nameOf(from, plans.answer?.from), to: nameOf(to, plans.answer?.to ?? plans.answer?.destination), mode: t(`plan.mode.${mode ?? ALL}`), time, radius: metres(radius), stay: duration(stay * 60) };
    return [h('strong', {}, t(`plan.line.${kind}`, values)), ' ', h('span', { class: 'quiet' }, t(`plan.line.how.${kind}`, values))];
  }

  #changed(end, point) {
    plans.change({ [end]: point });
    this.#ask('plan-picked', null);
  }

  #take(end, point) {
    this.#fold(false);
    this.points[end].set(point);
    plans.change({ [end]: point });
  }

  #swap() {
    const { from, to } = this.#written();
    this.points.from.set(to);
    this.points.to.set(from);
    plans.change({ from: to, to: from });
  }

  #picking(end) {
    for (const [name, field] of Object.entries(this.points)) field.picking(name === end);
  }

  #ask(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  }
});
