// What one takes along of a plan: a link, a track, an entry of a calendar, a map as a file, a print.
import { query } from 'citywise/api.js';
import { h } from 'citywise/elements.js';
import { language, t } from 'citywise/strings.js';
import { toast } from 'citywise/toast.js';
import { plans } from './plans.js';
import { TRAVEL } from './request.js';
import { address, calendar, chosen, gpx, title } from './sharing.js';

/** Hand a text over as a file. */
function save(name, type, text) {
  const link = h('a', { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}

async function share() {
  const shared = { title: title(), url: address() };
  try {
    if (navigator.share) await navigator.share(shared);
    else {
      await navigator.clipboard.writeText(shared.url);
      toast(t('plan.share.copied'));
    }
  } catch (error) {
    if (error.name !== 'AbortError') toast(t('plan.share.address', { url: shared.url }));
  }
}

customElements.define('plan-tools', class extends HTMLElement {
  static observedAttributes = ['plan'];

  connectedCallback() {
    this.link ??= h('a', { class: 'button', download: true }, t('trip.tools.export'));
    const button = (key, onclick) => h('button', { type: 'button', class: 'button', onclick }, t(key));
    this.repeat = button('plan.repeat', () => document.dispatchEvent(new Event('plan-repeat')));
    this.append(h('p', { class: 'actions' }, this.repeat, button('plan.share', share), button('plan.share.gpx', () => this.#gpx()),
      button('plan.share.calendar', () => save('citywise.ics', 'text/calendar', calendar(chosen()))),
      this.link, button('trip.tools.print', () => window.print())));
    this.attributeChangedCallback();
  }

  #gpx() {
    const track = gpx(chosen());
    if (track) save('citywise.gpx', 'application/gpx+xml', track);
    else toast(t('plan.share.noline'));
  }

  attributeChangedCallback() {
    const plan = this.getAttribute('plan');
    this.hidden = !plan;
    if (this.repeat) this.repeat.hidden = plans.kind !== TRAVEL;
    if (this.link && plan) this.link.href = `/plan/export${query({ plan, lang: language })}`;
  }
});
