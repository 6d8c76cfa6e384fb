// The bell in the header of every page: how many alerts are new, the list of them, and a short word
// when one comes.
import { amendedText, takenBackText } from './corrections.js';
import { tried } from './doing.js';
import { h, icon, keyed, setText } from './elements.js';
import { mute } from './notice-actions.js';
import { aboutName, noticeName, wholeText } from './notice-words.js';
import { heldBecause, notices } from './notices.js';
import { t } from './strings.js';
import { at } from './times.js';
import { toast } from './toast.js';
import { city } from './city.js';
import { user } from './user.js';

const SHOWN_MS = 6000;
const MOST = 8;
const COUNTED = 99;
const address = (notice) => `/list?notice=${encodeURIComponent(notice.id)}`;

/** Lead to the card of a notice: on this page, if it is here, else on the list. */
function lead(event, notice) {
  const list = document.querySelector('city-notices:not([hidden])');
  if (!list?.checkVisibility()) return;
  event.preventDefault();
  dispatchEvent(new CustomEvent('show-notice', { detail: notice.id }));
}

const link = (notice, ...children) => h('a', { href: address(notice), onclick: (event) => lead(event, notice) }, ...children);

customElements.define('notice-bell', class extends HTMLElement {
  connectedCallback() {
    this.menu = this.querySelector('details');
    this.summary = this.querySelector('summary');
    this.count = this.querySelector('.bell-count');
    this.parts = ['new', 'earlier', 'held'].map((name) => {
      const list = h('ul', { class: 'bell-notices' });
      return { list, section: h('section', {}, h('h2', {}, t(`bell.${name}`)), list) };
    });
    this.none = h('p', { class: 'quiet' });
    this.seen = h('button', { type: 'button', class: 'button small', onclick: () => this.#seen() }, t('bell.seen'));
    this.querySelector('.menu-body').append(this.none, ...this.parts.map(({ section }) => section),
      h('p', { class: 'bell-foot' }, this.seen, h('a', { href: '/apps' }, t('bell.settings'))));
    this.place = h('div', { class: 'bell-toasts' });
    this.corrected = new Set();
    document.body.append(this.place);
    notices.follow(() => this.#show());
    user.follow(() => this.#show());
    notices.addEventListener('told', ({ detail }) => detail.alert && !detail.closed && this.#say(detail));
    // Who was alerted hears that there was no reason for it.
    notices.addEventListener('told', ({ detail }) => {
      const text = detail.taken_back ? takenBackText(detail, aboutName(detail)) : amendedText(detail, aboutName(detail));
      // What people do with a notice tells of it again; that changes no time of `updated`.
      const said = `${detail.id} ${detail.updated}`;
      if (!detail.alerted || !text || this.corrected.has(said)) return;
      this.corrected.add(said);
      toast(text);
    });
    this.menu.addEventListener('toggle', () => {
      this.place.replaceChildren();
      this.#show();
    });
  }

  #show() {
    const open = notices.list();
    const kinds = [open.filter((one) => !one.acknowledged), open.filter((one) => one.acknowledged), notices.held()];
    const fresh = kinds[0].length;
    const label = fresh ? t('bell.label.count', { count: fresh }) : t('bell.label');
    this.summary.setAttribute('aria-label', label);
    this.summary.title = label;
    this.count.hidden = fresh === 0;
    navigator.setAppBadge?.(fresh).catch(() => null); // Of an installed app; 0 takes it away.
    setText(this.count, fresh > COUNTED ? `${COUNTED}+` : String(fresh));
    this.seen.hidden = fresh === 0;
    this.parts.forEach(({ section, list }, index) => {
      const shown = this.menu.open ? kinds[index].slice(0, MOST) : [];
      section.hidden = shown.length === 0;
      keyed(list, shown, (one) => one.id, () => h('li', {}), (row, one) => this.#fill(row, one));
    });
    this.none.hidden = kinds.some((kind) => kind.length);
    setText(this.none, user.own === null && user.loaded ? t('instance.nobody') : t('bell.none'));
  }

  #fill(row, notice) {
    const shown = [noticeName(notice), wholeText(notice), at(Date.parse(notice.opened), city.now())];
    if (row.dataset.shown === shown.join('\n')) return;
    row.dataset.shown = shown.join('\n');
    const [name, text, since] = shown;
    row.replaceChildren(link(notice, name), h('p', {}, text), h('p', { class: 'quiet' }, t('notice.since', { time: since })));
  }

  #seen() {
    const fresh = notices.list().filter((one) => !one.acknowledged);
    tried(() => Promise.all(fresh.map((one) => notices.act(one, 'acknowledge', 'POST'))));
    this.summary.focus();
  }

  // It stands below the header, where no decision of the page is; who cannot see it is told by the announcer.
  #say(notice) {
    if (this.menu.open || document.hidden || heldBecause(notice) !== null) return;
    const gone = () => toast.remove();
    const close = h('button', { type: 'button', class: 'bell-close', 'aria-label': t('toast.close'), onclick: gone }, '×');
    const toast = h('div', { class: 'bell-toast' }, icon('bell'),
      h('p', {}, h('strong', {}, noticeName(notice)), ' ', wholeText(notice)),
      h('p', { class: 'bell-foot' }, link(notice, t('bell.show')),
        h('button', { type: 'button', class: 'link', onclick: () => { gone(); mute(notice); } }, t('bell.mute'))), close);
    this.place.replaceChildren(toast);
    const later = () => setTimeout(() => (toast.matches(':hover, :focus-within') ? later() : gone()), SHOWN_MS);
    later();
  }
});
