// The map of a followed trip turns, if one wants it to: what lies ahead is above.
//
// Leaflet cannot turn. What it draws stands in one pane, which the style sheet turns around the middle of the
// view; the map is as large as its diagonal meanwhile, so that no corner is empty. Where Leaflet reckons from
// pixels (dragging, clicks, popups) north is above first.
import { h, icon } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';

const KEPT = 'citywise-turning';

/** Whether somebody wants it, on this device. */
class Turning extends EventTarget {
  get isWanted() {
    return localStorage.getItem(KEPT) !== null;
  }

  want(isWanted) {
    if (isWanted) localStorage.setItem(KEPT, '');
    else localStorage.removeItem(KEPT);
    this.dispatchEvent(new Event('change'));
  }
}

export const turning = new Turning();

export class TurnedMap {
  #page;
  #map;
  #north;
  #angle = 0; // Degrees from north, more than a whole turn too: the shorter way to the next is taken.

  /** `leave()` is called where the map can stay turned no longer. */
  constructor(page, map, leave) {
    [this.#page, this.#map] = [page, map];
    this.#north = h('button', { type: 'button', class: 'trip-north button', hidden: true, 'aria-label': t('trip.north'), title: t('trip.north'), onclick: () => turning.want(false) }, icon('up'));
    page.append(this.#north);
    const left = () => this.isTurned && leave();
    const holder = map.getContainer();
    holder.addEventListener('pointerdown', ({ target }) => target.closest('.pin-root, .leaflet-control') || left(), true);
    holder.addEventListener('keydown', ({ key }) => key.startsWith('Arrow') && left(), true);
    map.on('popupopen', left);
  }

  get isTurned() {
    return this.#page.hasAttribute('data-turned');
  }

  /** Turn so that `heading` (degrees from north) is above; null: north is. */
  show(heading) {
    const isTurned = heading !== null;
    if (isTurned !== this.isTurned) {
      this.#angle = 0;
      this.#page.toggleAttribute('data-turned', isTurned);
      this.#north.hidden = !isTurned;
      this.#map.options.scrollWheelZoom = isTurned ? 'center' : true;
      this.#map.invalidateSize({ animate: false });
    }
    if (!isTurned) return;
    this.#angle += ((heading - this.#angle) % 360 + 540) % 360 - 180;
    this.#page.style.setProperty('--turn', `${-this.#angle}deg`);
  }
}
