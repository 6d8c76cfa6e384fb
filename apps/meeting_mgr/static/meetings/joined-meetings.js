// The meetings of others that one takes part in: those of one's account, and those that were joined
// in this browser, which alone can go back into them without the link.
import { button } from 'citywise/doing.js';
import { h, keyed } from 'citywise/elements.js';
import { dropJoined, joined } from '../meet/kept.js';
import { t } from 'citywise/strings.js';
import { meetingCard } from './meeting-card.js';

export function joinedMeetings() {
  const list = h('ul', { class: 'cards meeting-cards' });
  const element = h('section', { hidden: true, 'aria-labelledby': 'joined-title' }, h('h2', { id: 'joined-title', tabindex: '-1' }, t('meetings.joined')), list);
  let ofAccount = [];

  /** Show them, with `known`: those that the account is in. */
  function show(known) {
    ofAccount = known;
    const here = joined();
    const elsewhere = known.filter(({ id }) => !here.some((one) => one.id === id));
    const all = [...here.map((one) => ({ ...one, isHere: true, ...known.find(({ id }) => id === one.id) })), ...elsewhere];
    all.sort((a, b) => b.starts.localeCompare(a.starts));
    element.hidden = all.length === 0;
    keyed(list, all, ({ id }) => id, () => h('li', {}), (item, meeting) => item.replaceChildren(...contents(meeting)));
  }

  function contents(meeting) {
    if (!meeting.isHere) return [...meetingCard(meeting, null), h('p', { class: 'quiet' }, t('meetings.joined.elsewhere'))];
    const drop = button(t('meetings.joined.drop'), () => remove(meeting.id), { small: true, label: `${t('meetings.joined.drop')}: ${meeting.title}` });
    return [...meetingCard(meeting, `/meet/${meeting.id}`), meeting.state ? null : h('p', { class: 'person-does' }, drop)].filter(Boolean);
  }

  function remove(id) {
    dropJoined(id);
    show(ofAccount);
    (list.querySelector('button, a') ?? document.querySelector('main')).focus();
  }

  return { element, show };
}
