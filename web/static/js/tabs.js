// Tabs over sections; without us the sections simply follow each other.
import { h } from './elements.js';

customElements.define('city-tabs', class extends HTMLElement {
  connectedCallback() {
    this.sections = [...this.querySelectorAll(':scope > section')];
    this.tabs = this.sections.map((section, index) => {
      section.id ||= `tab-panel-${index}`;
      section.setAttribute('role', 'tabpanel');
      section.setAttribute('aria-labelledby', `tab-${index}`);
      section.tabIndex = 0;
      return h('button', {
        type: 'button', role: 'tab', id: `tab-${index}`, 'data-name': section.dataset.name, 'aria-controls': section.id,
        onclick: () => this.select(index),
      }, section.dataset.title);
    });
    this.prepend(h('div', { class: 'tabs', role: 'tablist', onkeydown: (e) => this.#key(e) }, ...this.tabs));
    const wanted = this.sections.findIndex((section) => section.dataset.name && `#${section.dataset.name}` === location.hash);
    this.select(Math.max(wanted, 0));
  }

  select(chosen) {
    this.tabs.forEach((tab, index) => {
      tab.setAttribute('aria-selected', String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
      this.sections[index].hidden = index !== chosen;
    });
    const tab = this.tabs[chosen];
    tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - tab.offsetWidth;
    this.dispatchEvent(new Event('selected'));
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (this.tabs.indexOf(document.activeElement) + step + this.tabs.length) % this.tabs.length;
    this.select(next);
    this.tabs[next].focus();
    event.preventDefault();
  }
});
