// A city that runs faster than ours is left before a trip is read: it is slowed down where one may.
import { ask, wrong } from 'citywise/api.js';
import { city } from 'citywise/city.js';
import { t } from 'citywise/strings.js';
import { toast } from 'citywise/toast.js';
import { user } from 'citywise/user.js';

const NORMAL = 1;

const pace = (speed) => ask('/clock', { method: 'POST', body: { speed } });

/** Let the city run at normal speed from now on, and say so; nothing where it does, or is not ours. */
export async function slowDown() {
  const { speed, controllable } = city.clock ?? {};
  if (!controllable || !user.isOperating || (speed !== null && speed <= NORMAL)) return;
  try {
    await pace(NORMAL);
    toast(t('trip.paced'), { undo: () => pace(speed).catch((error) => toast(wrong(error))) });
  } catch {
    // The trip is followed at any speed.
  }
}
