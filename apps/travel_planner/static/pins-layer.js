// Places as pins, loaded when somebody wants to see them; many close together are one with a number.
import { ask } from 'citywise/api.js';
import { h, icon } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';

const { L } = window;
const NOTHING = () => {};

const pinIcon = (attributes, ...children) =>
  L.divIcon({ html: h('div', attributes, ...children), className: 'pin-root', iconSize: [0, 0] });
const hidden = (text) => h('span', { class: 'visually-hidden' }, text);

/**
 * A layer of the features of `address`. `picture` is their icon, `many` the text for several in one
 * place, `kind` a class of its pins, `apart` the zoom from which all stand alone; `card(feature)` is
 * what a pin opens with `openCard(card, latLng, marker)`, and `failed` hears that none could be had.
 */
export class PinsLayer {
  constructor({ address, picture, many, kind = '', apart, card, openCard, failed = NOTHING }) {
    Object.assign(this, { address, picture, many, kind, card, openCard, failed });
    this.layer = L.markerClusterGroup({
      showCoverageOnHover: false, maxClusterRadius: 44, disableClusteringAtZoom: apart, spiderfyOnMaxZoom: false, chunkedLoading: true,
      iconCreateFunction: (cluster) => this.#several(cluster.getChildCount()),
    });
    this.layer.on('add', () => this.#load());
  }

  async #load() {
    if (this.loaded) return;
    this.loaded = true;
    try {
      const { features } = await ask(this.address);
      this.layer.addLayers(features.map((feature) => this.#marker(feature)));
    } catch {
      this.loaded = false; // Asked again when it is shown again.
      this.failed();
    }
  }

  #several(count) {
    return pinIcon({ class: `point-pin point-many ${this.kind}` }, h('span', { 'aria-hidden': 'true' }, String(count)), hidden(t(this.many, { count })));
  }

  #marker(feature) {
    const { geometry: { coordinates: [lon, lat] }, properties: { name, kind } } = feature;
    const pin = pinIcon({ class: `point-pin ${this.kind}`, 'data-kind': kind }, icon(this.picture), hidden(name));
    const marker = L.marker([lat, lon], { icon: pin, keyboard: true });
    marker.on('click keypress', (event) => {
      if (event.type === 'keypress' && event.originalEvent.key !== 'Enter') return;
      this.openCard(this.card(feature), marker.getLatLng(), marker);
    });
    return marker;
  }
}
