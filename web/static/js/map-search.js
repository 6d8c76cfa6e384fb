// The first thing on the map: what this is in a line, where one wants to go, and where one is.
import { h, icon } from './elements.js';
import { whereIAm } from './my-context.js';
import { pointField } from './point-field.js';
import { query } from './api.js';
import { t } from './strings.js';
import { toast } from './toast.js';

const NEAR_ZOOM = 15;

customElements.define('map-search', class extends HTMLElement {
  connectedCallback() {
    const plan = this.getAttribute('plan');
    const field = pointField({ name: 'where', title: t('map.where'), near: () => this.#middle(), onChange: (point) => point && this.#go(plan, point) });
    field.element.querySelector('label').classList.add('visually-hidden');
    field.input.placeholder = t('map.where');
    const form = h('form', { role: 'search', novalidate: true, hidden: !plan }, field.element);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      field.check();
    });
    this.locate = h('button', { type: 'button', class: 'map-locate card', 'aria-label': t('map.locate'), title: t('map.locate'), onclick: () => this.#locate() }, icon('locate'));
    this.append(form);
    const page = this.closest('city-map');
    page.append(this.locate);
    if (plan) page.querySelector('.folium-map').cityMap.map.on('contextmenu', ({ latlng }) => this.#offer(plan, latlng));
  }

  get #map() {
    return this.closest('city-map').map;
  }

  #middle() {
    const { lat, lng: lon } = this.#map?.getCenter() ?? {};
    return lat === undefined ? null : { lat, lon };
  }

  /** A point that was pressed for long, or by the other button of a mouse. */
  #offer(plan, { lat, lng: lon }) {
    const heading = h('h2', {}, t('map.point'));
    const element = h('article', { class: 'map-offer' }, h('header', {}, heading),
      h('div', { class: 'actions' }, h('button', { type: 'button', class: 'button', onclick: () => this.#go(plan, { lat, lon, name: null }) }, t('map.goto'))));
    this.closest('city-map').open({ element, update() {} }, [lat, lon]);
    element.querySelector('button').focus({ preventScroll: true });
  }

  // Who has let the city know where they are goes from there, and is not asked again.
  async #go(plan, { lat, lon, name }) {
    const known = await navigator.permissions?.query({ name: 'geolocation' }).catch(() => null);
    location.assign(plan + query({ from: known?.state === 'granted' ? 'me' : null, to: `${lat.toFixed(6)},${lon.toFixed(6)}`, to_name: name }));
  }

  async #locate() {
    this.locate.dataset.busy = '';
    try {
      const { coords: { latitude, longitude, accuracy } } = await whereIAm();
      const at = [latitude, longitude];
      this.closest('city-map').fitted = true; // What is loaded later does not move the map away.
      this.here?.remove();
      this.here = window.L.layerGroup([
        window.L.circle(at, { radius: Math.min(accuracy, 2000), className: 'here-accuracy', interactive: false }),
        window.L.marker(at, { icon: window.L.divIcon({ html: h('div', { class: 'here' }, h('span', { class: 'visually-hidden' }, t('map.here'))), className: 'pin-root', iconSize: [0, 0] }), interactive: false, keyboard: false }),
      ]).addTo(this.#map);
      this.#map.setView(at, NEAR_ZOOM, { animate: false });
      if (!this.closest('city-map').isNear(at)) toast(t('map.outside'));
    } catch (reason) {
      toast(t(typeof reason === 'string' ? reason : 'context.unfound'));
    } finally {
      delete this.locate.dataset.busy;
    }
  }
});
