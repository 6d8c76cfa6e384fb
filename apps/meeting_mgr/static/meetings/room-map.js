// A small map on which a room's place is tapped; loaded when it is opened.
import { ask } from 'citywise/api.js';
import { h, icon } from 'citywise/elements.js';
import { StreetsLayer } from 'citywise/streets-layer.js';
import { t } from 'citywise/strings.js';

const LEAFLET = '/assets/vendor/leaflet/leaflet';
const CLOSE_ZOOM = 16;

let loading = null;

/** Load Leaflet once; only who opens the map needs it. */
function leaflet() {
  loading ??= new Promise((resolve, reject) => {
    document.head.append(h('link', { rel: 'stylesheet', href: `${LEAFLET}.css` }),
      h('script', { src: `${LEAFLET}.js`, onload: () => resolve(window.L), onerror: reject }));
  });
  return loading;
}

/** The corners of what the city knows. */
async function extent(L) {
  const { features } = await ask('/places');
  const points = features.filter(({ geometry }) => geometry.type === 'Point').map(({ geometry: { coordinates: [lon, lat] } }) => [lat, lon]);
  return points.length ? L.latLngBounds(points) : L.latLngBounds([[56.1, 10.08], [56.23, 10.28]]);
}

/** The map; `onPick(point)` hears where somebody taps. */
export function roomMap(onPick) {
  let map = null;
  let marker = null;
  const holder = h('div', { class: 'room-map', role: 'region', 'aria-label': t('meetings.map') });
  const element = h('div', { hidden: true }, h('p', { class: 'quiet' }, t('meetings.map.help')), holder);

  async function start() {
    const L = await leaflet();
    map = L.map(holder, { attributionControl: false });
    map.fitBounds(await extent(L));
    new StreetsLayer(map, '/plan/streets.json'); // Of the planner, where there is one.
    map.on('click', ({ latlng: { lat, lng } }) => onPick({ lat: Number(lat.toFixed(6)), lon: Number(lng.toFixed(6)) }));
    marker = L.marker([0, 0], { icon: L.divIcon({ className: 'pin-root', html: h('span', { class: 'end-pin', 'data-end': 'to' }, icon('pin')), iconSize: [0, 0] }), keyboard: false });
  }

  function show(point) {
    if (!map || !marker) return;
    if (point?.lat === undefined) marker.remove();
    else marker.setLatLng([point.lat, point.lon]).addTo(map);
  }

  return {
    element,
    show,
    /** Open or close it; whether it is open then. */
    turn(point) {
      element.hidden = !element.hidden;
      if (element.hidden) return false;
      Promise.resolve(map ?? start()).then(() => {
        map.invalidateSize({ pan: false });
        show(point);
        if (point?.lat !== undefined) map.setView([point.lat, point.lon], CLOSE_ZOOM);
      });
      return true;
    },
  };
}
