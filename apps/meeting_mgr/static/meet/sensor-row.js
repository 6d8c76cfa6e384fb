// One sensor: whether it is shared, what it is for, and how it stands.
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { at } from 'citywise/times.js';
import { noiseCalibration } from './noise-calibration.js';
import { BRIGHTNESS, brightness } from './sensors/light.js';

let serial = 0;

/** What the person says of the light, where no sensor does. */
function brightnessField() {
  const select = h('select', { 'aria-label': t('meet.light.say'), onchange: () => brightness.say(select.value) },
    ...Object.keys(BRIGHTNESS).map((word) => h('option', { value: word, selected: word === brightness.said }, t(`meet.light.${word}`))));
  return select;
}

const EXTRAS = { noise: noiseCalibration, light: () => (brightness.isByHand ? brightnessField() : null) };

/** The row of the sensor `name`; `changed()` when it is ticked or unticked. */
export function sensorRow(name, sensing, changed) {
  const id = `sensor-${(serial += 1)}`;
  const input = h('input', {
    type: 'checkbox', role: 'switch', id, 'aria-describedby': `${id}-about ${id}-bound ${id}-state`, onchange: () => changed(name, input.checked),
  });
  const bound = h('p', { class: 'quiet sensor-bound', id: `${id}-bound`, hidden: true });
  const state = h('span', { class: 'sensor-state', id: `${id}-state` });
  const again = h('button', { type: 'button', class: 'link', hidden: true, onclick: () => sensing.again(name) }, t('meet.sensor.again'));
  const extra = EXTRAS[name]?.() ?? null;
  const element = h('li', { class: 'sensor', 'data-sensor': name },
    h('div', { class: 'sensor-line' }, h('label', { for: id }, t(`meet.sensor.${name}`)), input),
    h('p', { class: 'quiet', id: `${id}-about` }, t(`meet.about.${name}`)), bound, h('p', { class: 'sensor-how' }, state, ' ', again), extra);

  /** How it stands, as `me` of the view has it, and which bound it has; without them nobody has joined yet. */
  function update(me = null, now = 0, boundWords = '') {
    bound.hidden = !input.checked || !boundWords;
    setText(bound, boundWords);
    const problem = input.checked && sensing.problems.get(name);
    const told = me?.sensors[name];
    again.hidden = !problem;
    if (extra) extra.hidden = !input.checked;
    if (!input.checked || !me) show('', '');
    else if (problem) show('problem', t(`meet.sensor.${problem}`));
    else if (told?.state === 'silent' || (!sensing.tells(name) && told)) show('silent', t('meet.sensor.silent', { time: at(Date.parse(told.since), now) }));
    else if (sensing.tells(name)) show(told?.state === 'out' ? 'out' : 'in', t(`meet.sensor.${told?.state === 'out' ? 'out' : 'in'}`));
    else show('waiting', t('meet.sensor.waiting'));
  }

  function show(word, words) {
    element.dataset.state = word;
    setText(state, words);
  }

  return { name, element, input, update };
}
