// Sensors of the browser's Generic Sensor API, where it has them and the device as well.
const PROBE_MS = 1000;

/** Whether the browser knows the class `name` and the device gives it a reading. */
export async function answers(name) {
  if (!(name in window)) return false;
  let sensor = null;
  try {
    sensor = new window[name]({ frequency: 5 });
    return await new Promise((resolve) => {
      sensor.onreading = () => resolve(true);
      sensor.onerror = () => resolve(false);
      setTimeout(() => resolve(false), PROBE_MS);
      sensor.start();
    });
  } catch {
    return false; // Not allowed, or not on a page like this.
  } finally {
    sensor?.stop();
  }
}

/** Start the sensor; `read(sensor)` with each reading. Gives back what stops it. */
export function started(name, frequency, read, failed) {
  const sensor = new window[name]({ frequency });
  sensor.onreading = () => read(sensor);
  sensor.onerror = ({ error }) => failed(error);
  sensor.start();
  return () => sensor.stop();
}

/** A sensor of one number: `value(sensor)` as the API has it below `key`. */
export const single = (name, kind, key, value) => ({
  name,
  isThere: () => answers(kind),
  start: async (tell, failed) => started(kind, 2, (sensor) => tell({ [key]: value(sensor) }), failed),
});
