// Weather and air at a glance.
import { city } from './city.js';
import { h, icon, keyed, setText } from './elements.js';
import { t } from './strings.js';
import { ago } from './times.js';
import { AIR, airIndex } from './traffic.js';

const OLD_S = 2 * 3600;
const ROLES = { temperature: 'air_temperature', wind: 'wind_speed', humidity: 'air_humidity' };

customElements.define('city-weather', class extends HTMLElement {
  connectedCallback() {
    this.weather = h('span', { class: 'weather-values' });
    this.air = h('span', { class: 'air' });
    this.append(icon('weather'), this.weather, this.air);
    city.follow(() => this.#show());
  }

  #show() {
    const all = [...city.readings.values()];
    const kinds = new Set(Object.values(ROLES).flatMap((role) => city.having(role).map(([kind]) => kind)));
    const newest = all.filter((r) => kinds.has(r.kind))
      .reduce((a, b) => (a && a.observedMs > b.observedMs ? a : b), null);
    keyed(this.weather, newest ? this.#words(newest) : [], ([name]) => name,
      ([name]) => h('span', { class: `weather-${name}` }), (span, [, text]) => setText(span, text));
    const indices = new Map(city.having(AIR));
    const air = airIndex(all.filter((reading) => indices.has(reading.kind)), indices);
    this.air.hidden = !air;
    if (air) {
      this.air.dataset.air = air.name;
      setText(this.air, `${t('air.index', { value: air.value })}, ${t(`air.${air.name}`)}`);
    }
    this.hidden = !newest && !air;
  }

  #words(reading) {
    const fields = (role) => Object.fromEntries(city.having(role))[reading.kind]?.[0];
    const words = Object.entries(ROLES).map(([name, role]) => [name, fields(role)])
      .filter(([, key]) => typeof reading[key] === 'number')
      .map(([name, key]) => [name, t(`weather.${name}`, { value: reading[key] })]);
    const ageS = (city.time() - reading.observedMs) / 1000;
    if (ageS > OLD_S) words.push(['old', t('weather.old', { age: ago(ageS) })]);
    return words;
  }
});
