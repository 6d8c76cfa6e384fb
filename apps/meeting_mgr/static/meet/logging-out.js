// On every page: whoever logs out is in none of the meetings any more that were joined in this browser.
import { ask } from 'citywise/api.js';
import { user } from 'citywise/user.js';
import { joined, keepNothing, stage } from './kept.js';

/** Leave them all and keep nothing of them; it is sent though the page be closed. */
async function leaveMeetings() {
  const entered = joined().map(({ id }) => id).filter(stage);
  keepNothing();
  await Promise.all(entered.map(leave));
}

/** One that is gone, or cannot hear it, keeps nobody from logging out. */
const leave = (id) =>
  ask(`/meetings/${encodeURIComponent(id)}/people/me`, { method: 'DELETE', keepalive: true, again: false }).catch(() => null);

user.whenLeaving(leaveMeetings);
