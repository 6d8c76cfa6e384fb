// Weather and air at a glance.
import { city } from './city.js';
import { h, icon, keyed, setText } from './elements.js';
import { t } from './strings.js';
import { ago } from './times.js';
import { airIndex } from './traffic.js';

const OLD_S = 2 * 3600;
const VALUES = { temperature: 'temperature_c', wind: 'wind_kmh', humidity: 'humidity_pct' };

customElements.define('city-weather', class extends HTMLElement {
  connectedCallback() {
    this.weather = h('span', { class: 'weather-values' });
    this.air = h('span', { class: 'air' });
    this.append(icon('weather'), this.weather, this.air);
    city.follow(() => this.#show());
  }

  #show() {
    const all = [...city.readings.values()];
    const newest = all.filter((r) => r.kind === 'weather')
      .reduce((a, b) => (a && a.observedMs > b.observedMs ? a : b), null);
    keyed(this.weather, newest ? this.#words(newest) : [], ([name]) => name,
      ([name]) => h('span', { class: `weather-${name}` }), (span, [, text]) => setText(span, text));
    const air = airIndex(all.filter((reading) => reading.kind === 'air'));
    this.air.hidden = !air;
    if (air) {
      this.air.dataset.air = air.name;
      setText(this.air, `${t('air.index', { value: air.value })}, ${t(`air.${air.name}`)}`);
    }
    this.hidden = !newest && !air;
  }

  #words(reading) {
    const words = Object.entries(VALUES)
      .filter(([, key]) => typeof reading[key] === 'number')
      .map(([name, key]) => [name, t(`weather.${name}`, { value: reading[key] })]);
    const ageS = (city.now() - reading.observedMs) / 1000;
    if (ageS > OLD_S) words.push(['old', t('weather.old', { age: ago(ageS) })]);
    return words;
  }
});
