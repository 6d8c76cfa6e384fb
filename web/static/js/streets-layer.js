// All streets of the road network, drawn below everything else on a canvas, tile by tile.
import { h } from './elements.js';

const { L } = window;
const SCALE = 1e5; // Coordinates come in hundred-thousandths of a degree, each from the one before.
const WIDTHS = [6.5, 5, 4, 3, 1]; // Of the ranks, at the zoom where streets are best read.
const WAYS = 4; // The ranks below are footways and the like: lines without edges.
const [LANES_ZOOM, EDGE] = [14, 1.6];
const USUAL_ZOOM = 15;
const LEAST_ZOOM = [0, 11, 12, 13, 15]; // From which each rank is drawn.

/** Lines of `[rank, x, y, dx, dy, …]` as points in degrees with their bounds. */
function unpacked(lines) {
  return lines.map(([rank, ...steps]) => {
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
    return { rank, points, west, south, east, north };
  });
}

const StreetTiles = L.GridLayer.extend({
  createTile(coords) {
    const { x: side } = this.getTileSize();
    const ratio = window.devicePixelRatio || 1;
    const tile = document.createElement('canvas');
    tile.width = tile.height = side * ratio;
    this._draw(tile.getContext('2d'), coords, side, ratio);
    return tile;
  },

  _draw(context, coords, side, ratio) {
    const { z: zoom } = coords;
    const bounds = this._tileCoordsToBounds(coords).pad(0.05);
    const [west, east, south, north] = [bounds.getWest(), bounds.getEast(), bounds.getSouth(), bounds.getNorth()];
    const factor = Math.min(1.6, 1.32 ** (zoom - USUAL_ZOOM));
    context.scale(ratio, ratio);
    context.translate(-coords.x * side, -coords.y * side);
    Object.assign(context, { lineCap: 'round', lineJoin: 'round' });
    const shown = this.options.lines.filter((line) => zoom >= LEAST_ZOOM[line.rank]
      && line.west < east && line.east > west && line.south < north && line.north > south);
    const paths = WIDTHS.map((_, rank) => this._path(shown.filter((line) => line.rank === rank), zoom));
    const stroke = (style, wider) => paths.forEach((path, rank) => {
      context.strokeStyle = style;
      context.lineWidth = Math.max(0.6, WIDTHS[rank] * factor + (rank < WAYS ? wider : 0));
      context.stroke(path);
    });
    const { edge, lane } = this.options.colours();
    stroke(edge, zoom >= LANES_ZOOM ? EDGE : 0);
    if (zoom >= LANES_ZOOM) stroke(lane, 0);
  },

  _path(lines, zoom) {
    const { crs } = this._map.options;
    const path = new Path2D();
    for (const { points } of lines) {
      for (let i = 0; i < points.length; i += 2) {
        const { x, y } = crs.latLngToPoint(L.latLng(points[i + 1], points[i]), zoom);
        if (i) path.lineTo(x, y);
        else path.moveTo(x, y);
      }
    }
    return path;
  },
});

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
    const tiles = new StreetTiles({ lines: unpacked(lines), colours, updateWhenIdle: false, keepBuffer: 1, className: 'street-tiles', attribution: h('span', {}, licence).innerHTML }).addTo(this.map);
    const redraw = () => tiles.redraw();
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ['data-theme'] });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  }
}
