// The sensors a browser may have, each by the name the API has for it. `isThere()` asks nobody;
// `start(tell, failed)` may, and gives back what stops it; what has to be asked while a button is
// pressed is in `allow()`. What is told holds for `freshMs`.
import { battery, network, visible } from './device-state.js';
import { single } from './device-sensor.js';
import { light } from './light.js';
import { motion } from './motion.js';
import { noise } from './noise.js';
import { distance, velocity } from './position.js';

const proximity = single('proximity', 'ProximitySensor', 'proximity_cm', ({ distance: cm, max }) => cm ?? max);

const LOOKED_MS = 2500;

export const SENSORS = [noise, distance, velocity, motion, light, visible, proximity, battery, network];

// Some browsers never say of a part that it is not there.
const within = (promise) => Promise.race([promise.catch(() => false), new Promise((resolve) => setTimeout(resolve, LOOKED_MS, false))]);

/** The names of those that this device has. */
export async function offered() {
  const found = await Promise.all(SENSORS.map(async (sensor) => ((await within(sensor.isThere())) ? sensor.name : null)));
  return found.filter(Boolean);
}
