// The followed trip on the map: what is done and what is left, the proposal, and where one is.
import { h, icon } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { walksOf } from './directions.js';
import { endPin } from './ends-layer.js';
import { traveller } from './trip-traveller.js';
import { TurnedMap, turning } from './trip-turning.js';
import { pointsOf, Way } from './trip-way.js';

const CLOSE_ZOOM = 16;
const latLng = ([lon, lat]) => [lat, lon];

/** What is walked: to the street before anybody is under way, from it, and from a garage. */
function walks(trip) {
  const line = pointsOf(trip).map(latLng);
  const start = trip.position ? null : trip.request.from;
  if (trip.kind !== 'parking') return walksOf(line, start, trip.to);
  return [...walksOf(line, start, null), trip.plan.geometry?.coordinates.map(latLng) ?? []].filter((walk) => walk.length);
}

/** Whereto somebody moves, in degrees from north: as the device says, else as the way leads there. */
function headingOf(trip) {
  const { heading, lon, lat } = trip.position;
  if (Number.isFinite(heading)) return heading;
  const points = pointsOf(trip);
  if (points.length < 2) return null;
  const way = new Way(points);
  return way.at(way.nearest([lon, lat])).heading;
}

export class TripMap {
  #map = null;
  #page = null;
  #layer = null;
  #lines = {};
  #here = null;
  #flag = null;
  #fitted = null;
  #keeps = 'whole'; // In view: the whole way, oneself `close`, or what somebody has moved the map to (`moved`).
  #at = null;
  #recentre = null;
  #turned = null;
  #trip = null;
  #heading = 0;

  /** Draw `trip`, or nothing. */
  show(trip) {
    if (!this.#find()) return;
    this.#page.toggleAttribute('data-followed', trip !== null && trip !== undefined);
    this.#at = trip?.position ? latLng([trip.position.lon, trip.position.lat]) : null;
    this.#trip = trip;
    if (!trip) {
      this.#layer.clearLayers();
      this.#fitted = null;
      this.#keep('whole');
      return;
    }
    if (!this.#map.hasLayer(this.#layer) || !this.#layer.getLayers().length) this.#add();
    this.#draw(trip);
    this.#look(trip);
  }

  /** The map that folium made, once the page has one. */
  #find() {
    const page = document.querySelector('plan-map');
    const map = this.#map ?? page?.map;
    if (!map || this.#map) return map;
    [this.#map, this.#page] = [map, page];
    map.createPane('trip').classList.add('pane-trip');
    this.#layer = window.L.layerGroup().addTo(map);
    map.on('dragstart', () => this.#keep('moved'));
    const follow = h('button', { type: 'button', class: 'trip-recentre button', hidden: true, onclick: () => this.#keep('close') }, icon('locate'), t('trip.recentre'));
    this.#recentre = follow;
    page.append(follow);
    this.#turned = new TurnedMap(page, map, () => this.#keep('moved'));
    turning.addEventListener('change', () => this.#keep(turning.isWanted ? 'close' : this.#keeps));
    traveller.addEventListener('change', () => this.#keep(this.#keeps));
    return map;
  }

  #add() {
    const { L } = window;
    const line = (name) => L.polyline([], { pane: 'trip', className: `trip-line trip-${name}`, interactive: false });
    for (const name of ['done', 'casing', 'left', 'walk', 'proposal-casing', 'proposal']) {
      this.#lines[name] = line(name).addTo(this.#layer);
    }
    const pin = h('div', { class: 'trip-here' }, h('span', { class: 'visually-hidden' }, t('trip.here')));
    this.#here = L.marker([0, 0], { icon: L.divIcon({ html: pin, className: 'pin-root', iconSize: [0, 0] }), keyboard: false, interactive: false, zIndexOffset: 1000, pane: 'trip' });
    this.#flag = L.marker([0, 0], { icon: endPin('to'), keyboard: false, interactive: false, pane: 'trip', zIndexOffset: 900 });
    this.accuracy = L.circle([0, 0], { pane: 'trip', className: 'trip-accuracy', interactive: false, radius: 0 });
  }

  #draw(trip) {
    const [done, left] = this.#split(trip);
    const proposal = trip.proposal && !trip.snoozed_until ? pointsOf({ kind: trip.kind, plan: trip.proposal }) : [];
    const drawn = { done, casing: left, left, 'proposal-casing': proposal, proposal };
    for (const [name, points] of Object.entries(drawn)) this.#lines[name].setLatLngs(points.map(latLng));
    this.#lines.walk.setLatLngs(walks(trip));
    const end = trip.kind === 'parking' ? trip.request.destination ?? trip.plan : trip.to;
    if (end?.lat !== undefined) this.#flag.setLatLng([end.lat, end.lon]).addTo(this.#layer);
    this.#lines.left.getElement()?.classList.toggle('trip-old', proposal.length > 0);
    this.#mark(trip.position);
  }

  #split(trip) {
    const points = pointsOf(trip);
    if (points.length < 2) return [[], trip.position ? [[trip.position.lon, trip.position.lat], [trip.plan.lon, trip.plan.lat]] : []];
    if (!trip.position) return [[], points];
    const way = new Way(points);
    return way.cut(way.nearest([trip.position.lon, trip.position.lat]));
  }

  #mark(position) {
    if (!position) {
      this.#here.remove();
      this.accuracy.remove();
      return;
    }
    this.#here.setLatLng([position.lat, position.lon]).addTo(this.#layer);
    this.accuracy.setLatLng([position.lat, position.lon]).setRadius(Math.min(position.accuracy_m ?? 0, 2000)).addTo(this.#layer);
    this.accuracy.bringToBack();
  }

  // All of it is shown when it begins and when there is a choice; then one stays in view.
  #look(trip) {
    const lines = [this.#lines.left, this.#lines.proposal, this.#lines.walk].flatMap((line) => line.getLatLngs().flat(2));
    const seen = `${trip.id} ${trip.plan.id} ${trip.proposal?.number ?? ''}`;
    if (lines.length && this.#fitted !== seen) {
      this.#fitted = seen;
      this.#turned.show(null);
      this.#map.fitBounds(window.L.latLngBounds(lines), { ...this.#page.free(), maxZoom: CLOSE_ZOOM, animate: false });
      this.#keeps = 'whole';
    } else if (this.#at && this.#keeps === 'whole') {
      this.#map.panInside(this.#at, { padding: [48, 48], animate: false });
    }
    this.#keep(this.#keeps);
  }

  /** What is kept in view from now on, until somebody moves the map or wants it to follow them. */
  #keep(what) {
    this.#keeps = what;
    this.#recentre.hidden = !this.#at || what === 'close' || traveller.state === 'off';
    const isClose = this.#at !== null && what === 'close';
    const isTurned = isClose && turning.isWanted && traveller.state !== 'off';
    if (isTurned) this.#heading = headingOf(this.#trip) ?? this.#heading;
    this.#turned.show(isTurned ? this.#heading : null);
    if (isClose) this.#map.setView(this.#at, Math.max(this.#map.getZoom(), CLOSE_ZOOM), { animate: false });
  }
}
