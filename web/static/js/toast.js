// What just happened, said for a while, with the way back.
import { h, icon } from './elements.js';
import { t } from './strings.js';

const SHOWN_MS = 6000;

const place = h('div', { class: 'toast-place', role: 'status' });
document.body.append(place);
let timer = null;

/** Take away what is said, where something new is about to be. */
export function quieten() {
  clearTimeout(timer);
  hide();
}

function hide() {
  const hadFocus = place.contains(document.activeElement);
  place.replaceChildren();
  if (hadFocus) document.querySelector('main').focus({ preventScroll: true });
}

// Nothing goes away under somebody's finger or focus.
function later() {
  clearTimeout(timer);
  timer = setTimeout(() => (place.matches(':hover, :focus-within') ? later() : hide()), SHOWN_MS);
}

/** Say `text`; with `undo` there is a button, called `word` and focused if `focus`, that takes it back. */
export function toast(text, { undo = null, word = t('toast.undo'), focus = false } = {}) {
  const back = undo && h('button', { type: 'button', class: 'link', onclick: async () => {
    hide();
    await undo();
  } }, word);
  const close = h('button', { type: 'button', class: 'toast-close', 'aria-label': t('toast.close'), title: t('toast.close'), onclick: hide }, icon('remove'));
  place.replaceChildren(h('p', { class: 'toast' }, h('span', {}, text), ' ', back ?? '', close));
  if (focus) (back ?? close).focus();
  later();
}
