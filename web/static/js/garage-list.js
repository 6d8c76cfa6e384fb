// Garages as a list, and the words a garage has on the map too.
import { aged } from './aged.js';
import { city } from './city.js';
import { h, keyed, setText } from './elements.js';
import { locale, t } from './strings.js';
import { GARAGE, garageState } from './traffic.js';

/** A garage in words; `update` brings them up to date. */
export function garageCard(place, heading = 'h3') {
  const state = h('span', { class: 'chip' });
  const free = h('strong');
  const meter = h('progress', { max: '1', 'aria-hidden': 'true' });
  const taken = h('p', {});
  const age = h('p', { class: 'quiet age' });
  const element = h('article', { class: 'garage', 'data-place': place.id },
    h('header', {}, h(heading, {}, place.name), state), h('p', { class: 'free' }, free), meter, taken, age);

  function update(now) {
    const found = garageState(place, city.told(place.id, GARAGE), now);
    element.dataset.state = found.state;
    element.toggleAttribute('data-old', found.old);
    setText(state, t(`garage.${found.state}`));
    meter.hidden = taken.hidden = age.hidden = found.state === 'unknown';
    if (found.state === 'unknown') {
      setText(free, t('garage.unknown'));
      return;
    }
    setText(free, t('garage.places', { count: found.free }));
    meter.value = Math.min(1, found.occupied / found.capacity);
    setText(taken, t(found.state === 'over' ? 'garage.overfull' : 'garage.of', found));
    const counted = aged(found, 'garage.counted');
    setText(age, found.old ? `${t('garage.old')}: ${counted}` : counted);
  }

  update(city.time());
  return { element, update };
}

customElements.define('city-garages', class extends HTMLElement {
  connectedCallback() {
    this.list = h('ul', { class: 'cards' });
    this.empty = h('p', { class: 'empty' });
    this.append(this.list, this.empty);
    city.follow(() => this.#show());
  }

  #show() {
    const now = city.time();
    const garages = [...city.places.values()]
      .filter((place) => city.carries(place, GARAGE.capacity))
      .sort((a, b) => a.name.localeCompare(b.name, locale));
    keyed(this.list, garages, (place) => place.id, (place) => {
      const card = garageCard(place);
      const item = h('li', {}, card.element);
      item.card = card;
      return item;
    }, (item) => item.card.update(now));
    this.empty.hidden = garages.length > 0;
    setText(this.empty, t(city.loaded ? 'list.none.garages' : city.failed ? 'list.failed' : 'list.loading'));
  }
});
