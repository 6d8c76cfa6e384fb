// Whether what is shown is live, and how old it is if not.
import { city } from './city.js';
import { h, setText } from './elements.js';
import { t } from './strings.js';
import { ago } from './times.js';

customElements.define('city-connection', class extends HTMLElement {
  connectedCallback() {
    const word = h('span', { class: 'connection-state' });
    // The age changes every second: read out once with the state, not again and again.
    const age = h('span', { class: 'connection-age', 'aria-live': 'off' });
    this.append(h('span', { class: 'connection-dot', 'aria-hidden': 'true' }), word, age);
    city.follow(() => {
      this.dataset.state = city.state;
      this.dataset.loaded = String(city.loaded);
      const behind = city.state === 'live' ? city.clock?.catching_up_s : null;
      if (behind) this.dataset.behind = '';
      else delete this.dataset.behind;
      this.toggleAttribute('data-then', Boolean(city.moment));
      setText(word, city.moment ? t('connection.then') : behind ? t('connection.behind', { n: behind }) : t(`connection.${city.state}`));
      const stale = city.state !== 'live' && city.heardAt;
      const seconds = (Date.now() - city.heardAt) / 1000;
      setText(age, stale ? t('connection.stale', { age: ago(seconds) }) : '');
    });
  }
});
