// Keeps the shell and the last data, so that a page opened offline shows what was known.
const VERSION = {{ version|tojson }};
const SHELL = `citywise-shell-${VERSION}`;
const DATA = 'citywise-data';
const FILES = {{ (shell + vendor)|tojson }};
const PAGES = {{ pages|tojson }};
const KEPT_API = /^\/api\/v1\/(places|readings|events|clock)$/;

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(SHELL).then((cache) => cache.addAll([...FILES, '/offline'])));
  self.skipWaiting();
});

self.addEventListener('activate', (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith('citywise-shell-') && name !== SHELL) await caches.delete(name);
    }
    await self.clients.claim();
  })());
});

async function fromShell(request) {
  return (await caches.match(request)) ?? fetch(request);
}

// The copy says when it was kept: pages show the age of what they show.
async function keep(cacheName, request, response) {
  const headers = new Headers(response.headers);
  headers.set('X-Citywise-Kept', new Date().toISOString());
  const body = await response.blob();
  const cache = await caches.open(cacheName);
  await cache.put(request, new Response(body, { status: response.status, headers }));
}

async function freshOrKept(event, cacheName, fallback) {
  try {
    const response = await fetch(event.request);
    if (response.ok && !response.redirected) {
      event.waitUntil(keep(cacheName, event.request, response.clone()));
    }
    return response;
  } catch (error) {
    const kept = await caches.match(event.request, { cacheName, ignoreVary: true });
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
    event.respondWith(freshOrKept(event, DATA, '/offline'));
  } else if (KEPT_API.test(url.pathname) && ['', '?open=true'].includes(url.search)) {
    event.respondWith(freshOrKept(event, DATA));
  }
});
