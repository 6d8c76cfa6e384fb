// Every page starts here. The server adds the modules of the elements that a page has.
import { city } from './city.js';
import './shown-to.js'; // Before the parts that ask only while they are seen.
import './announcer.js';
import { browserNotifications } from './browser-notifications.js';
import './connection.js';
import './log-in.js'; // It asks for the password wherever a login has ended.
import './menu.js';
import './notice-bell.js';
import './person-menu.js';
import { breath } from './slices.js';
import './time-control.js';

await breath(); // What else a page has is a task of its own.

// Once there is something to show, or nobody can say: what appears by and by before is not seen to jump.
const show = () => {
  document.body.setAttribute('data-shown', '');
  dispatchEvent(new Event('page-shown'));
};
const LONGEST_MS = 3000;
let isSoon = false;
city.follow(() => {
  if (isSoon || !(city.loaded || city.failed)) return;
  isSoon = true;
  // Lists show it in slices, and some may not be there yet; what never comes keeps nothing else.
  const parts = [...document.querySelectorAll('.columns :not(:defined)')].map(({ localName }) => customElements.whenDefined(localName));
  const all = Promise.all(parts).then(() => city.shown);
  const late = new Promise((done) => setTimeout(done, LONGEST_MS));
  Promise.race([all, late]).then(() => requestAnimationFrame(show));
});
city.start();
// Where the certificate is not trusted there is none; the account page says so.
if ('serviceWorker' in navigator) navigator.serviceWorker.register('/service-worker.js').catch(() => browserNotifications.refuse());
