// The notices to the person, beside the events of the city; nothing where there are none.
import { city } from './city.js';
import { h, keyed, setText } from './elements.js';
import { noticeCard } from './notice-card.js';
import { notices } from './notices.js';
import { t } from './strings.js';

const MOST = 20;

customElements.define('city-notices', class extends HTMLElement {
  connectedCallback() {
    this.list = h('ul', { class: 'cards' });
    this.more = h('p', { class: 'quiet' }, h('a', { href: '/apps' }));
    this.append(h('h2', {}, t('notice.mine')), this.list, this.more);
    notices.follow(() => this.#show());
  }

  #show() {
    const open = notices.list();
    const now = city.now();
    this.hidden = open.length === 0;
    keyed(this.list, open.slice(0, MOST), (notice) => notice.id, (notice) => {
      const card = noticeCard(notice);
      const item = h('li', {}, card.element);
      item.card = card;
      return item;
    }, (item, notice) => item.card.update(notice, now));
    const rest = open.length - MOST;
    this.more.hidden = rest <= 0;
    setText(this.more.firstChild, t('notice.more', { count: rest }));
  }
});
