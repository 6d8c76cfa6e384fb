// Where a plan begins and ends, and for parking the circle around it.
import { h, icon } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { PARKING } from './request.js';

const { L } = window;

/** The mark of an end: a flag where one wants to be, a ring where one starts. */
export function endPin(end) {
  const html = h('div', { class: 'end-pin', 'data-end': end }, end === 'to' ? icon('flag') : null);
  return L.divIcon({ html, className: 'pin-root', iconSize: [0, 0] });
}

/** Markers that can be dragged; `onMove(end, point)` hears where one was put. */
export class EndsLayer {
  #circle = L.circle([0, 0], { className: 'radius-circle', interactive: false });
  #markers = new Map();

  constructor(map, onMove) {
    this.map = map;
    for (const end of ['from', 'to']) {
      const marker = L.marker([0, 0], { icon: endPin(end), draggable: true, keyboard: false, zIndexOffset: 1500, alt: t(`plan.${end}`) });
      marker.on('dragend', () => {
        const { lat, lng: lon } = marker.getLatLng();
        onMove(end, { lat, lon });
      });
      this.#markers.set(end, marker);
    }
  }

  show(request) {
    for (const [end, marker] of this.#markers) {
      const point = request[end];
      if (point?.lat === undefined) marker.remove();
      else marker.setLatLng([point.lat, point.lon]).addTo(this.map);
    }
    const isRound = request.kind === PARKING && request.to?.lat !== undefined;
    if (isRound) this.#circle.setLatLng([request.to.lat, request.to.lon]).setRadius(request.radius).addTo(this.map);
    else this.#circle.remove();
  }
}
