// The meeting as one takes part in it: oneself first, then what comes, the others, what is shared.
import { query, wrong } from 'citywise/api.js';
import { button, confirmed } from 'citywise/doing.js';
import { h, setText } from 'citywise/elements.js';
import { isOpen } from '../meetings/meeting-store.js';
import { reminderCard } from '../meetings/reminder-card.js';
import { spanWords, waitWords } from '../meetings/when-words.js';
import { t } from 'citywise/strings.js';
import { toast } from 'citywise/toast.js';
import { agendaCard } from './agenda-card.js';
import { Bounds } from './bounds.js';
import { endedCard } from './ended-card.js';
import { keepStage, linkKey } from './kept.js';
import { neededCard } from './needed-card.js';
import { othersList } from './others-list.js';
import { ownCard } from './own-card.js';
import { OwnSharing } from './own-sharing.js';
import { ownTalk } from './own-talk.js';
import { ownWay } from './own-way.js';
import { ownWord } from './own-word.js';
import { roomCard } from './room-card.js';
import { sensorList } from './sensor-list.js';
import { shownTo } from './shown-to.js';

/** The panel; `left(isForgotten)` is called once one is out. */
export function livePanel(seat, sensing, left) {
  const own = new OwnSharing(seat, sensing);
  const bounds = new Bounds();
  let before = null; // The state in which the meeting was.
  let isAgain = false; // Whether it goes on after it was over.
  const title = h('h1', { tabindex: '-1' });
  const facts = h('p', { class: 'meet-facts' });
  const state = h('span', { class: 'chip meet-chip' });
  const note = h('p', { class: 'meet-note', role: 'status' });
  const wait = h('p', { class: 'meet-wait quiet', role: 'timer' }); // Not a status: nobody wants to hear each minute.
  const next = h('a', { class: 'link', hidden: true }, t('meetings.next'));
  const twice = h('p', { class: 'meet-note', role: 'status' });
  const ended = endedCard((names) => share([...own.names, ...names]), () => heard(own.note()));
  const shared = h('summary', {});
  const measured = h('p', { class: 'quiet' }, t('meet.sharing.room'));
  const list = sensorList(sensing, (names) => share(names));
  const leave = button(t('meet.leave'), () => ask(), { danger: true });
  const room = roomCard(seat);
  const parts = { room, own: ownCard(), needed: neededCard(), way: ownWay(seat), talk: ownTalk(seat), reminder: reminderCard(seat), word: ownWord(seat, room), agenda: agendaCard(), others: othersList(), shown: shownTo() };
  parts.reminder.element.classList.add('meet-card');
  const sharing = h('details', { class: 'meet-card why meet-sharing' }, shared, h('p', { class: 'quiet' }, t('meet.sharing.explain')), parts.shown.element, measured, list.element);
  const element = h('div', { class: 'meet-live' },
    h('header', { class: 'meet-head' }, h('div', { class: 'meet-title' }, title, state), facts),
    note, wait, next, twice, ended.element, parts.word.asked, h('div', { class: 'meet-columns' },
      h('div', {}, parts.own.element, parts.needed.element, parts.way.element, parts.talk.element, parts.reminder.element, parts.word.element, sharing),
      h('div', {}, parts.room.element, parts.agenda.element, parts.others.element, h('p', { class: 'meet-leave' }, leave))));

  async function share(names) {
    const telling = own.choose(names);
    update(seat.view, seat.now());
    await heard(telling);
  }

  async function heard(telling) {
    const refused = await telling;
    if (refused) toast(refused.status ? wrong(refused) : t('meet.sharing.failed'));
    update(seat.view, seat.now());
  }

  async function ask() {
    const meant = await confirmed({ title: t('meet.leave.title'), text: t('meet.leave.text'), word: t('meet.leave'), tick: t('meet.leave.forget') });
    if (!meant) return;
    keepStage(seat.id, meant.isTicked ? 'forgetting' : 'leaving');
    own.stop();
    own.isOver = leave.disabled = true;
    const isHeard = seat.leave(meant.isTicked);
    update(seat.view, seat.now());
    await isHeard;
    left(meant.isTicked);
  }

  function noteWords(view) {
    if (seat.isLeaving) return t('meet.leaving');
    if (!isOpen(view)) return t(`meet.over.${view.state}`);
    if (own.isUnheard) return t('meet.sharing.unheard');
    if (!navigator.onLine || seat.connection === 'reconnecting') return t('meetings.reconnecting');
    if (!sensing.isTold) return t('meet.untold');
    if (isAgain && !own.names.length) return t('meet.again');
    return view.state === 'planned' ? t('meet.planned') : '';
  }

  /** A meeting that is over, or is put off, ends all sharing; only the person begins it anew. */
  function end() {
    parts.room.close();
    own.stop();
    keepStage(seat.id, 'joined');
    isAgain = sharing.open = true;
  }

  function update(view, now) {
    const isOn = isOpen(view);
    setText(title, view.title);
    setText(facts, [view.room.name, spanWords(view, now), view.me.name].join(' · '));
    setText(state, t(`meetings.is.${view.state}`));
    state.dataset.state = view.state;
    for (const part of Object.values(parts)) part.update(view, now);
    const isAway = !isOn || seat.isLeaving;
    sharing.hidden = parts.word.element.hidden = parts.own.element.hidden = isAway;
    parts.word.asked.hidden ||= isAway;
    parts.way.element.hidden ||= isAway;
    parts.talk.element.hidden ||= seat.isLeaving; // After the end one can withdraw it still.
    if (!seat.isLeaving && state.dataset.state !== before && (!isOn || before === 'running')) end();
    before = state.dataset.state;
    if (!isAway) own.apply();
    setText(note, noteWords(view));
    setText(wait, view.state === 'planned' && !seat.isLeaving ? waitWords(view, now) : '');
    next.hidden = isOn || !view.next || !linkKey(seat.id);
    if (!next.hidden) next.href = `/meet/${view.next}${query({ key: linkKey(seat.id) })}`;
    setText(twice, isOn && view.me.devices > 1 ? t('meet.devices', { n: view.me.devices }) : '');
    ended.element.hidden = isAway || view.me.ended.length === 0;
    ended.update(view);
    showSharing(view, now);
  }

  function showSharing(view, now) {
    const { names } = own;
    sensing.heedSilence(view.rules?.silent_s);
    bounds.heed(view, names, now);
    list.set(names);
    list.update(view, now, bounds);
    measured.hidden = !view.room.measures;
    setText(shared, names.length ? t('meet.sharing', { count: names.length }) : t('meet.sharing.none'));
  }

  return { element, update, focus: () => title.focus() };
}
