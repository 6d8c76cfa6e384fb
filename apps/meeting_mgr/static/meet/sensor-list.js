// The sensors this device offers, with a tick each.
import { h, keyed, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { SENSORS } from './sensors/index.js';
import { sensorRow } from './sensor-row.js';

/** The list; `changed(names)` with all that are ticked when one is ticked or unticked. */
export function sensorList(sensing, changed) {
  const list = h('ul', { class: 'sensors' });
  const looking = h('p', { class: 'quiet' }, t('meet.sensors.looking'));
  const missing = h('p', { class: 'quiet sensors-missing' });
  const element = h('div', { class: 'sensor-list' }, looking, list, missing);
  let ticked = new Set();

  function tick(name, isTicked) {
    if (isTicked) ticked.add(name);
    else ticked.delete(name);
    changed(chosen());
  }

  const chosen = () => SENSORS.map(({ name }) => name).filter((name) => ticked.has(name));

  /** Tick exactly these. */
  function set(names) {
    ticked = new Set(names);
  }

  /** As the meeting's `view` has it; without one nobody has joined yet. */
  function update(view = null, now = 0, bounds = null) {
    const { offered } = sensing;
    looking.hidden = offered !== null;
    if (!offered) return;
    keyed(list, offered, (name) => name, (name) => {
      const row = sensorRow(name, sensing, tick);
      return Object.assign(row.element, { row });
    }, ({ row }) => {
      row.input.checked = ticked.has(row.name);
      row.update(view?.me, now, bounds?.words(row.name));
    });
    const others = SENSORS.map(({ name }) => name).filter((name) => !offered.includes(name));
    setText(missing, others.length ? t('meet.sensors.missing', { names: others.map((name) => t(`meet.sensor.${name}`)).join(', ') }) : '');
  }

  return { element, update, chosen, set };
}
