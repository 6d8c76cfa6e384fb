// How much the device is moved, without gravity, in m/s²: the root mean square of a second.
import { answers, started } from './device-sensor.js';

const EVERY_MS = 1000;
const PROBE_MS = 400;
const GRAVITY = 9.81;
const LINEAR = 'LinearAccelerationSensor';

const length = ({ x, y, z }) => Math.hypot(x, y, z);

/** How much a `devicemotion` event says the device is moved; null: it does not say. */
export function moved({ acceleration, accelerationIncludingGravity: all }) {
  if (Number.isFinite(acceleration?.x)) return length(acceleration);
  return Number.isFinite(all?.x) ? Math.abs(length(all) - GRAVITY) : null;
}

const asks = () => typeof globalThis.DeviceMotionEvent?.requestPermission === 'function';

/** Whether `devicemotion` says anything: browsers without such a sensor send one empty event. */
function isTold() {
  return new Promise((resolve) => {
    const hear = (event) => moved(event) !== null && resolve(true);
    addEventListener('devicemotion', hear);
    setTimeout(() => {
      removeEventListener('devicemotion', hear);
      resolve(false);
    }, PROBE_MS);
  });
}

// Safari tells nothing before it was allowed to.
async function isThere() {
  if (asks() && !(LINEAR in window)) return true;
  return (await Promise.all([answers(LINEAR), isTold()])).some(Boolean);
}

async function listen(hear, failed) {
  if (await answers(LINEAR)) return started(LINEAR, 20, (sensor) => hear(length(sensor)), failed);
  const each = (event) => {
    const value = moved(event);
    if (value !== null) hear(value);
  };
  addEventListener('devicemotion', each);
  return () => removeEventListener('devicemotion', each);
}

async function start(tell, failed) {
  let [sum, count, last] = [0, 0, null];
  const stop = await listen((value) => {
    sum += value * value;
    count += 1;
  }, failed);
  const timer = setInterval(() => {
    // A device that lies still may say so but once; a page that is not seen is told nothing.
    if (count) last = Math.round(Math.sqrt(sum / count) * 100) / 100;
    else if (document.visibilityState !== 'visible') last = null;
    if (last !== null) tell({ motion_ms2: last });
    [sum, count] = [0, 0];
  }, EVERY_MS);
  return () => {
    clearInterval(timer);
    stop();
  };
}

const allow = async () => asks() && DeviceMotionEvent.requestPermission();

export const motion = { name: 'motion', isThere, allow, start };
