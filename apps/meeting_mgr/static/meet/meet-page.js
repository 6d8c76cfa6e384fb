// The participant's page: who one is, what one shares, and then the meeting.
import { query, wrong } from 'citywise/api.js';
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { user } from 'citywise/user.js';
import { WakeLock } from 'citywise/wake-lock.js';
import { consentForm } from './consent-form.js';
import { joinForm } from './join-form.js';
import { beginAnew, hideKey, keepJoined, keepOff, keepsNothing, keepStage, linkKey, stage, whyAnew } from './kept.js';
import { isOpen } from '../meetings/meeting-store.js';
import { livePanel } from './live-panel.js';
import { Seat } from './seat.js';
import { Sensing } from './sensing.js';

const EVERY_MS = 1000;
const RETRY_MS = 3000;

customElements.define('meet-page', class extends HTMLElement {
  #screen = new WakeLock();
  #panel = null;

  connectedCallback() {
    this.meeting = this.getAttribute('meeting');
    this.key = linkKey(this.meeting);
    this.seat = new Seat(this.meeting);
    this.sensing = new Sensing(this.seat);
    const why = whyAnew();
    this.said = h('p', { class: 'meet-note', role: 'status' }, why ? t(`meet.anew.${why}`) : '');
    this.whole = h('div', { class: 'meet-whole' }, h('p', { class: 'quiet' }, t('meet.loading')));
    this.append(this.said, this.whole);
    this.seat.addEventListener('change', () => this.#changed());
    addEventListener('online', () => this.#again());
    user.addEventListener('left', () => location.reload()); // Streams, sensors and the microphone end with the page.
    user.load().then(() => this.#begin());
  }

  // Asked for only where one has joined: to others the meeting is not there.
  async #begin() {
    if (this.isBeginning) return; // Asked twice, what is being typed would be drawn anew.
    this.isBeginning = true;
    await this.#first();
    this.isBeginning = false;
  }

  #again() {
    if (this.dataset.stage === 'away') this.#begin();
  }

  async #first() {
    if (['leaving', 'forgetting'].includes(stage(this.meeting))) await this.#leave(stage(this.meeting) === 'forgetting');
    else if (stage(this.meeting)) await this.seat.load();
    else await this.#link();
  }

  /** The page was closed before the meeting had heard that one leaves. */
  async #leave(isForgotten) {
    this.#show('leaving', h('p', { class: 'meet-note' }, t('meet.leaving')));
    await this.seat.leave(isForgotten);
    beginAnew(this.meeting, isForgotten ? 'forgotten' : 'left');
  }

  async #link() {
    if (!this.key) {
      this.#nothing('text');
      return;
    }
    try {
      const meeting = await this.seat.linked(this.key);
      if (meeting.next && !isOpen(meeting)) {
        location.replace(`/meet/${meeting.next}${query({ key: this.key })}`);
        return;
      }
      this.#show('join', joinForm(meeting, (name, attendee) => this.#join(name, attendee)));
    } catch (error) {
      this.#refused(error);
    }
  }

  #refused(error) {
    if (error.status === 404) {
      this.#nothing('link');
      return;
    }
    this.#show('away', h('p', { class: 'meet-note' }, wrong(error)));
    setTimeout(() => this.#again(), RETRY_MS);
  }

  #nothing(why) {
    this.#show('nothing', h('h1', {}, t('meet.nothing')), h('p', {}, t(`meet.nothing.${why}`)), h('p', {}, h('a', { href: '/meetings' }, t('meetings.all'))));
  }

  async #join(name, attendee) {
    setText(this.said, '');
    await this.seat.join(this.key, name, attendee);
    keepStage(this.meeting, 'joined');
  }

  #changed() {
    const { error, view } = this.seat;
    if (keepsNothing()) return; // Whoever logs out is about to leave the page.
    if (error?.status === 404) {
      if (!this.seat.isLeaving) beginAnew(this.meeting, view ? 'removed' : 'over');
      return;
    }
    if (view && !this.seat.isLeaving) this.#remember(view);
    if (error && !view) this.#refused(error);
    else if (view && this.#panel) this.#update();
    else if (view && stage(this.meeting) !== 'asked' && this.seat.isThere && !view.me.sharing.length) this.#ask();
    else if (view) this.#enter();
  }

  #remember(view) {
    hideKey(this.meeting);
    keepJoined(view);
  }

  #ask() {
    if (this.dataset.stage === 'consent') return;
    keepStage(this.meeting, 'joined');
    this.#show('consent', consentForm(this.seat.view, this.sensing, async (names) => {
      keepStage(this.meeting, 'asked');
      keepOff(this.meeting, []);
      await this.seat.share(names, this.seat.ended);
    }));
    this.querySelector('h1').focus();
    this.seat.start(); // From now on the meeting knows whether the page is open.
    this.sensing.look();
  }

  #enter() {
    keepStage(this.meeting, 'asked');
    this.#panel = livePanel(this.seat, this.sensing, (isForgotten) => beginAnew(this.meeting, isForgotten ? 'forgotten' : 'left'));
    this.#show('live', this.#panel.element);
    this.sensing.addEventListener('change', () => this.#update());
    setInterval(() => this.#update(), EVERY_MS);
    this.#update();
    this.#panel.focus();
    this.seat.start();
    if (!this.sensing.offered) this.sensing.look();
  }

  #update() {
    const { view, isThere } = this.seat;
    document.title = `${view.title} · Citywise`;
    this.#screen.keep(isThere && view.state === 'running');
    this.#panel.update(view, this.seat.now());
  }

  #show(stage, ...children) {
    this.dataset.stage = stage;
    this.whole.replaceChildren(...children);
  }
});
