// For operators: a point, a section of a street, or an area, is chosen on the map and taken to the page *System*.
import { query } from './api.js';
import { h, setText } from './elements.js';
import { t } from './strings.js';

const LEAST = 2; // Points of a section.
const CORNERS = 3; // Of an area, at least.
const DIGITS = 6;

const taken = (values) => location.assign(`/system${query(values)}#byhand`);
const written = ({ lat, lng }) => `${lat.toFixed(DIGITS)},${lng.toFixed(DIGITS)}`;

/** Let the next click on a map be where an event is. */
function pickPoint(map) {
  map.on('click', ({ latlng: { lat, lng } }) => taken({ lat: lat.toFixed(DIGITS), lon: lng.toFixed(DIGITS) }));
  return [];
}

/** Let each click be one more point; the buttons take the last one back, and a section or what it encloses along. */
function drawLine(map) {
  const line = window.L.polyline([], { className: 'drawn-line', interactive: false }).addTo(map);
  const points = () => line.getLatLngs();
  const button = (key, onclick, more = '') => h('button', { type: 'button', class: `button${more}`, onclick }, t(key));
  const back = button('byhand.draw.back', () => show(points().slice(0, -1)));
  const take = (drawn) => taken({ line: drawn.map(written).join(';') });
  const area = button('byhand.draw.area', () => take([...points(), points()[0]]));
  const done = button('byhand.draw.done', () => take(points()), ' primary');
  const count = h('span', { class: 'quiet' });

  function show(drawn) {
    line.setLatLngs(drawn);
    back.disabled = drawn.length === 0;
    area.disabled = drawn.length < CORNERS;
    done.disabled = drawn.length < LEAST;
    setText(count, t('byhand.section.points', { count: drawn.length }));
  }

  map.on('click', ({ latlng }) => show([...points(), latlng]));
  show([]);
  return [count, h('span', { class: 'actions' }, back, area, done)];
}

/** Choose on the map of a page: a section where `isLine`, else a point. */
export function pickOn(page, isLine) {
  page.toggleAttribute('data-picking', true); // Clicks go through all that lies on the map.
  const tools = (isLine ? drawLine : pickPoint)(page.map);
  page.append(h('div', { class: 'map-pick card', role: 'status' }, h('span', {}, t(isLine ? 'byhand.draw' : 'byhand.pick')), ...tools));
}
