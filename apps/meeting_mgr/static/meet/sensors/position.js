// Where the device is and how fast it goes; who shares but the speed tells no position.
const FRESH_MS = 20_000;
const EARTH_M = 6_371_000;
const LEAST_S = 0.5;
const MOST_KMH = 300; // What goes faster is a position that was wrong.
const ASKED_MS = 4000;
const GOES_ON_MS = 8000; // For so long who drove is taken to drive when nothing new is known.
const WALKING_KMH = 8;
const KNOWN = { maximumAge: Infinity, timeout: 5000 };
const OPTIONS = { enableHighAccuracy: true, maximumAge: 2000, timeout: 30_000 };

const radians = (degrees) => (degrees * Math.PI) / 180;

/** Metres between two positions. */
export function apart(a, b) {
  const y = radians(b.latitude - a.latitude);
  const x = radians(b.longitude - a.longitude) * Math.cos(radians((a.latitude + b.latitude) / 2));
  return EARTH_M * Math.hypot(x, y);
}

/**
 * The speed in km/h at a fix (`{ coords, at }`, `at` in milliseconds) after another, which may have
 * been one of standing: as the device tells it, else from the way between them. A way shorter than
 * the positions are vague is standing once nobody who drives could have gone so little; until then
 * the speed is null, or 0 where it was. `isBase`: the next fix is to be compared with this one.
 */
export function speed(fix, before) {
  if (Number.isFinite(fix.coords.speed)) return { kmh: fix.coords.speed * 3.6, isBase: true };
  if (!before) return { kmh: null, isBase: true };
  const seconds = (fix.at - before.at) / 1000;
  const metres = apart(before.coords, fix.coords);
  const vague = Math.max(fix.coords.accuracy, before.coords.accuracy);
  if (metres > vague && seconds >= LEAST_S) {
    const kmh = (metres / seconds) * 3.6;
    return { kmh: kmh > MOST_KMH ? null : kmh, isBase: true };
  }
  if (metres <= vague && seconds >= Math.max(LEAST_S, (vague * 3.6) / WALKING_KMH)) return { kmh: 0, isBase: true };
  return { kmh: before.isStanding && metres <= vague ? 0 : null, isBase: false };
}

const isThere = async () => 'geolocation' in navigator;

function watched(hear, failed) {
  const watch = navigator.geolocation.watchPosition(hear, (error) => error.code !== error.TIMEOUT && failed(error), OPTIONS);
  // A device that stays where it is says so only when asked, and then what it said before.
  const again = setInterval(() => navigator.geolocation.getCurrentPosition(hear, () => null, KNOWN), ASKED_MS);
  return () => {
    navigator.geolocation.clearWatch(watch);
    clearInterval(again);
  };
}

export const distance = {
  name: 'distance',
  freshMs: FRESH_MS,
  isThere,
  start: async (tell, failed) => watched(({ coords: { latitude: lat, longitude: lon, accuracy } }) => tell({ lat, lon, accuracy_m: Math.round(accuracy) }), failed),
};

export const velocity = {
  name: 'speed',
  freshMs: FRESH_MS,
  isThere,
  async start(tell, failed) {
    let before = null;
    let told = { kmh: null, at: 0, timestamp: null };
    return watched(({ coords, timestamp }) => {
      const at = performance.now();
      const isNews = timestamp !== told.timestamp;
      const goesOn = !isNews && told.kmh > WALKING_KMH && at - told.at < GOES_ON_MS;
      const { kmh, isBase } = goesOn ? { kmh: told.kmh, isBase: false } : speed({ coords, at }, before);
      if (isBase) before = { coords, at, isStanding: kmh === 0 };
      if (kmh !== null) tell({ speed_kmh: Math.round(kmh * 10) / 10 });
      if (isNews) told = { kmh, at, timestamp };
    }, failed);
  },
};
