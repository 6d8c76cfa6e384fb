// Ticks for values with words.
import { h } from 'citywise/elements.js';

/** `value()` are those that are ticked, in order; `offer(values, ticked)` others, `[value, word]` each. */
export function ticksField(title, values, ticked) {
  const list = h('div', { class: 'tick-chips' });
  const element = h('fieldset', { class: 'tick-field' }, h('legend', {}, title), list);
  function offer(offered, chosen) {
    list.replaceChildren(...offered.map(([value, word]) => h('label', { class: 'tick-chip' }, h('input', { type: 'checkbox', value, checked: chosen.includes(value) }), h('span', {}, word))));
    element.hidden = offered.length === 0;
  }
  offer(values, ticked);
  return { element, offer, value: () => [...list.querySelectorAll(':checked')].map((box) => box.value) };
}
