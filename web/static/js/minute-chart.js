// A small chart of the last hour: a bar for each minute, and what it says in words.
import { drawn } from './history-chart.js';
import { h, setText } from './elements.js';
import { t } from './strings.js';

const [WIDTH, HEIGHT, BAR] = [240, 40, 4];

/** The chart called by the string `key`; `written(value)` words a value. `show(values)` has a number a minute, null where unknown. */
export function minuteChart(key, written) {
  const svg = drawn('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img' });
  const words = h('figcaption', {});
  return {
    element: h('figure', { class: 'minute-chart', 'data-chart': key }, h('p', {}, t(key)), svg, words),
    show(values) {
      const known = values.filter((value) => value !== null);
      const most = Math.max(0, ...known);
      svg.replaceChildren(drawn('path', { class: 'floor', d: `M0 ${HEIGHT - 0.5}H${WIDTH}` }), ...values.flatMap((value, index) => {
        if (!value) return [];
        const high = Math.max(1, (value / most) * (HEIGHT - 2));
        return [drawn('rect', { x: index * BAR, y: HEIGHT - high, width: BAR - 1, height: high })];
      }));
      const last = values.at(-1) ?? values.at(-2);
      const text = known.length ? t('minutes.said', { most: written(most), last: last === null ? '–' : written(last) }) : t('minutes.none');
      svg.setAttribute('aria-label', `${t(key)}: ${text}`);
      setText(words, text);
    },
  };
}
