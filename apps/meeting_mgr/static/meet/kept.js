// What this browser remembers of meetings: that one has joined, and which; whether one has said what to
// share, and what one switched off. Who one is, only the cookie tells.
import { user } from 'citywise/user.js';

const ALL = 'citywise-meeting-'; // What the names of all of it begin with.
const key = (id) => ALL + id;
const offKey = (id) => `${key(id)}-off`;
const linkName = (id) => `${key(id)}-key`;
const JOINED = key('joined');
const KEPT_DAYS = 90; // So long the system keeps meetings that are over.
const DAY_MS = 86_400_000;
const SAID = key('said');
let isOver = false; // Whether this page is to remember nothing any more.

function keep(name, value) {
  if (!isOver) localStorage.setItem(name, value);
}

/** `joined`, `asked` once it is known what to share, `leaving` or `forgetting` once one is to be out, or null. */
export const stage = (id) => localStorage.getItem(key(id));
export const keepStage = (id, word) => keep(key(id), word);

/** Names of the sensors that were switched off and that the meeting may not have heard of. */
export const off = (id) => JSON.parse(localStorage.getItem(offKey(id)) ?? '[]');
export const keepOff = (id, names) => keep(offKey(id), JSON.stringify(names));

/** The meetings that one has joined in this browser: `{ id, title, starts, ends, room }`. */
export function joined() {
  const since = Date.now() - KEPT_DAYS * DAY_MS;
  return JSON.parse(localStorage.getItem(JOINED) ?? '[]').filter(({ ends }) => Date.parse(ends) > since);
}

/** Keep one of them, from its `view`. */
export function keepJoined({ id, title, starts, ends, room }) {
  const others = joined().filter((one) => one.id !== id);
  keep(JOINED, JSON.stringify([...others, { id, title, starts, ends, room: room.name }]));
}

/** Take one of them off the list. */
export const dropJoined = (id) => localStorage.setItem(JOINED, JSON.stringify(joined().filter((one) => one.id !== id)));

/** Forget all of it; what this page still hears of meetings is not kept any more. */
export function keepNothing() {
  isOver = true;
  for (const kept of [localStorage, sessionStorage]) {
    for (const name of Object.keys(kept).filter((each) => each.startsWith(ALL))) kept.removeItem(name);
  }
}

// Before whatever else hears of it: this module is loaded first.
user.addEventListener('left', keepNothing); // In another page.

/** Whether the page has forgotten all, and is about to be left. */
export const keepsNothing = () => isOver;

/** The link's key: once one is in, it stands in the address no more, where others could read it. */
export const linkKey = (id) => new URLSearchParams(location.search).get('key') ?? sessionStorage.getItem(linkName(id));

export function hideKey(id) {
  const found = linkKey(id);
  if (found) sessionStorage.setItem(linkName(id), found);
  history.replaceState(null, '', location.pathname);
}

/** Begin anew as somebody who is not in the meeting, and say why: `left`, `forgotten`, `removed` or `over`. */
export function beginAnew(id, why) {
  for (const each of [key(id), offKey(id)]) localStorage.removeItem(each);
  dropJoined(id);
  sessionStorage.setItem(SAID, why);
  location.reload(); // Streams, sensors and the microphone end with the page.
}

/** Why it was begun anew, once. */
export function whyAnew() {
  const why = sessionStorage.getItem(SAID);
  sessionStorage.removeItem(SAID);
  return why;
}
