// A meeting in a list: what it is called, how it stands, when and where.
import { h } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { repeatWords, spanWords } from './when-words.js';

/** The card's contents; without an `address` it leads nowhere, without a `state` none is told. */
export function meetingCard({ title, state, room, attendees, repeats, ...times }, address) {
  const invited = attendees === undefined ? null : t('meetings.invited', { count: attendees });
  return [
    h('div', { class: 'line' }, h('h3', {}, address ? h('a', { href: address }, title) : title),
      state && h('span', { class: 'chip meeting-chip', 'data-state': state }, t(`meetings.is.${state}`))),
    h('p', { class: 'quiet' }, [spanWords(times, Date.now()), repeatWords(repeats), room, invited].filter(Boolean).join(' · ')),
  ];
}
