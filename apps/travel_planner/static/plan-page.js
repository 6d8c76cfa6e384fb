// The planners' page: what is asked stands in its address, so that it can be shared and reloaded.
import './conditions.js';
import './plan-form.js';
import './plan-map.js';
import './plan-repeats.js';
import './plan-results.js';
import './sheet-handle.js';
import './trip-panel.js';
import './trip-tools.js';
import { h } from 'citywise/elements.js';
import { breath } from 'citywise/slices.js';
import { t } from 'citywise/strings.js';
import { plans } from './plans.js';
import { fromQuery, toQuery, TRAVEL } from './request.js';

const isWhole = ({ kind, from, to }) => Boolean(kind === TRAVEL ? from && to : to);
const address = (request) => location.pathname + toQuery(request) + location.hash;

await breath(); // Each part of the page is a task of its own.
customElements.define('plan-page', class extends HTMLElement {
  connectedCallback() {
    this.asked = address(plans.request);
    history.replaceState(null, '', this.asked);
    this.form = this.querySelector('plan-form');
    this.results = this.querySelector('plan-results');
    this.tools = this.querySelector('plan-tools');
    this.results.before(h('plan-conditions'));
    this.another = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#planAnother() }, t('plan.another'));
    this.form.before(this.another);
    this.addEventListener('plan-asked', ({ detail }) => this.#step(detail));
    this.addEventListener('plan-turned', () => this.#step(plans.request));
    window.addEventListener('popstate', () => this.#back());
    plans.addEventListener('change', () => this.#changed());
    document.addEventListener('plan-following', ({ detail }) => this.#follow(detail));
    if (isWhole(plans.request)) this.form.submit();
  }

  /** Each search is a step of the history; the same one again is none. */
  #step(request) {
    if (address(request) === this.asked) return;
    this.asked = address(request);
    history.pushState(null, '', this.asked);
  }

  /** Back, or forth, to another search. */
  #back() {
    const request = fromQuery(location.search);
    this.asked = address(request);
    plans.clear();
    this.form.show(request);
    if (isWhole(request)) plans.find(request);
  }

  #changed() {
    if (plans.answer) this.tools.setAttribute('plan', plans.answer.plan);
    else this.tools.removeAttribute('plan');
    if (plans.answer && !plans.isBusy) this.#step(plans.request);
  }

  /** While a trip is followed, planning stands behind a button. */
  #follow(trip) {
    const main = document.querySelector('main');
    delete main.dataset.planning;
    main.toggleAttribute('data-following', trip !== null);
    this.another.hidden = trip === null;
  }

  #planAnother() {
    document.querySelector('main').dataset.planning = '';
    this.another.hidden = true;
    document.dispatchEvent(new Event('plan-another'));
    this.form.points.to.focus();
  }
});
