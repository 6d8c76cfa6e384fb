// The video room of the meeting, where it has one.
import { wrong } from '../api.js';
import { h, setText } from '../elements.js';
import { t } from '../strings.js';
import { JitsiRoom } from './jitsi.js';

export function roomCard(seat) {
  let room = null;
  let muted = null; // As the meeting knows it.
  const holder = h('div', { class: 'meet-room' });
  const said = h('p', { class: 'field-error', role: 'alert' });
  const open = h('button', { type: 'button', class: 'button primary', onclick: () => enter() }, t('meet.room.open'));
  const share = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => room.shareScreen() }, t('meet.room.share'));
  const why = h('p', { class: 'quiet' });
  const element = h('section', { class: 'meet-card room-card', 'aria-labelledby': 'room-title' },
    h('h2', { id: 'room-title' }, t('meet.room')), holder, h('div', { class: 'actions' }, open, share), why, said);

  async function enter() {
    setText(said, '');
    open.disabled = true;
    try {
      room = await JitsiRoom.open(seat.view.conference, holder, seat.me.name, (isMuted) => seat.say({ muted: isMuted }).catch(() => null));
      open.hidden = true;
      share.hidden = false;
    } catch (error) {
      setText(said, error.message || wrong(error));
    } finally {
      open.disabled = false;
    }
  }

  function update({ conference, me }) {
    element.hidden = conference?.kind !== 'jitsi' || !conference.server;
    if (element.hidden) return;
    const { wanted } = conference;
    share.disabled = wanted.share === 'stopped';
    setText(why, room && wanted.share === 'stopped' ? t('meet.room.stopped') : '');
    room?.want(wanted);
    // Whoever unmutes on our page unmutes there; nobody else does.
    if (room && muted === true && me.muted === false && wanted.audio === 'free') room.mute(false);
    muted = me.muted;
  }

  function close() {
    room?.close();
    room = null;
    element.hidden = true;
  }

  return { element, update, close };
}
