// Whether what was planned still rests on how the city is: else planning again is offered.
import { city } from 'citywise/city.js';
import { h, setText } from 'citywise/elements.js';
import { eventTitle } from 'citywise/event-card.js';
import { t } from 'citywise/strings.js';
import { ago } from 'citywise/times.js';
import { plans } from './plans.js';
import { Way } from './trip-way.js';

const OLD_MS = 5 * 60_000;
const NEAR_M = 250;

const lines = () => plans.options.flatMap(({ geometry, drive }) => [geometry, drive?.geometry]).filter(Boolean);

/** Whether a place is close to one of the ways. */
const isNear = ({ lat, lon }) =>
  lines().some(({ coordinates }) => new Way(coordinates).distance([lon, lat]) < NEAR_M);

customElements.define('plan-conditions', class extends HTMLElement {
  connectedCallback() {
    this.hidden = true;
    this.words = h('p', { role: 'status' });
    this.append(this.words, h('button', { type: 'button', class: 'button', onclick: () => plans.find() }, t('plan.again')));
    plans.addEventListener('change', () => this.#fresh());
    city.addEventListener('event.opened', ({ detail }) => this.#opened(detail));
    city.addEventListener('event.cleared', ({ detail }) => this.#opened(detail, 'plan.changed.cleared'));
    city.addEventListener('event.withdrawn', ({ detail }) => this.#opened(detail, 'plan.changed.withdrawn'));
    city.follow(() => this.#aged());
  }

  #fresh() {
    this.hidden = true;
    this.hasChanged = false;
  }

  #opened(event, key = 'plan.changed.event') {
    if (!plans.answer || !Number.isFinite(event.place.lat) || !isNear(event.place)) return;
    this.hasChanged = true;
    this.#say(t(key, { what: eventTitle(event), where: event.place.name }));
  }

  #aged() {
    if (!plans.answer || !city.clock || this.hasChanged || plans.isBusy) return;
    const age = city.now() - Date.parse(plans.answer.now);
    if (age > OLD_MS) this.#say(t('plan.changed.old', { age: ago(age / 1000) }));
  }

  #say(text) {
    this.hidden = false;
    setText(this.words, text);
  }
});
