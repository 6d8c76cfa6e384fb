// The video room of the meeting, where it has one.
import { wrong } from 'citywise/api.js';
import { h, setText } from 'citywise/elements.js';
import { isOpen } from '../meetings/meeting-store.js';
import { t } from 'citywise/strings.js';
import { JitsiRoom } from './jitsi.js';

export function roomCard(seat) {
  let room = null;
  let entered = null; // The name of the room one is in.
  let muted = null; // As the meeting knows it.
  const holder = h('div', { class: 'meet-room' });
  const said = h('p', { class: 'field-error', role: 'alert' });
  const open = h('button', { type: 'button', class: 'button primary', onclick: () => enter() }, t('meet.room.open'));
  const share = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => room.shareScreen(!room.isSharing) });
  const why = h('p', { class: 'quiet' });
  const element = h('section', { class: 'meet-card room-card', 'aria-labelledby': 'room-title' },
    h('h2', { id: 'room-title' }, t('meet.room')), holder, h('div', { class: 'actions' }, open, share), why, said);

  async function enter() {
    if (room || open.disabled) return;
    setText(said, '');
    open.disabled = true;
    const { conference } = seat.view;
    try {
      entered = conference.room;
      room = await JitsiRoom.open(conference, holder, seat.me.name, (word) => seat.say(word).catch(() => null));
      if (element.hidden) close(); // The meeting is over.
      else show(seat.view);
    } catch (error) {
      setText(said, error.message || wrong(error));
    } finally {
      open.disabled = false;
    }
  }

  function update(view) {
    const { conference, me } = view;
    element.hidden = !isOpen(view) || conference?.kind !== 'jitsi' || !conference.server;
    if (element.hidden) return;
    const { wanted } = conference;
    if (room && conference.room !== entered) move();
    room?.want(wanted);
    show(view);
    // Whoever unmutes on our page unmutes there; nobody else does.
    if (room && muted === true && me.muted === false && wanted.audio === 'free') room.mute(false);
    muted = me.muted;
  }

  function show({ conference: { wanted } }) {
    const isStopped = wanted.share === 'stopped';
    open.hidden = room !== null;
    share.hidden = room === null;
    share.disabled = isStopped;
    setText(share, t(room?.isSharing ? 'meet.room.unshare' : 'meet.room.share'));
    setText(why, room && isStopped ? t('meet.room.stopped') : '');
  }

  /** With a new link there is another room: whoever is in moves there, muted. */
  function move() {
    room.close();
    room = null;
    enter();
  }

  function close() {
    if (room?.isSharing) seat.say({ presents: false }).catch(() => null);
    room?.close();
    room = null;
    element.hidden = true;
  }

  return {
    element, update, close, enter,
    get isOpen() {
      return room !== null;
    },
    /** Whether there is one that one is not in so far. */
    get isClosed() {
      return room === null && !element.hidden;
    },
    shareScreen: () => room.shareScreen(true),
  };
}
