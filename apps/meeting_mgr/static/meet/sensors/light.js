// How bright it is: by a sensor where the browser has one, else as the person says.
import { answers, started } from './device-sensor.js';

const SENSOR = 'AmbientLightSensor';

/** What to say without a sensor, in lux. */
export const BRIGHTNESS = { dark: 20, dim: 120, lit: 400, daylight: 5000 };

class Brightness extends EventTarget {
  isByHand = false; // Whether it has to be said.
  said = 'lit'; // As most rooms with people are; it is shown where it can be changed.

  say(word) {
    this.said = word;
    this.dispatchEvent(new Event('change'));
  }
}

export const brightness = new Brightness();

async function isThere() {
  brightness.isByHand = !(await answers(SENSOR));
  return true;
}

async function start(tell, failed) {
  if (!brightness.isByHand) return started(SENSOR, 2, ({ illuminance }) => tell({ light_lux: Math.round(illuminance) }), failed);
  const show = () => tell({ light_lux: BRIGHTNESS[brightness.said] });
  brightness.addEventListener('change', show);
  show();
  return () => brightness.removeEventListener('change', show);
}

export const light = { name: 'light', freshMs: Infinity, isThere, start };
