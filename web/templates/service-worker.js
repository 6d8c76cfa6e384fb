// Keeps the shell and the city's last data, so that a page opened offline shows what was known.
// Of answers about a person it keeps none; what a page itself put away (`/kept/…`, the last plan and
// trips) is given to pages of this device only, by the page. Answers notifications.
const VERSION = {{ version|tojson }};
const SHELL = `citywise-shell-${VERSION}`;
const DATA = 'citywise-data';
const FILES = {{ (shell + vendor)|tojson }};
const BROUGHT = {{ brought|tojson }}; // By apps: one that cannot be had keeps nothing else from being kept.
const PAGES = {{ pages|tojson }};
const CITY = '/api/v1/city';
const SNOOZE_MINUTES = 15;
const ICON = {{ icon|tojson }};
const ACTIONS = {{ actions|tojson }};

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(SHELL).then((cache) => Promise.all([
    cache.addAll([...FILES, '/offline']),
    Promise.allSettled(BROUGHT.map((address) => cache.add(address))),
  ])));
  self.skipWaiting();
});

self.addEventListener('activate', (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith('citywise-shell-') && name !== SHELL) await caches.delete(name);
    }
    const data = await caches.open(DATA);
    for (const { url } of await data.keys()) {
      const { pathname } = new URL(url);
      if (pathname.startsWith('/api/v1/') && pathname !== CITY) await data.delete(url);
    }
    await self.clients.claim();
    await keepOpen();
  })());
});

// The page that is open came before there was anybody to keep it: without it and the city's data
// nothing could be shown offline that was seen but once.
async function keepOpen() {
  const open = (await self.clients.matchAll({ type: 'window' })).map(({ url }) => new URL(url).pathname);
  const paths = open.filter((path) => PAGES.includes(path));
  if (!paths.length) return;
  await Promise.all([...new Set(paths), CITY].map(async (path) => {
    const response = await fetch(path).catch(() => null);
    if (response?.ok && !response.redirected) await keep(DATA, path, response);
  }));
}

async function fromShell(request) {
  return (await caches.match(request)) ?? fetch(request);
}

// The copy says when it was kept: pages show the age of what they show.
async function keep(cacheName, key, response) {
  const headers = new Headers(response.headers);
  headers.set('X-Citywise-Kept', new Date().toISOString());
  const body = await response.blob();
  const cache = await caches.open(cacheName);
  await cache.put(key, new Response(body, { status: response.status, headers }));
}

// Kept under `key`: of a page its path alone, as what is asked for in it may be a person's.
async function freshOrKept(event, cacheName, key, fallback) {
  try {
    const response = await fetch(event.request);
    if (response.ok && !response.redirected) {
      event.waitUntil(keep(cacheName, key, response.clone()));
    }
    return response;
  } catch (error) {
    const kept = await caches.match(key, { cacheName, ignoreVary: true });
    const instead = kept ?? (fallback && (await caches.match(fallback)));
    if (instead) return instead;
    throw error;
  }
}

self.addEventListener('fetch', (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== 'GET' || url.origin !== self.location.origin) return;
  if (url.pathname.startsWith('/assets/')) {
    event.respondWith(fromShell(event.request));
  } else if (event.request.mode === 'navigate' && PAGES.includes(url.pathname)) {
    event.respondWith(freshOrKept(event, DATA, url.pathname, '/offline'));
  } else if (event.request.mode === 'navigate') {
    event.respondWith(fetch(event.request).catch(() => caches.match('/offline')));
  } else if (url.pathname === CITY && !url.search) {
    event.respondWith(freshOrKept(event, DATA, event.request));
  }
});

self.addEventListener('push', (event) => event.waitUntil(pushed(event.data)));

/** Show an alert that came from the push service; a page that is seen has shown it itself. */
async function pushed(data) {
  const pages = await self.clients.matchAll({ type: 'window' });
  if (!data || pages.some(({ visibilityState }) => visibilityState === 'visible')) return;
  const { id, title, text, lang } = data.json();
  await self.registration.showNotification(title, { body: text, tag: id, lang, icon: ICON, actions: ACTIONS, data: {} });
}

self.addEventListener('pushsubscriptionchange', (event) => event.waitUntil(renewed(event.newSubscription)));

/** Tell the server where this browser is found from now on. */
async function renewed(subscription) {
  if (!subscription) return;
  const { csrf } = await (await fetch('/api/v1/me')).json();
  const headers = { 'Content-Type': 'application/json', ...(csrf ? { 'X-CSRF-Token': csrf } : {}) };
  await fetch('/api/v1/me/push', { method: 'POST', headers, body: JSON.stringify(subscription) });
}

self.addEventListener('notificationclick', (event) => {
  event.waitUntil(answer(event.notification, event.action));
});

/** Do what the person chose of a notification; without a choice, or where it fails, show it. */
async function answer(notification, action) {
  notification.close();
  const id = notification.tag;
  const done = action && (await tell(id, action).catch(() => false));
  if (!done) await show(id, notification.data?.url);
}

async function tell(id, action) {
  const { csrf } = await (await fetch('/api/v1/me')).json();
  const headers = { 'Content-Type': 'application/json', ...(csrf ? { 'X-CSRF-Token': csrf } : {}) };
  const body = action === 'snooze' ? JSON.stringify({ minutes: SNOOZE_MINUTES }) : undefined;
  const response = await fetch(`/api/v1/notices/${encodeURIComponent(id)}/${action}`, { method: 'POST', headers, body });
  return response.ok;
}

async function show(id, url) {
  const [page] = await self.clients.matchAll({ type: 'window' });
  if (!page) {
    await self.clients.openWindow(url ?? `/list?notice=${encodeURIComponent(id)}`);
    return;
  }
  await page.focus().catch(() => null);
  page.postMessage({ type: 'show-notice', id, url });
}
