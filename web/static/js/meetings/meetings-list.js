// One's meetings, those that come and run first, and the form for the next.
import { ask, wrong } from '../api.js';
import { h, icon, keyed, setText } from '../elements.js';
import { t } from '../strings.js';
import { at, atMinute } from '../times.js';
import { user } from '../user.js';
import { button } from './doing.js';
import { blankMeeting, meetingForm } from './meeting-form.js';

const PAST = ['ended', 'cancelled'];

customElements.define('meetings-list', class extends HTMLElement {
  connectedCallback() {
    this.form = meetingForm((fields) => this.#create(fields));
    this.make = button(t('meetings.new'), () => this.form.open(blankMeeting()), { primary: true, symbol: icon('add') });
    this.said = h('p', { class: 'empty', role: 'status' });
    [this.coming, this.past] = ['coming', 'past'].map((key) => {
      const list = h('ul', { class: 'cards meeting-cards' });
      return { list, section: h('section', { hidden: true, 'aria-label': t(`meetings.${key}`) }, h('h2', {}, t(`meetings.${key}`)), list) };
    });
    this.whole = h('div', { class: 'meetings-whole', hidden: true }, h('p', { class: 'actions' }, this.make), this.coming.section, this.said, this.past.section);
    this.append(this.whole, this.form.element);
    user.follow(() => user.loaded && this.#load());
  }

  async #load() {
    this.whole.hidden = !user.own;
    if (!user.own) return;
    try {
      const { meetings } = await ask('/meetings');
      this.#show(meetings);
    } catch (error) {
      this.said.hidden = false;
      setText(this.said, wrong(error));
    }
  }

  #show(meetings) {
    const isPast = ({ state }) => PAST.includes(state);
    const inOrder = [...meetings].sort((a, b) => a.starts.localeCompare(b.starts));
    this.#fill(this.coming, inOrder.filter((meeting) => !isPast(meeting)));
    this.#fill(this.past, inOrder.filter(isPast).reverse());
    this.said.hidden = meetings.length > 0;
    setText(this.said, t('meetings.nothing'));
  }

  #fill({ list, section }, meetings) {
    section.hidden = meetings.length === 0;
    keyed(list, meetings, ({ id }) => id, () => h('li', {}), (item, meeting) => item.replaceChildren(...card(meeting)));
  }

  async #create(fields) {
    const { id } = await ask('/meetings', { method: 'POST', body: fields });
    location.assign(`/meetings/${id}`);
  }
});

function card({ id, title, state, starts, ends, room, attendees }) {
  const times = t('meetings.span', { from: at(Date.parse(starts), Date.now()), until: atMinute(Date.parse(ends)) });
  return [h('div', { class: 'line' }, h('h3', {}, h('a', { href: `/meetings/${id}` }, title)), h('span', { class: 'chip meeting-chip', 'data-state': state }, t(`meetings.is.${state}`))),
    h('p', { class: 'quiet' }, [times, room?.name ?? room, t('meetings.invited', { count: attendees?.length ?? attendees ?? 0 })].join(' · '))];
}
