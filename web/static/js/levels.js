// How bad something is, from 1 to 5, as bars and in words.
import { h, setText } from './elements.js';
import { knows, t } from './strings.js';

const WORST = 5;

/** “Level 3 of 5: serious” */
export const levelWords = (level) => t(knows(`event.level.${level}`) ? `event.level.${level}` : 'event.level', { level });

/** A meter and the function that sets it; `words` says a level in words. */
export function levelMeter(words = levelWords) {
  const bars = Array.from({ length: WORST }, () => h('i'));
  const text = h('span', { class: 'level-words' });
  const meter = h('span', { class: 'level' }, h('span', { class: 'level-bars', 'aria-hidden': 'true' }, ...bars), text);
  return {
    meter,
    show(level) {
      meter.dataset.level = level;
      bars.forEach((bar, index) => bar.toggleAttribute('data-on', index < level));
      setText(text, words(level));
    },
  };
}
