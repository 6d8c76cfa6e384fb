// A switch by which one agrees to something: what it is for, whether it is on, and what is known of it.
import { attempt } from 'citywise/doing.js';
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';

/**
 * A card with the switch `name` under the texts `meet.<name>`, `meet.<name>.<verb>` and `meet.<name>.explain`.
 * `send(isOn)` tells it, `read(view)` says whether it `isHidden`, whether it `isOn`, and the `words` of what is known.
 */
export function ownSwitch(seat, name, verb, send, read) {
  const known = h('p', { role: 'status' });
  const input = h('input', { type: 'checkbox', role: 'switch', id: `own-${name}`, 'aria-describedby': `own-${name}-about`, onchange: () => tell() });
  const element = h('section', { class: `meet-card own-${name}`, 'aria-labelledby': `own-${name}-title` },
    h('h2', { id: `own-${name}-title` }, t(`meet.${name}`)), h('div', { class: 'sensor-line' }, h('label', { for: `own-${name}` }, t(`meet.${name}.${verb}`)), input),
    known, h('p', { class: 'quiet', id: `own-${name}-about` }, t(`meet.${name}.explain`)));
  let isAsking = false;

  async function tell() {
    isAsking = true;
    await attempt(() => send(input.checked), t(`meet.said.${input.checked ? '' : 'no'}${name}`));
    isAsking = false;
    update(seat.view);
  }

  function update(view) {
    const { isHidden, isOn, words } = read(view);
    element.hidden = isHidden;
    if (!isAsking) input.checked = isOn;
    setText(known, isOn ? words : '');
  }

  return { element, update };
}
