// A notice in words: what happened, and where.
import { city } from './city.js';
import { eventTitle } from './event-card.js';
import { language } from './strings.js';

/** What a notice is about is called so: a place, mostly. */
export const aboutName = ({ about }) => about.name ?? about.id;

/** A notice among others of its kind. */
export const noticeName = (notice) => `${notice.title}, ${aboutName(notice)}`;

/** What happened, of a notice about an event that is known here; null otherwise. */
export function whatHappened({ about }) {
  const event = about.type === 'event' ? city.events.get(about.id) : null;
  return event ? eventTitle(event) : null;
}

/** What an app advises because of a notice, or null. */
export const adviceText = ({ advice }) => advice?.texts?.[language] ?? advice?.text ?? null;

/** The text of a notice, after what happened and before what is advised. */
export function wholeText(notice) {
  const said = [whatHappened(notice), notice.text].filter(Boolean).join(': ');
  return [said, adviceText(notice)].filter(Boolean).join(' ');
}
