// The notices to the person, beside the events of the city; nothing where there are none.
import { h, setText } from './elements.js';
import { noticeCards } from './notice-card.js';
import { notices } from './notices.js';
import { t } from './strings.js';
import { toast } from './toast.js';

const MOST = 20;

customElements.define('city-notices', class extends HTMLElement {
  #wanted = new URLSearchParams(location.search).get('notice');

  connectedCallback() {
    this.list = h('ul', { class: 'cards' });
    this.more = h('p', { class: 'quiet' }, h('a', { href: '/apps' }));
    this.count = h('summary', {});
    this.heldList = h('ul', { class: 'cards' });
    this.held = h('details', { class: 'why held' }, this.count, this.heldList);
    this.append(h('h2', {}, t('notice.mine')), this.list, this.more, this.held);
    notices.follow(() => this.#show());
    addEventListener('page-shown', () => notices.loaded && this.#find());
    addEventListener('show-notice', ({ detail }) => {
      this.#wanted = detail;
      this.#find();
    });
  }

  #show() {
    const open = notices.list();
    const held = notices.held();
    this.hidden = open.length + held.length === 0;
    noticeCards(this.list, open.slice(0, MOST), 'h3');
    noticeCards(this.heldList, held, 'h3');
    const rest = open.length - MOST;
    this.more.hidden = rest <= 0;
    setText(this.more.firstChild, t('notice.more', { count: rest }));
    this.held.hidden = held.length === 0;
    setText(this.count, t('held.title', { count: held.length }));
    if (notices.loaded) this.#find();
  }

  /** Lead to the notice that was asked for, such as by a notification, once the page is shown: what is hidden takes no focus. */
  #find() {
    if (!this.#wanted || getComputedStyle(this).visibility === 'hidden') return;
    const card = this.querySelector(`[data-notice="${CSS.escape(this.#wanted)}"]`);
    this.#wanted = null;
    if (!card) {
      toast(t('notice.over'));
      return;
    }
    if (this.held.contains(card)) this.held.open = true;
    card.scrollIntoView({ block: 'center' });
    card.focus();
  }
});
