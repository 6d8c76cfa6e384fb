// The last 24 hours of a place: for each kind a line, in a band from the least to the greatest value.
import { ask, query, wrong } from './api.js';
import { city } from './city.js';
import { h, setText } from './elements.js';
import { labelled, unitText } from './kinds.js';
import { number, t } from './strings.js';
import { at } from './times.js';

const WIDTH = 280;
const HEIGHT = 72;
const GAP = 4; // So many usual steps without a value: the line breaks.

/** An element of SVG, with attributes. */
export function drawn(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** The field of a kind that a chart shows: that of the map, or the first number. */
function shownField({ fields, map }) {
  const isNumber = (name) => ['integer', 'decimal'].includes(fields[name]?.type);
  return isNumber(map?.show) ? map.show : Object.keys(fields).find(isNumber);
}

const read = ({ t: time, value, min, mean, max }) =>
  ({ ms: Date.parse(time), mean: mean ?? value, min: min ?? value, max: max ?? value });

/** Points in runs without a gap. */
function runs(points) {
  const steps = points.slice(1).map(({ ms }, index) => ms - points[index].ms).sort((a, b) => a - b);
  const most = GAP * (steps[Math.floor(steps.length / 2)] ?? Infinity);
  return points.reduce((found, point) => {
    const last = found.at(-1)?.at(-1);
    if (last && point.ms - last.ms <= most) found.at(-1).push(point);
    else found.push([point]);
    return found;
  }, []);
}

/** What a chart says, in words. */
function inWords(name, unit, points) {
  const low = Math.min(...points.map(({ min }) => min));
  const high = Math.max(...points.map(({ max }) => max));
  const mean = points.reduce((sum, point) => sum + point.mean, 0) / points.length;
  const rounded = (value) => number(Math.round(value * 10) / 10);
  return { low, high, text: t('history.said', { name, unit, low: rounded(low), high: rounded(high), mean: rounded(mean) }) };
}

/** The rows of a chart, as they were measured, for a spreadsheet. */
const table = (kind, place) => h('a', { href: `/api/v1/history/readings${query({ kind, place, span: 'raw', format: 'csv' })}`, download: `${place}-${kind}.csv` }, t('history.csv'));

function chart(name, unit, points, begin, end, rows) {
  const { low, high, text } = inWords(name, unit, points);
  const x = (ms) => ((ms - begin) / (end - begin)) * WIDTH;
  const y = (value) => HEIGHT - 4 - ((value - low) / (high - low || 1)) * (HEIGHT - 8);
  const place = (ms, value) => `${x(ms).toFixed(1)},${y(value).toFixed(1)}`;
  const svg = drawn('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': text });
  for (const run of runs(points)) {
    const band = [...run.map(({ ms, max }) => place(ms, max)), ...run.toReversed().map(({ ms, min }) => place(ms, min))];
    svg.append(drawn('polygon', { class: 'band', points: band.join(' ') }));
    svg.append(run.length > 1 ? drawn('polyline', { class: 'mean', points: run.map(({ ms, mean }) => place(ms, mean)).join(' ') })
      : drawn('circle', { class: 'dot', cx: x(run[0].ms), cy: y(run[0].mean), r: 2 }));
  }
  return h('figure', {}, svg, h('p', { class: 'quiet ends', 'aria-hidden': 'true' }, h('span', {}, at(begin, end)), h('span', {}, at(end, end))),
    h('figcaption', {}, text, ' ', rows));
}

async function charts(place) {
  const kinds = (place.sensors ?? []).map((name) => city.kinds.get(name)).filter((kind) => kind && shownField(kind));
  const answers = await Promise.all(kinds.map((kind) =>
    ask(`/history/readings${query({ kind: kind.kind, place: place.id, field: shownField(kind) })}`)));
  return answers.flatMap(({ series, from, until }, index) => series.map(({ field, points }) => {
    const { label, unit } = kinds[index].fields[field];
    return chart(labelled(label, field), unitText(unit), points.map(read), Date.parse(from), Date.parse(until), table(kinds[index].kind, place.id));
  }));
}

/** A part of a place's card that asks for its last 24 hours when it is opened. */
export function historyOf(place) {
  const told = h('p', { class: 'quiet', role: 'status' });
  const body = h('div', {}, told);
  const element = h('details', { class: 'history' }, h('summary', {}, t('history.day')), body);
  element.addEventListener('toggle', async () => {
    if (!element.open) return;
    setText(told, t('history.loading'));
    try {
      const found = await charts(place);
      setText(told, found.length ? '' : t('history.none'));
      body.replaceChildren(told, ...found);
    } catch (error) {
      setText(told, wrong(error));
    }
    body.dispatchEvent(new CustomEvent('toggle')); // What holds the card makes room for it.
  });
  return element;
}
