// All streets of the road network, drawn below everything else on a canvas, tile by tile.
import { h } from './elements.js';
import { inSlices } from './slices.js';

const SCALE = 1e5; // Coordinates come in hundred-thousandths of a degree, each from the one before.
const WIDTHS = [6.5, 5, 4, 3, 1]; // Of the ranks, at the zoom where streets are best read.
const WAYS = 4; // The ranks below are footways and the like: lines without edges.
const [LANES_ZOOM, EDGE] = [14, 1.6];
const USUAL_ZOOM = 15;
const LEAST_ZOOM = [0, 11, 12, 13, 15]; // From which each rank is drawn.

/** Add lines of `[rank, x, y, dx, dy, …]` to `unpacked` as points in degrees with their bounds, line by line. */
function* unpack(lines, unpacked) {
  for (const [rank, ...steps] of lines) {
    const points = new Float64Array(steps.length);
    let [x, y] = [0, 0];
    let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < steps.length; i += 2) {
      x += steps[i];
      y += steps[i + 1];
      points[i] = x / SCALE;
      points[i + 1] = y / SCALE;
      west = Math.min(west, points[i]);
      east = Math.max(east, points[i]);
      south = Math.min(south, points[i + 1]);
      north = Math.max(north, points[i + 1]);
    }
    unpacked.push({ rank, points, west, south, east, north });
    yield;
  }
}

/** Draws tiles one after the other, each line by line. */
const tileLayer = (options) => new (window.L.GridLayer.extend({
  _drawn: Promise.resolve(),

  createTile(coords, done) {
    const { x: side } = this.getTileSize();
    const ratio = window.devicePixelRatio || 1;
    const tile = document.createElement('canvas');
    tile.width = tile.height = side * ratio;
    this._drawn = this._drawn.then(async () => {
      if (!tile.isConnected) return; // Somebody has gone on to another part of the map.
      await inSlices(this._draw(tile.getContext('2d'), coords, side, ratio));
      done(null, tile);
    }).catch(reportError);
    return tile;
  },

  * _draw(context, coords, side, ratio) {
    const { z: zoom } = coords;
    const { crs } = this._map.options;
    const bounds = this._tileCoordsToBounds(coords).pad(0.05);
    const [west, east, south, north] = [bounds.getWest(), bounds.getEast(), bounds.getSouth(), bounds.getNorth()];
    const factor = Math.min(1.6, 1.32 ** (zoom - USUAL_ZOOM));
    context.scale(ratio, ratio);
    context.translate(-coords.x * side, -coords.y * side);
    Object.assign(context, { lineCap: 'round', lineJoin: 'round' });
    const paths = WIDTHS.map(() => new Path2D());
    const shown = this.options.lines.filter((line) => zoom >= LEAST_ZOOM[line.rank]
      && line.west < east && line.east > west && line.south < north && line.north > south);
    yield;
    for (const { rank, points } of shown) {
      for (let i = 0; i < points.length; i += 2) {
        const { x, y } = crs.latLngToPoint(window.L.latLng(points[i + 1], points[i]), zoom);
        if (i) paths[rank].lineTo(x, y);
        else paths[rank].moveTo(x, y);
      }
      yield;
    }
    const { edge, lane } = this.options.colours();
    const strokes = zoom >= LANES_ZOOM ? [[edge, EDGE], [lane, 0]] : [[edge, 0]];
    for (const [style, wider] of strokes) {
      for (const [rank, path] of paths.entries()) {
        context.strokeStyle = style;
        context.lineWidth = Math.max(0.6, WIDTHS[rank] * factor + (rank < WAYS ? wider : 0));
        context.stroke(path);
        yield;
      }
    }
  },
}))(options);

/** The layer, of lines from an address; without a road network, or offline, there is none. */
export class StreetsLayer {
  constructor(map, address) {
    this.map = map;
    this.#load(address);
  }

  async #load(address) {
    const response = await fetch(address).catch(() => null);
    if (!response?.ok) return;
    const { lines, licence } = await response.json();
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
    const colours = () => ({ edge: colour('--street'), lane: colour('--lane') });
    const unpacked = [];
    await inSlices(unpack(lines, unpacked));
    const tiles = tileLayer({ lines: unpacked, colours, updateWhenIdle: false, keepBuffer: 1, className: 'street-tiles', attribution: h('span', {}, licence).innerHTML }).addTo(this.map);
    const redraw = () => tiles.redraw();
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ['data-theme'] });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  }
}
