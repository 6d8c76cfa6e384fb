// The trips that are followed, at the head of the panel: started from a plan, or found again.
import { wrong } from 'citywise/api.js';
import { city } from 'citywise/city.js';
import { h, keyed, setText } from 'citywise/elements.js';
import { breath } from 'citywise/slices.js';
import { t } from 'citywise/strings.js';
import { ago, at } from 'citywise/times.js';
import { toast } from 'citywise/toast.js';
import { user } from 'citywise/user.js';
import { WakeLock } from 'citywise/wake-lock.js';
import { titleOf, tripCard } from './trip-card.js';
import { consentOffer } from './trip-consent.js';
import { TripMap } from './trip-map.js';
import { keptPlan } from './trip-plan.js';
import './trip-position.js';
import { openProposal, proposalWords } from './trip-proposal.js';
import { slowDown } from './trip-pace.js';
import { trips } from './trip-store.js';
import { traveller } from './trip-traveller.js';

const MOST_EARLIER = 5;

await breath(); // Each part of the page is a task of its own.
customElements.define('plan-trip', class extends HTMLElement {
  #map = new TripMap();
  #screen = new WakeLock();
  #wanted = null; // What is to be started, once it may be.
  #announced = '';
  #isFollowing = null;
  #asked = new URLSearchParams(location.search).get('trip') ?? (location.hash === '#trip' ? 'any' : null);

  connectedCallback() {
    this.offer = consentOffer(() => this.#start(this.#wanted));
    this.gate = h('div', { class: 'gate', hidden: true });
    this.old = h('p', { class: 'trip-old-data' });
    this.list = h('div', { class: 'trip-list' });
    this.position = h('trip-position', { class: 'trip-position' });
    this.said = h('p', { class: 'visually-hidden', role: 'status' });
    this.past = h('ul', { class: 'cards' });
    this.earlier = h('details', { class: 'why trip-earlier' }, h('summary', {}, t('trip.earlier')), this.past);
    this.append(this.offer.element, this.gate, this.old, this.list, this.position, this.earlier, this.said);
    for (const change of ['arrived', 'released']) trips.addEventListener(change, () => toast(t(`trip.${change}`)));
    traveller.addEventListener('change', () => this.#underWay());
    document.addEventListener('plan-start', ({ detail }) => this.#start(detail));
    document.addEventListener('show-trip', (event) => {
      event.preventDefault();
      this.#lead(event.detail);
    });
    city.addEventListener('loaded', () => this.#map.show(trips.followed[0]));
    city.follow(() => this.#age());
    trips.follow(() => this.#show());
  }

  async #start(wanted) {
    this.#wanted = wanted;
    this.gate.hidden = true;
    this.offer.hide();
    if (!user.id) {
      this.#logIn();
      return;
    }
    try {
      const { kind, ...chosen } = wanted;
      const { trip, ended } = await trips.start(chosen);
      if (ended) toast(t('trip.replaced'), { undo: () => this.#resume(ended) });
      slowDown();
      this.#lead(trip.id);
    } catch (error) {
      if (error.kind === 'no-consent') this.offer.show(error.subjects);
      else toast(wrong(error), { focus: true });
    }
  }

  #logIn() {
    const next = new URLSearchParams({ next: location.pathname + location.search });
    const link = h('a', { class: 'button primary', href: `/log-in?${next}` }, t('person.login'));
    this.gate.replaceChildren(h('p', {}, t('trip.login')), h('p', { class: 'actions' }, link));
    this.gate.hidden = false;
    link.focus();
  }

  #show() {
    const { followed } = trips;
    const { isOffline } = trips;
    keyed(this.list, followed, ({ id }) => id, () => {
      const card = tripCard();
      return Object.assign(card.element, { card });
    }, (element, trip) => element.card.update(trip, isOffline));
    this.position.hidden = followed.length === 0;
    this.#showEarlier(isOffline);
    this.#map.show(followed.find(openProposal) ?? followed[0]);
    this.#say(followed);
    this.#tell(followed[0] ?? null);
    this.#age();
    if (this.#asked && followed.length) this.#lead(this.#asked);
  }

  /** Somebody tells where they are, or no longer. */
  #underWay() {
    this.#screen.keep(traveller.state !== 'off');
    this.#show();
  }

  #showEarlier(isOffline) {
    const earlier = trips.earlier.slice(0, MOST_EARLIER);
    this.earlier.hidden = isOffline || earlier.length === 0;
    keyed(this.past, earlier, ({ id }) => id, (trip) => h('li', { class: 'trip-past' }, h('span', {}, titleOf(trip)),
      h('span', { class: 'quiet' }, at(Date.parse(trip.created), city.now())),
      h('button', { type: 'button', class: 'button small', 'aria-label': `${t('trip.resume')}: ${titleOf(trip)}`, onclick: () => this.#resume(trip) }, t('trip.resume'))), () => null);
  }

  async #resume({ id }) {
    try {
      await trips.start({ resume: id });
      this.#lead(id);
    } catch (error) {
      toast(wrong(error), { focus: true });
    }
  }

  // Said once: a proposal that is brought up to date is no news.
  #say(followed) {
    const numbers = followed.map((trip) => `${trip.id} ${openProposal(trip)?.number ?? ''}`).join();
    if (numbers === this.#announced) return;
    this.#announced = numbers;
    setText(this.said, followed.map(proposalWords).filter(Boolean).join(' '));
  }

  #tell(trip) {
    if (this.#isFollowing === (trip?.id ?? null)) return;
    this.#isFollowing = trip?.id ?? null;
    document.dispatchEvent(new CustomEvent('plan-following', { detail: trip }));
  }

  #age() {
    const at = keptPlan.at ?? (trips.followed.length ? trips.keptAt : null);
    this.old.hidden = !trips.isOffline || at === null;
    if (!this.old.hidden) setText(this.old, t('trip.offline', { ago: ago((Date.now() - at) / 1000) }));
  }

  /** Lead to a trip that somebody asked for. */
  #lead(id) {
    this.#asked = null;
    const card = this.querySelector(`[data-trip="${CSS.escape(id)}"]`) ?? this.querySelector('[data-trip]');
    if (!card) return;
    card.scrollIntoView({ block: 'start' });
    card.querySelector('.trip-title').focus({ preventScroll: true });
  }
});
