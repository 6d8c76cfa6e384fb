// What an app advises because of a notice, such as a better way, and where one answers it.
import { h, setText } from './elements.js';
import { adviceText } from './notice-words.js';
import { t } from './strings.js';

const OURS = /^\/(?!\/)/; // A path of this site, and no other host.

/** The advice on a card, and the function that brings it up to date. */
export function adviceOf() {
  const text = h('span', {});
  const look = h('a', { onclick: (event) => lead(event) }, t('trip.advice.look'));
  const element = h('p', { class: 'advice', hidden: true }, text, look);
  let trip = null;

  /** On the page of the trip it is shown there. */
  function lead(event) {
    const wanted = new CustomEvent('show-trip', { detail: trip, bubbles: true, cancelable: true });
    if (!element.dispatchEvent(wanted)) event.preventDefault();
  }

  function update(notice) {
    const said = adviceText(notice);
    element.hidden = said === null;
    setText(text, said ?? '');
    trip = notice.advice?.trip ?? null;
    look.hidden = !OURS.test(notice.advice?.url ?? '');
    if (!look.hidden) look.href = notice.advice.url;
  }

  return { element, update };
}
