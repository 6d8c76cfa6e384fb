// Places of interest and what is on in them.
import { city } from 'citywise/city.js';
import { h } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { at } from 'citywise/times.js';
import { PinsLayer } from './pins-layer.js';

function pointCard({ geometry: { coordinates: [lon, lat] }, properties: { name, detail, kind, starts } }) {
  const when = starts && at(Date.parse(starts), city.now());
  const go = h('button', { type: 'button', class: 'button', onclick: () => {
    document.dispatchEvent(new CustomEvent('plan-point', { detail: { end: 'to', point: { lat, lon, name, kind, detail } } }));
  } }, t('plan.goto'));
  const element = h('article', {}, h('header', {}, h('h2', {}, name)), h('p', {}, [detail, when].filter(Boolean).join(' · ')), h('div', { class: 'actions' }, go));
  return { element, update() {} };
}

/** The layer; `openCard(card, latLng, marker)` shows one. */
export const pointsLayer = (openCard) => new PinsLayer({
  address: '/points.geojson?kind=venue,event,place', picture: 'star', many: 'plan.points.many', apart: 16, card: pointCard, openCard,
});
