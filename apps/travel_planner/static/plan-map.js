// The planners' map: the live city, and on it the ends, the ways and the garages of the plan.
import { ask, query } from 'citywise/api.js';
import { h } from 'citywise/elements.js';
import { CityMap } from 'citywise/map.js';
import { StreetsLayer } from 'citywise/streets-layer.js';
import { breath } from 'citywise/slices.js';
import { t } from 'citywise/strings.js';
import { PARKING } from './request.js';
import { plans } from './plans.js';

const CLOSEST_ZOOM = 16;
const MARGIN_PX = 36;
const BUTTONS_PX = 60;
const isFollowing = ({ dataset }) => 'following' in dataset && !('planning' in dataset);

await breath(); // Each part of the page is a task of its own.
customElements.define('plan-map', class extends CityMap {
  /** Called once, when the map is there. */
  async ready(map) {
    const [{ AirLayer }, { pointsLayer }, { stopsLayer }, { ReachLayer }, { EndsLayer }, { OptionsLayer }] = await Promise.all([
      import('./air-layer.js'), import('./points-layer.js'), import('./stops-layer.js'), import('./reach-layer.js'),
      import('./ends-layer.js'), import('./options-layer.js'),
    ]);
    this.querySelector('.legend').open = false; // It would lie on the ways.
    new StreetsLayer(map, '/plan/streets.json');
    this.layers.air = this.air = new AirLayer();
    const openCard = (...args) => this.open(...args);
    this.layers.points = pointsLayer(openCard);
    this.layers.stops = stopsLayer(openCard);
    this.layers.reach = new ReachLayer(map, this.querySelector('[data-of=reach]'));
    for (const input of this.querySelectorAll('.legend input:checked')) this.turn(input); // Somebody was faster.
    this.ends = new EndsLayer(map, (end, point) => this.#moved(end, point));
    this.options = new OptionsLayer(map);
    map.on('click', ({ latlng }) => this.#tapped(latlng));
    plans.addEventListener('change', () => this.#plan());
    plans.addEventListener('request', () => this.ends.show(plans.request));
    plans.addEventListener('mark', () => this.options.mark(plans.marked));
    document.addEventListener('plan-pick', ({ detail }) => this.#pick(detail));
    document.addEventListener('plan-picked', () => this.#pick(null));
    for (const name of ['plan-following', 'plan-another']) document.addEventListener(name, () => this.#plan());
    this.addEventListener('keydown', ({ key }) => key === 'Escape' && this.picking && this.#pick(null));
    this.#plan();
  }

  *show() {
    yield* super.show();
    if (this.air && this.map.hasLayer(this.air.layer)) this.air.update();
  }

  /** What was planned is what is looked at; else the city. */
  fit() {
    this.fitted = true;
    if (!this.#look()) super.fit();
  }

  #plan() {
    const isAside = isFollowing(document.querySelector('main'));
    const options = isAside ? [] : plans.options;
    if (options.length) this.dataset.planned = plans.kind;
    else delete this.dataset.planned;
    document.querySelector('main').toggleAttribute('data-shown', options.length > 0); // The map has more to show.
    this.ends.show(isAside ? { from: null, to: null } : plans.request);
    this.options.show(options, isAside ? [] : plans.rejected);
    if (!plans.answer || plans.isBusy || isAside) return;
    this.map.invalidateSize({ pan: false });
    this.#look();
  }

  /** Bring what is planned into view; false if nothing is. */
  #look() {
    if (!this.options) return false;
    const { from, to, kind, radius } = plans.request;
    const ends = [from, to].filter((point) => point?.lat !== undefined).map(({ lat, lon }) => [lat, lon]);
    const points = [...this.options.points, ...ends.filter((at) => this.isNear(at))]; // Elsewhere there is nothing to see.
    if (!points.length) return false;
    const bounds = window.L.latLngBounds(points);
    if (kind === PARKING && to?.lat !== undefined) bounds.extend(window.L.latLng(to.lat, to.lon).toBounds(2 * radius));
    this.map.fitBounds(bounds, { ...this.free(), maxZoom: CLOSEST_ZOOM, animate: false });
    return true;
  }

  /** How much of the map its edges and what lies on it take: the folded legend and the buttons. */
  free() {
    const legend = this.querySelector('.legend:not([open])');
    const below = legend ? this.clientHeight - legend.offsetTop : 0;
    return {
      paddingTopLeft: [MARGIN_PX, MARGIN_PX],
      paddingBottomRight: [BUTTONS_PX, Math.max(MARGIN_PX, below + 12)],
    };
  }

  /** Let the next tap on the map be an end (null: no longer). */
  #pick(end) {
    this.picking = this.picking === end ? null : end;
    if (this.picking) this.map.closePopup();
    this.hint?.remove();
    this.toggleAttribute('data-picking', this.picking !== null); // Taps go through all that lies on the map.
    document.dispatchEvent(new CustomEvent('plan-picking', { detail: this.picking }));
    if (!this.picking) return;
    const stop = h('button', { type: 'button', class: 'link', onclick: () => this.#pick(null) }, t('form.cancel'));
    this.hint = h('p', { class: 'map-pick card', role: 'status' }, t(`plan.pick.${this.picking}`), ' ', stop);
    this.append(this.hint);
    this.scrollIntoView({ block: 'nearest' });
  }

  #tapped({ lat, lng: lon }) {
    if (isFollowing(document.querySelector('main'))) return;
    if (this.picking) {
      const end = this.picking;
      this.#pick(null);
      this.#take(end, { lat, lon });
    } else {
      this.#offer({ lat, lon });
    }
  }

  /** Ask which end a tapped point is to be. */
  #offer(point) {
    const name = h('h2', {}, t('plan.point.here'));
    const choice = (end) => h('button', { type: 'button', class: 'button', onclick: () => {
      this.popup.close();
      this.#take(end, point, name.dataset.name);
    } }, t(`plan.take.${plans.kind}.${end}`));
    const element = h('article', { class: 'map-offer' }, h('header', {}, name), h('div', { class: 'actions' }, choice('from'), choice('to')));
    this.open({ element, update() {} }, [point.lat, point.lon]);
    element.querySelector('button').focus({ preventScroll: true });
    this.#name(point).then((found) => {
      if (found) name.textContent = name.dataset.name = found;
      this.popup.update();
    });
  }

  /** What is near a point, in words; nothing where nobody can say. */
  async #name({ lat, lon }) {
    const { found } = await ask(`/places/nearest${query({ lat: lat.toFixed(5), lon: lon.toFixed(5) })}`).catch(() => ({}));
    return found ? t('plan.near', { name: found.name }) : null;
  }

  async #take(end, point, name = undefined) {
    const give = (found) => document.dispatchEvent(new CustomEvent('plan-point', { detail: { end, point: { ...point, name: found } } }));
    give(name ?? t('plan.point.here'));
    if (name) return;
    const found = await this.#name(point);
    const now = plans.request[end];
    if (found && now?.lat === point.lat && now.lon === point.lon) give(found);
  }

  /** An end that was dragged is planned from, or to, anew. */
  async #moved(end, point) {
    const name = (await this.#name(point)) ?? t('plan.point.here');
    document.dispatchEvent(new CustomEvent('plan-point', { detail: { end, point: { ...point, name }, isDragged: true } }));
  }
});
