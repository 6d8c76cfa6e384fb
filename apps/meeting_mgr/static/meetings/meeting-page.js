// The host's panel: who can do what right now, the agenda, and what is proposed.
import { wrong } from 'citywise/api.js';
import { attempt } from 'citywise/doing.js';
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { toast } from 'citywise/toast.js';
import { user } from 'citywise/user.js';
import { agendaList } from './agenda-list.js';
import { currentItem } from './current-item.js';
import { decisionList } from './decision-list.js';
import { joinCard } from './join-card.js';
import { meetingForm } from './meeting-form.js';
import { meetingHead } from './meeting-head.js';
import { meetingNotices } from './meeting-notices.js';
import { MeetingStore } from './meeting-store.js';
import { peopleList } from './people-list.js';
import { pick, planned } from './planned.js';
import { proposalList } from './proposal-list.js';
import { reminderCard } from './reminder-card.js';

const EVERY_MS = 1000; // Times that pass are shown as they pass.

/** A part of the page below a heading. */
function section(key, part) {
  const id = `meeting-${key}`;
  return h('section', { class: `meeting-${key}`, 'aria-labelledby': `${id}-title` },
    h('h2', { id: `${id}-title`, tabindex: '-1' }, t(`meetings.${key}`)), part.element);
}

customElements.define('meeting-page', class extends HTMLElement {
  connectedCallback() {
    this.store = new MeetingStore(this.getAttribute('meeting'));
    this.state = h('p', { class: 'meeting-state', role: 'status' });
    this.whole = h('div', { class: 'meeting-whole', hidden: true });
    this.append(this.state, this.whole);
    const { store } = this;
    const form = meetingForm((fields, view) => this.#change(fields, view), { current: () => store.view });
    const parts = {
      head: meetingHead(store, (focus) => form.open(store.view, focus)), now: currentItem(store), proposals: proposalList(store),
      people: peopleList(store), agenda: agendaList(store), join: joinCard(store), decisions: decisionList(store), notices: meetingNotices(store), reminder: reminderCard(store),
    };
    this.parts = Object.values(parts);
    this.rest = h('div', { class: 'meeting-rest' }, ...['agenda', 'notices', 'decisions', 'join'].map((key) => section(key, parts[key])), parts.reminder.element);
    this.whole.append(form.element, parts.head.element, parts.now.element, h('div', { class: 'meeting-columns' },
      parts.proposals.element, section('people', parts.people),
      this.rest));
    store.follow(() => this.#show());
    setInterval(() => store.view && this.#update(), EVERY_MS);
    user.follow(() => user.loaded && (user.own || !this.isStarted) && this.#start());
  }

  /** Change what was planned; what the meeting did meanwhile stands in the way only where it is the same. */
  async #change({ following = false, ...changes }, opened) {
    const { store } = this;
    const scope = following ? { following } : {}; // Of a series: this one alone, or those that follow too.
    const fields = { ...changes, ...scope };
    const was = pick(planned(opened), changes);
    const isSame = () => JSON.stringify(was) === JSON.stringify(pick(planned(store.view), changes));
    const send = () => store.change(fields, isSame() ? store.view.version : opened.version);
    await send().catch(async (error) => {
      if (error.kind === 'stale') await store.load();
      if (error.kind !== 'stale' || !isSame()) throw error;
      await send();
    });
    toast(t('meetings.said.edit'), { undo: () => attempt(() => store.change({ ...was, ...scope }), t('toast.undone')) });
  }

  #start() {
    if (user.own === null) return; // The gate says how to log in.
    if (this.isStarted) this.store.load();
    else this.store.start();
    this.isStarted = true;
  }

  #show() {
    const { view, error, connection } = this.store;
    const isGone = error?.status === 404; // Removed, perhaps in another window.
    this.whole.hidden = !view || isGone;
    if (view) this.querySelector(':scope > h1')?.remove(); // It has a title of its own.
    this.dataset.connection = connection;
    if (isGone || (error && !view)) setText(this.state, isGone ? t('meetings.missing') : wrong(error));
    else if (view) setText(this.state, connection === 'reconnecting' ? t('meetings.reconnecting') : '');
    if (view && this.dataset.state !== view.state) this.#arrange(view.state);
    if (view) this.#update();
  }

  /** Before a meeting begins, what comes first is that people can come in. */
  #arrange(state) {
    this.dataset.state = state;
    const join = this.rest.querySelector('.meeting-join');
    if (state === 'planned') this.rest.prepend(join);
    else this.rest.append(join);
  }

  #update() {
    const { view } = this.store;
    document.title = `${view.title} · Citywise`;
    for (const part of this.parts) part.update(view, this.store.now());
  }
});
