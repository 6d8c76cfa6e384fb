// One's meetings, those that come and run first; the form for the next; and those one takes part in.
import { ask, wrong } from 'citywise/api.js';
import { button } from 'citywise/doing.js';
import { h, icon, keyed, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { user } from 'citywise/user.js';
import { joinedMeetings } from './joined-meetings.js';
import { meetingCard } from './meeting-card.js';
import { blankMeeting, meetingForm } from './meeting-form.js';
import { isOpen } from './meeting-store.js';

customElements.define('meetings-list', class extends HTMLElement {
  hosted = Promise.resolve([]); // The latest to start first.

  connectedCallback() {
    this.form = meetingForm((fields) => this.#create(fields), { hosted: () => this.hosted });
    this.make = button(t('meetings.new'), () => this.form.open(blankMeeting()), { primary: true, symbol: icon('add') });
    this.said = h('p', { class: 'empty', role: 'status' });
    [this.coming, this.past] = ['coming', 'past'].map((key) => {
      const list = h('ul', { class: 'cards meeting-cards' });
      return { list, section: h('section', { hidden: true, 'aria-label': t(`meetings.${key}`) }, h('h2', {}, t(`meetings.${key}`)), list) };
    });
    this.joined = joinedMeetings();
    this.whole = h('div', { class: 'meetings-whole', hidden: true }, h('p', { class: 'actions' }, this.make), this.coming.section, this.said);
    this.append(this.whole, this.joined.element, this.past.section, this.form.element);
    this.joined.show([]);
    user.follow(() => user.loaded && this.#load());
  }

  async #load() {
    const asker = user.own;
    this.whole.hidden = !asker;
    if (!asker) {
      this.hosted = Promise.resolve([]);
      this.joined.show([]);
      this.#fill(this.past, []);
      return;
    }
    const asked = ask('/meetings');
    this.hosted = asked.then(({ meetings }) => meetings, () => []);
    try {
      const { meetings, joined } = await asked;
      if (asker !== user.own) return; // Somebody else has logged in meanwhile.
      this.joined.show(joined);
      this.#show(meetings);
    } catch (error) {
      this.said.hidden = false;
      setText(this.said, wrong(error));
    }
  }

  #show(meetings) {
    const isPast = (meeting) => !isOpen(meeting);
    const inOrder = [...meetings].sort((a, b) => a.starts.localeCompare(b.starts));
    this.#fill(this.coming, inOrder.filter((meeting) => !isPast(meeting)));
    this.#fill(this.past, inOrder.filter(isPast).reverse());
    this.said.hidden = meetings.length > 0;
    setText(this.said, t('meetings.nothing'));
  }

  #fill({ list, section }, meetings) {
    section.hidden = meetings.length === 0;
    keyed(list, meetings, ({ id }) => id, () => h('li', {}), (item, meeting) => item.replaceChildren(...meetingCard(meeting, `/meetings/${meeting.id}`)));
  }

  async #create(fields) {
    const { id } = await ask('/meetings', { method: 'POST', body: fields });
    location.assign(`/meetings/${id}`);
  }
});
