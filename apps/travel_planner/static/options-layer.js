// The ways and garages of a plan on the map, in the colours and numbers of the list.
import { walksOf } from './directions.js';
import { isByLine } from './line-card.js';
import { badge } from './option-card.js';
import { plans } from './plans.js';

const { L } = window;
const SAMPLES = 40;
const REJECTED = 'rejected';
const LEG = 'leg'; // A walk to the street or from it, which is a part of the way.
const APART_PX = 34; // Numbers and ends this far from each other do not lie on one another.

const latLngs = (geometry) => geometry?.coordinates.map(([lon, lat]) => [lat, lon]) ?? [];

/** The lines of an option: `[points, kind]`, kind being the mode, for its dashes. */
function linesOf(option) {
  if (isByLine(option)) return option.legs.map((leg) => [latLngs(leg.geometry), leg.trip ? 'transit' : leg.mode]);
  const { from, to } = plans.answer;
  const walked = (line, ...ends) => walksOf(line, ...ends).map((walk) => [walk, LEG]);
  if (option.mode) {
    const way = latLngs(option.geometry);
    return [[way, option.mode], ...walked(way, from, to)];
  }
  const drive = latLngs(option.drive?.geometry);
  return [[drive, 'car'], ...walked(drive, from, null), [latLngs(option.geometry), 'walk']].filter(([points]) => points.length);
}

const sampled = (points) => {
  const step = Math.max(1, Math.floor(points.length / SAMPLES));
  return points.filter((_, index) => index % step === 0);
};

const nearest = (point, others) => Math.min(Infinity, ...others.map((other) => point.distanceTo(other)));

/**
 * Which of a way's points its number is to stand on, all in pixels: away from the numbers and ends
 * that are there (`taken`), and then as far from the other ways as can be.
 */
function clearest(points, others, taken) {
  const room = points.map((point) => Math.min(APART_PX, nearest(point, taken)));
  const most = Math.max(...room);
  const clear = points.map((point, index) => (room[index] < most ? -1 : Math.min(APART_PX, nearest(point, others))));
  return clear.indexOf(Math.max(...clear));
}

/** The layer: what is looked at lies above the others. */
export class OptionsLayer {
  #drawn = new Map();
  points = [];

  constructor(map) {
    this.map = map;
    map.createPane('plan').classList.add('pane-plan');
    map.createPane('plan-marks').classList.add('pane-plan-marks');
    this.group = L.layerGroup().addTo(map);
    map.on('zoomend', () => this.place());
  }

  /** Draw options, the best on top; those rejected are drawn only while they are looked at. */
  show(options, rejected) {
    this.group.clearLayers();
    this.#drawn.clear();
    this.rejected = rejected;
    const all = options.map((option) => linesOf(option).flatMap(([points]) => points));
    this.points = [...all.flat(), ...options.filter((option) => option.lat).map(({ lat, lon }) => [lat, lon])];
    options.map((option, index) => [option, index]).reverse().forEach(([option, index]) => this.#draw(option, index + 1));
    this.place();
    this.mark(plans.marked);
  }

  /** Put the number of each way where it hides least, as far as one sees it now. */
  place() {
    const pixel = (point) => this.map.latLngToLayerPoint(point);
    const ways = [...this.#drawn.values()].filter(({ way, marks }) => way && marks.length).reverse();
    const taken = ways.flatMap(({ way }) => [way[0], way.at(-1)]).map(pixel);
    const samples = ways.map(({ way }) => sampled(way));
    const pixels = samples.map((points) => points.map(pixel));
    ways.forEach(({ marks: [mark] }, index) => {
      const at = clearest(pixels[index], pixels.filter((_, other) => other !== index).flat(), taken);
      mark.setLatLng(samples[index][at]);
      taken.push(pixels[index][at]);
    });
  }

  #draw(option, rank) {
    const lines = linesOf(option).flatMap(([points, mode]) => this.#line(points, mode, rank, option));
    const way = option.lat ? null : latLngs(option.geometry);
    const at = option.lat ? [option.lat, option.lon] : way[0];
    const marks = rank === REJECTED ? [] : [this.#mark(option, at, rank)];
    for (const layer of [...lines, ...marks]) this.group.addLayer(layer);
    this.#drawn.set(option.id, { lines, marks, way });
  }

  #line(points, mode, rank, option) {
    const line = (className, rest = {}) => L.polyline(points, { className, pane: 'plan', interactive: false, ...rest });
    const casing = line('plan-casing');
    const path = mode === LEG ? line(`plan-leg plan-leg-${rank} plan-by-walk`) : line(`plan-line plan-line-${rank}${option.chosen ? ' plan-line-chosen' : ''} plan-by-${mode}`);
    const touch = line('plan-touch', { interactive: true, weight: 20, opacity: 0 });
    touch.on('click', () => this.#choose(option.id)).on('mouseover', () => plans.mark(option.id));
    return rank === REJECTED ? [casing, path] : [casing, path, touch];
  }

  #mark(option, at, rank) {
    const html = badge(rank);
    html.classList.add('option-mark');
    if (option.chosen) html.dataset.chosen = 'true';
    const icon = L.divIcon({ html, className: 'pin-root', iconSize: [0, 0] });
    return L.marker(at, { icon, keyboard: false, pane: 'plan-marks' }).on('click', () => this.#choose(option.id));
  }

  #choose(id) {
    plans.mark(id);
    document.querySelector(`.option[data-option="${CSS.escape(id)}"]`)?.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
  }

  /** Bring one forward; without any the best is. */
  mark(id) {
    this.#unshow();
    const rejected = id !== null && !this.#drawn.has(id) ? this.rejected?.find((option) => option.id === id) : null;
    if (rejected) this.#shown(rejected);
    const front = this.#drawn.get(id ?? plans.options.find(({ chosen }) => chosen)?.id);
    for (const each of this.#drawn.values()) {
      for (const layer of [...each.lines, ...each.marks]) layer.getElement()?.classList.toggle('is-marked', each === front && id !== null);
    }
    front?.lines.forEach((line) => line.bringToFront());
  }

  #shown(option) {
    this.#draw(option, REJECTED);
    this.temporary = option.id;
  }

  #unshow() {
    this.#drawn.get(this.temporary)?.lines.forEach((line) => this.group.removeLayer(line));
    this.#drawn.delete(this.temporary);
    this.temporary = null;
  }
}
