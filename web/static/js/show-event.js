// Showing an event on the map: on this page if it has one, else on the map's.

/** Ask for the event `id` to be shown, from an element of the page. */
export function showOnMap(from, id) {
  const wanted = new CustomEvent('show-event', { detail: id, bubbles: true, cancelable: true });
  if (from.dispatchEvent(wanted)) location.assign(`/?event=${encodeURIComponent(id)}`);
}
