// The city's time, and control over it where it is a replay or a simulation.
import { ask, wrong } from './api.js';
import { city } from './city.js';
import { h, icon, setText } from './elements.js';
import { t } from './strings.js';
import { atMinute, atSecond, onDate, zoneName } from './times.js';
import { user } from './user.js';

const SPEEDS = [1, 10, 60, 300, 900, 3600];
const FAST = 300; // From here on seconds fly by too fast to be read.
const MESSAGE_MS = 6000;

customElements.define('city-time', class extends HTMLElement {
  #speed = 60; // What play goes back to.
  #asked = null; // What was asked for last and not yet seen in the clock.

  connectedCallback() {
    this.clock = h('time', { class: 'clock' });
    this.day = h('span', { class: 'day' });
    this.zone = h('span', { class: 'zone' });
    this.mode = h('span', { class: 'mode' });
    this.play = h('button', { type: 'button', class: 'round', onclick: () => this.#toggle() });
    this.speed = h('select', { 'aria-label': t('time.speed'), onchange: () => this.#choose() });
    this.message = h('p', { class: 'time-message', role: 'alert', hidden: true });
    const skip = (seconds, key) => h('button', {
      type: 'button', class: 'skip-ahead', 'aria-label': t(`${key}.label`),
      title: t(`${key}.label`), onclick: () => this.#send({ skip_s: seconds }),
    }, t(key));
    this.controls = h('div', { class: 'controls', role: 'group', 'aria-label': t('time.controls'), hidden: true },
      this.play, this.speed, skip(900, 'time.skip15'), skip(3600, 'time.skip60'));
    this.append(h('div', { class: 'now' }, this.clock, h('div', { class: 'when' }, this.day, h('span', {}, this.zone, ' · ', this.mode))),
      this.controls, this.message);
    this.#offer(SPEEDS);
    city.follow(() => this.#show());
    setInterval(() => this.#showTime(), 250);
  }

  #offer(speeds) {
    const options = speeds.map((speed) =>
      h('option', { value: String(speed) }, t('time.times', { speed: String(speed) })));
    this.speed.replaceChildren(...options, h('option', { value: 'max' }, t('time.max')));
    this.offered = speeds;
  }

  #showTime() {
    const { clock } = city;
    if (!clock) return;
    const now = city.now();
    const fast = clock.speed === null || clock.speed >= FAST;
    setText(this.clock, (fast ? atMinute : atSecond)(now));
    this.clock.dateTime = new Date(now).toISOString();
    setText(this.day, onDate(now));
    setText(this.zone, zoneName(now));
    setText(this.mode, this.#mode(clock, now));
  }

  #mode(clock, now) {
    if (clock.untilMs && now >= clock.untilMs) return t('time.ended');
    if (clock.speed === 0) return t('time.paused');
    return t(`time.${clock.source}`);
  }

  #show() {
    const { clock } = city;
    this.controls.hidden = !clock?.controllable || !user.isOperating;
    if (!clock) return;
    this.#showTime();
    const seen = clock.speed;
    if (this.#asked && (this.#asked.speed === seen || performance.now() > this.#asked.until)) {
      this.#asked = null;
    }
    const speed = this.#asked ? this.#asked.speed : seen;
    this.dataset.paused = String(speed === 0);
    if (this.play.shown !== speed) {
      this.play.shown = speed;
      const label = t(speed === 0 ? 'time.play' : 'time.pause');
      this.play.replaceChildren(icon(speed === 0 ? 'play' : 'pause'));
      this.play.setAttribute('aria-label', label);
      this.play.title = label;
    }
    if (speed !== 0) this.#speed = speed;
    if (document.activeElement === this.speed) return;
    if (this.#speed !== null && !this.offered.includes(this.#speed)) {
      this.#offer([...SPEEDS, this.#speed].sort((a, b) => a - b));
    }
    this.speed.value = this.#speed === null ? 'max' : String(this.#speed);
  }

  #toggle() {
    const paused = (this.#asked ? this.#asked.speed : city.clock.speed) === 0;
    this.#send({ speed: paused ? this.#speed : 0 });
  }

  #choose() {
    this.#speed = this.speed.value === 'max' ? null : Number(this.speed.value);
    this.#send({ speed: this.#speed });
  }

  async #send(command) {
    if ('speed' in command) this.#asked = { speed: command.speed, until: performance.now() + 4000 };
    this.#show();
    try {
      await ask('/clock', { method: 'POST', body: command });
    } catch (error) {
      this.#asked = null;
      setText(this.message, t('time.failed', { reason: wrong(error) }));
      this.message.hidden = false;
      setTimeout(() => (this.message.hidden = true), MESSAGE_MS);
    }
  }
});
