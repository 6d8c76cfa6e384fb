// What the parts of the operator's page share: who sees them, and when they ask.
import { wrong } from './api.js';
import { h, setText } from './elements.js';
import { t } from './strings.js';
import { user } from './user.js';

const EVERY_MS = 10_000;

/** A table that can be scrolled; `keys` are those of its headings, `rows` its body. */
export function table(label, keys, rows) {
  const headings = keys.map((key) => h('th', { scope: 'col' }, t(key)));
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
    h('table', {}, h('thead', {}, h('tr', {}, ...headings)), rows));
}

/**
 * A part has `build()`, `load()`, which asks, and `show(answer)`. It asks again and again, but
 * only while an admin sees it.
 */
export class OperatorPart extends HTMLElement {
  connectedCallback() {
    this.fault = h('p', { class: 'field-error', role: 'alert' });
    this.append(this.fault);
    this.build();
    user.follow(() => this.refresh());
    this.closest('city-tabs')?.addEventListener('selected', () => this.refresh());
    setInterval(() => this.refresh(), EVERY_MS);
  }

  async refresh() {
    if (!user.has('admin') || document.hidden || !this.checkVisibility()) return;
    try {
      this.show(await this.load());
      setText(this.fault, '');
    } catch (error) {
      setText(this.fault, wrong(error));
    }
  }
}
