// Places somebody planned with before: kept in this browser only, and forgotten at log-out.
const KEY = 'citywise-recent-places'; // `user.js` takes it away too.
const MOST = 6;

const same = (a, b) => Math.abs(a.lat - b.lat) < 1e-5 && Math.abs(a.lon - b.lon) < 1e-5;

/** The places, newest first; none where the browser keeps nothing. */
export function recentPoints() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return kept.filter(({ lat, lon, name }) => Number.isFinite(lat) && Number.isFinite(lon) && name);
  } catch {
    return [];
  }
}

/** Remember places that have a name; where somebody is themselves is not kept. */
export function remember(...points) {
  const named = points.filter((point) => point?.name && !point.isMe)
    .map(({ lat, lon, name, kind, detail }) => ({ lat, lon, name, kind, detail }));
  const others = recentPoints().filter((old) => !named.some((point) => same(point, old)));
  try {
    localStorage.setItem(KEY, JSON.stringify([...named, ...others].slice(0, MOST)));
  } catch { /* A browser that keeps nothing. */ }
}

export function forgetRecentPoints() {
  localStorage.removeItem(KEY);
}
