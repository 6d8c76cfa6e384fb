// What of a person stays on this device, to be shown without a connection: the last plan and the
// last trips. It lies with what else the browser keeps of the city, and is forgotten at log-out.
import { user } from 'citywise/user.js';

const STORE = 'citywise-data';
const address = (name) => `/kept/${name}`;

/** Keep `value` under `name`, for the person who is here now. */
export async function keep(name, value) {
  if (!('caches' in window)) return;
  while (!user.loaded) await new Promise((heard) => user.addEventListener('change', heard, { once: true }));
  const kept = { user: user.own, at: Date.now(), value };
  const store = await caches.open(STORE);
  await store.put(address(name), new Response(JSON.stringify(kept), { headers: { 'Content-Type': 'application/json' } }));
}

/** `{value, at}`: what was kept and when (ms, of the real clock); null where there is nothing. */
export async function kept(name) {
  const found = 'caches' in window ? await caches.match(address(name), { cacheName: STORE }) : null;
  return found ? found.json() : null;
}

/** Keep it no longer. */
export async function drop(name) {
  if ('caches' in window) await (await caches.open(STORE)).delete(address(name));
}

// Who comes next on this device sees nothing of who was here before.
user.addEventListener('change', async () => {
  for (const name of ['plan', 'trips']) {
    const before = await kept(name);
    if (before && before.user !== user.own) await drop(name);
  }
});
