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
    this.select(Math.max(this.#wanted(), 0));
    addEventListener('hashchange', () => this.#wanted() >= 0 && this.select(this.#wanted()));
    // Where the strip is seen for the first time, so must be its tab.
    new ResizeObserver(() => this.#scroll()).observe(this.firstChild);
  }

  /** The section that the page's address names, or -1. */
  #wanted() {
    return this.sections.findIndex((section) => section.dataset.name && `#${section.dataset.name}` === location.hash);
  }

  select(chosen) {
    this.tabs.forEach((tab, index) => {
      tab.setAttribute('aria-selected', String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
      this.sections[index].hidden = index !== chosen;
    });
    this.#scroll();
    this.dispatchEvent(new Event('selected'));
  }

  #scroll() {
    const tab = this.tabs.find((each) => each.getAttribute('aria-selected') === 'true');
    const strip = tab.parentElement;
    strip.scrollLeft = tab.offsetLeft - strip.offsetLeft - (strip.clientWidth - tab.offsetWidth) / 2;
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
