// One slider from some hours ago to some hours ahead, and what is usual at that hour.
import { wrong } from './api.js';
import { city } from './city.js';
import { h, setText } from './elements.js';
import { expected, nothing, past } from './moments.js';
import { t } from './strings.js';
import { ago, at, atMinute, duration, onWeekday } from './times.js';

const MINUTE_MS = 60_000;
const [MOST, STEP] = [360, 15]; // Minutes either way.
const GRID_MS = 5 * MINUTE_MS; // Answers that are kept serve times that are near.
const SETTLED_MS = 150;
const AGAIN_MS = 5000; // Where the city's time flies, what is shown follows so often.

/** The slider in a part of the map that is unfolded; while it is off now, the map says so. */
export class MomentSlider {
  #asked = ''; // What was asked for last.
  #askedAt = 0;
  #timer;
  #heard = '';

  constructor(map, details) {
    this.map = map;
    this.details = details;
    this.range = h('input', { type: 'range', min: -MOST, max: MOST, step: STEP, value: 0, 'aria-label': t('moment.slider'), oninput: () => this.#chosen() });
    this.words = h('output', { class: 'moment-words', 'aria-live': 'off' });
    this.usual = h('input', { type: 'checkbox', onchange: () => this.#chosen() });
    const ends = [-MOST, 0, MOST].map((minutes) => h('span', {}, minutes ? t(minutes < 0 ? 'moment.ago' : 'moment.ahead', { n: MOST / 60 }) : t('moment.now')));
    this.element = h('div', { class: 'moment' }, this.words, this.range, h('p', { class: 'moment-ends quiet', 'aria-hidden': 'true' }, ...ends),
      h('label', { class: 'tick' }, this.usual, t('moment.usual')));
    this.told = [h('span', { role: 'status' }), h('span', {})]; // On the map, and above the lists.
    this.back = h('button', { type: 'button', class: 'button', onclick: () => this.#goBack() }, t('moment.back'));
    this.banner = h('p', { class: 'then', hidden: true }, this.told[0], this.back);
    this.note = h('p', { class: 'then', hidden: true }, this.told[1]);
    this.lead = map.querySelector('.map-lead');
    this.lead.before(this.banner);
    document.querySelector('.panel')?.prepend(this.note);
    city.follow(() => this.#show());
  }

  get #offset() {
    return Number(this.range.value);
  }

  get #isNow() {
    return !this.#offset && !this.usual.checked;
  }

  /** What to show: `past`, `expected` or `usual`. */
  get #by() {
    return this.usual.checked ? 'usual' : this.#offset < 0 ? 'past' : 'expected';
  }

  get #at() {
    return Math.floor(city.now() / GRID_MS) * GRID_MS + this.#offset * MINUTE_MS;
  }

  #chosen() {
    this.#askedAt = 0;
    clearTimeout(this.#timer);
    if (this.#isNow) {
      this.#asked = '';
      city.lookAt(null);
    } else {
      this.#timer = setTimeout(() => this.#load(), SETTLED_MS);
    }
    this.#show();
  }

  #goBack() {
    this.range.value = 0;
    this.usual.checked = false;
    this.#chosen();
    (this.details.open ? this.range : this.details.querySelector('summary')).focus();
  }

  /** What was chosen, whatever time it is. */
  get #wanted() {
    return `${this.#by} ${this.#offset}`;
  }

  async #load() {
    const [by, atMs, wanted] = [this.#by, this.#at, this.#wanted];
    this.#asked = `${wanted} ${atMs}`;
    this.#askedAt = performance.now();
    const asked = this.#asked;
    let moment = nothing(atMs);
    let fault = null;
    try {
      moment = await (by === 'past' ? past(atMs) : expected(atMs, by));
    } catch (error) {
      fault = wrong(error);
    }
    if (asked !== this.#asked) return; // Another time was chosen meanwhile.
    city.lookAt({ ...moment, wanted, fault });
    this.#show();
  }

  #show() {
    const [now, atMs] = [city.now(), this.#at];
    const time = this.usual.checked ? atMinute(atMs) : at(atMs, now);
    const which = { time, day: onWeekday(atMs), ago: ago((now - atMs) / 1000), in: duration((atMs - now) / 1000) };
    const short = t(this.#isNow ? 'moment.live' : `moment.at.${this.#by}`, which);
    setText(this.words, short);
    this.range.setAttribute('aria-valuetext', short);
    this.map.toggleAttribute('data-then', !this.#isNow);
    for (const note of [this.banner, this.note]) note.hidden = this.#isNow;
    this.lead.hidden = !this.#isNow;
    if (this.#isNow) return;
    const { moment } = city;
    const isShown = moment?.wanted === this.#wanted;
    this.#tell(isShown ? moment.fault ?? t(`moment.${moment.readings.size ? 'shown' : 'none'}.${this.#by}`, which) : t('moment.loading', which), isShown);
    if (isShown && moment.atMs !== atMs && performance.now() - this.#askedAt > AGAIN_MS) this.#load();
  }

  /** Read out once what is shown, not again as the city's time goes on. */
  #tell(words, isShown) {
    const isKnown = isShown && this.#heard === this.#wanted;
    this.told[0].setAttribute('aria-live', isKnown ? 'off' : 'polite');
    for (const place of this.told) setText(place, words);
    this.#heard = isShown ? this.#wanted : '';
  }
}
