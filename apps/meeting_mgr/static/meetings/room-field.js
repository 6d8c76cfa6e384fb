// Where the meeting is: the room's name, and its position by name, map or “here”.
import { h } from 'citywise/elements.js';
import { labelledField, textField } from 'citywise/labelled-field.js';
import { pointField } from 'citywise/point-field.js';
import { t } from 'citywise/strings.js';
import { roomMap } from './room-map.js';

const LONGEST = 200;
const DIGITS = 5; // Of a degree: about a metre.
const SENSORS = '[A-Za-z0-9][A-Za-z0-9_.:\\-]{0,63}';

/** A point that is called by its coordinates. */
const named = (lat, lon) => ({ lat, lon, name: `${lat.toFixed(DIGITS)}, ${lon.toFixed(DIGITS)}` });

/** The field of `room`: `{name, lat, lon, sensors}`. */
export function roomField() {
  const name = textField({ name: 'room', title: t('meetings.room'), maxlength: LONGEST, autocomplete: 'off' });
  const map = roomMap(({ lat, lon }) => place.set(named(lat, lon), true));
  const place = pointField({ name: 'place', title: t('meetings.place'), help: t('meetings.place.help'), near: () => place.value(), onPick: () => pick(), onChange: (point) => map.show(point) });
  const sensors = h('input', { type: 'text', pattern: SENSORS, maxlength: 64, autocomplete: 'off', spellcheck: 'false' });
  const sensorsField = labelledField({ name: 'sensors', title: t('meetings.sensors'), help: t('meetings.sensors.help'), input: sensors });
  const element = h('div', { class: 'room-field' }, name.element, place.element, map.element, h('details', { class: 'why' }, h('summary', {}, t('meetings.sensors.more')), sensorsField.element));

  function pick() {
    const isOpen = map.turn(place.value());
    place.picking(isOpen);
  }

  const faulty = () => (!name.check() ? name : !hasPlace() ? place : !sensors.checkValidity() ? { focus: () => sensors.focus() } : null);
  const hasPlace = () => place.input.value.trim() === '' || place.value()?.lat !== undefined;

  return {
    name: 'room',
    element,
    say: (message, path = '') => (/lat|lon/.test(path) ? place : path.endsWith('sensors') ? sensorsField : name).say(message),
    focus: () => (faulty() ?? name).focus(),
    set({ name: words, lat, lon, sensors: id }) {
      name.input.value = words;
      sensors.value = id ?? '';
      place.set(lat === null || lat === undefined ? null : named(lat, lon));
    },
    value() {
      const { lat = null, lon = null } = place.value() ?? {};
      return { name: name.value().trim(), lat, lon, sensors: sensors.value.trim() || null };
    },
    check() {
      if (!hasPlace()) place.say(t('plan.point.missing'));
      sensorsField.say(sensors.checkValidity() ? null : t('meetings.sensors.wrong'));
      return faulty() === null;
    },
  };
}
