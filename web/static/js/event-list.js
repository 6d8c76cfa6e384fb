// Events as a list: filtered, sorted, up to date.
import { city } from './city.js';
import { h, keyed, setText } from './elements.js';
import { eventCard, eventTitle } from './event-card.js';
import { showOnMap } from './show-event.js';
import { locale, t } from './strings.js';

const PAST_MS = 6 * 3600 * 1000;
const PAGE = 30;
const ORDERS = {
  newest: (a, b) => b.startMs - a.startMs,
  oldest: (a, b) => a.startMs - b.startMs,
  worst: (a, b) => b.level - a.level || b.startMs - a.startMs,
  place: (a, b) => a.place.name.localeCompare(b.place.name, locale),
};

function select(label, options) {
  const list = h('select', {}, ...options.map(([value, text]) => h('option', { value }, text)));
  return { list, element: h('label', { class: 'field' }, h('span', {}, label), list) };
}

customElements.define('city-events', class extends HTMLElement {
  #limit = PAGE;

  connectedCallback() {
    this.#build();
    city.follow(() => this.#show());
  }

  #build() {
    this.status = select(t('list.show'), [['open', t('list.open')], ['past', t('list.past')]]);
    this.type = select(t('list.type'), [['', t('list.all')]]);
    this.order = select(t('list.sort'), Object.keys(ORDERS).map((name) =>
      [name, t(name === 'place' ? 'list.place' : `list.${name}`)]));
    const fields = h('div', { class: 'fields' }, this.status.element, this.type.element, this.order.element);
    const filters = h('details', { class: 'filters', open: this.hasAttribute('data-filters') },
      h('summary', {}, t('list.filter')), fields);
    this.count = h('p', { class: 'count quiet' });
    this.list = h('ul', { class: 'cards' });
    this.empty = h('p', { class: 'empty', hidden: true });
    this.more = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => {
      this.#limit += PAGE;
      this.#show();
    } });
    this.append(filters, this.count, this.list, this.empty, this.more);
    this.status.list.addEventListener('change', () => this.#statusChanged());
    fields.addEventListener('change', () => {
      this.#limit = PAGE;
      this.#show();
    });
  }

  async #statusChanged() {
    if (this.status.list.value !== 'past') return;
    await city.loadEnded(city.now() - PAST_MS).catch(() => setText(this.empty, t('list.failed')));
  }

  #chosen() {
    const past = this.status.list.value === 'past';
    const type = this.type.list.value;
    const since = city.now() - PAST_MS;
    const events = past ? [...city.events.values()].filter(({ endMs }) => endMs !== null && endMs >= since) : city.openEvents();
    return events
      .filter((event) => !type || event.type === type)
      .sort(ORDERS[this.order.list.value]);
  }

  #offerTypes() {
    const known = new Set([...this.type.list.options].map((option) => option.value));
    for (const event of city.events.values()) {
      if (known.has(event.type)) continue;
      known.add(event.type);
      this.type.list.append(h('option', { value: event.type }, eventTitle(event)));
    }
  }

  #show() {
    this.#offerTypes();
    const events = this.#chosen();
    const now = city.time();
    keyed(this.list, events.slice(0, this.#limit), (event) => event.id,
      (event) => this.#item(event), (item) => item.card.update(now));
    const past = this.status.list.value === 'past';
    setText(this.count, events.length ? t('list.count', { count: events.length }) : '');
    this.empty.hidden = events.length > 0;
    const none = past ? 'list.none.past' : city.moment ? city.moment.noEvents : city.readings.size ? 'list.none' : 'list.waiting';
    setText(this.empty, t(city.loaded ? none : city.failed ? 'list.failed' : 'list.loading'));
    this.empty.toggleAttribute('data-good', city.loaded && none === 'list.none');
    this.more.hidden = events.length <= this.#limit;
    setText(this.more, t('list.more', { count: Math.min(PAGE, events.length - this.#limit) }));
  }

  #item(event) {
    const card = eventCard(event, { onShow: () => showOnMap(this, event.id) });
    const item = h('li', {}, card.element);
    item.card = card;
    return item;
  }
});
