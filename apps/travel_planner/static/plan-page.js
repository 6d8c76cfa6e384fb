// The planners' page: what is asked stands in its address, so that it can be shared and reloaded.
import './conditions.js';
import './plan-form.js';
import './plan-map.js';
import './plan-results.js';
import './trip-panel.js';
import './trip-tools.js';
import { h } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { plans } from './plans.js';
import { toQuery } from './request.js';

const address = (request) => location.pathname + toQuery(request) + location.hash;

customElements.define('plan-page', class extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector('plan-form');
    this.results = this.querySelector('plan-results');
    this.tools = this.querySelector('plan-tools');
    this.results.before(h('plan-conditions'));
    this.another = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#planAnother() }, t('plan.another'));
    this.form.before(this.another);
    this.addEventListener('plan-asked', ({ detail }) => history.replaceState(null, '', address(detail)));
    this.addEventListener('plan-turned', () => history.replaceState(null, '', address(plans.request)));
    plans.addEventListener('change', () => this.#changed());
    document.addEventListener('plan-following', ({ detail }) => this.#follow(detail));
    const { from, to } = plans.request;
    const isWhole = plans.kind === 'travel' ? from && to : to;
    if (isWhole) this.form.submit();
  }

  #changed() {
    if (plans.answer) this.tools.setAttribute('plan', plans.answer.plan);
    else this.tools.removeAttribute('plan');
    if (plans.answer && !plans.isBusy) history.replaceState(null, '', address(plans.request));
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
