// Slow roads as a list, and the words a road has on the map too.
import { aged } from './aged.js';
import { city } from './city.js';
import { h, keyed, setText } from './elements.js';
import { t } from './strings.js';
import { ROAD, roadState } from './traffic.js';

const SLOW = ['jam', 'heavy', 'slow'];
const PAGE = 25;

/** The state of a road now. */
export const stateOf = (place, now) =>
  roadState(place, city.told(place.id, ROAD), city.jamAt(place.id), now);

/** A road in words; `update` brings them up to date. */
export function roadCard(place, heading = 'h3') {
  const state = h('span', { class: 'chip' });
  const speed = h('p', {});
  const age = h('p', { class: 'quiet age' });
  const element = h('article', { class: 'road-card', 'data-place': place.id },
    h('header', {}, h(heading, {}, place.name), state), speed, age);

  function update(now, found = stateOf(place, now)) {
    element.dataset.state = found.state;
    setText(state, t(`road.${found.state}`));
    age.hidden = found.ageS === undefined;
    if (found.ageS === undefined) {
      setText(speed, t('road.nodata'));
      return;
    }
    const rounded = { speed: Math.round(found.speed), free: Math.round(found.free) };
    const counted = found.expected ? [] : [t('road.vehicles', { count: found.count })];
    setText(speed, found.known ? [t('road.of', rounded), ...counted].join(' · ') : t('road.novehicles'));
    setText(age, aged(found, 'road.measured'));
  }

  update(city.time());
  return { element, update };
}

customElements.define('city-roads', class extends HTMLElement {
  #limit = PAGE;

  connectedCallback() {
    this.list = h('ul', { class: 'cards' });
    this.empty = h('p', { class: 'empty' });
    this.more = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => {
      this.#limit += PAGE;
      this.#show();
    } });
    this.append(this.list, this.empty, this.more);
    city.follow(() => this.#show());
  }

  #show() {
    const now = city.time();
    const roads = [...city.places.values()]
      .filter((place) => city.carries(place, ROAD.speed_kmh))
      .map((place) => ({ place, found: stateOf(place, now) }))
      .filter(({ found }) => SLOW.includes(found.state))
      .sort((a, b) => SLOW.indexOf(a.found.state) - SLOW.indexOf(b.found.state)
        || (a.found.ratio ?? 0) - (b.found.ratio ?? 0));
    keyed(this.list, roads.slice(0, this.#limit), ({ place }) => place.id, ({ place }) => {
      const card = roadCard(place);
      const item = h('li', {}, card.element);
      item.card = card;
      return item;
    }, (item, { found }) => item.card.update(now, found));
    this.empty.hidden = roads.length > 0;
    const known = city.loaded && city.readings.size > 0;
    const waiting = city.moment ? 'moment.nothing' : city.loaded ? 'list.waiting' : city.failed ? 'list.failed' : 'list.loading';
    setText(this.empty, t(known ? 'list.none.roads' : waiting));
    this.empty.toggleAttribute('data-good', known);
    this.more.hidden = roads.length <= this.#limit;
    setText(this.more, t('list.more', { count: Math.min(PAGE, roads.length - this.#limit) }));
  }
});
