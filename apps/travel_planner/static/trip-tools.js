// What one takes along of a plan: a map as a file, and a print.
import { query } from 'citywise/api.js';
import { h } from 'citywise/elements.js';
import { language, t } from 'citywise/strings.js';

customElements.define('plan-tools', class extends HTMLElement {
  static observedAttributes = ['plan'];

  connectedCallback() {
    this.link ??= h('a', { class: 'button', download: true }, t('trip.tools.export'));
    const print = h('button', { type: 'button', class: 'button', onclick: () => window.print() }, t('trip.tools.print'));
    this.append(h('p', { class: 'actions' }, this.link, print));
    this.attributeChangedCallback();
  }

  attributeChangedCallback() {
    const plan = this.getAttribute('plan');
    this.hidden = !plan;
    if (this.link && plan) this.link.href = `/plan/export${query({ plan, lang: language })}`;
  }
});
