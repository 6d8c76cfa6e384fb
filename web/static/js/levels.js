// How bad something is, from 1 to 5, as bars and in words.
import { h, setText } from './elements.js';
import { t } from './strings.js';

const WORST = 5;

/** A meter and the function that sets it; `words` is the key of its text. */
export function levelMeter(words = 'event.level') {
  const bars = Array.from({ length: WORST }, () => h('i'));
  const text = h('span', { class: 'level-words' });
  const meter = h('span', { class: 'level' }, h('span', { class: 'level-bars', 'aria-hidden': 'true' }, ...bars), text);
  return {
    meter,
    show(level) {
      meter.dataset.level = level;
      bars.forEach((bar, index) => bar.toggleAttribute('data-on', index < level));
      setText(text, t(words, { level }));
    },
  };
}
