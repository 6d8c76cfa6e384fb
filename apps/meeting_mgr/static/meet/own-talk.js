// Whether the minutes may say how long one spoke: a switch, what is counted, and whether all agree.
import { t } from 'citywise/strings.js';
import { ownSwitch } from './own-switch.js';

export const ownTalk = (seat) => ownSwitch(seat, 'talk', 'agree', (agrees) => seat.agreeTalkTime(agrees), ({ me, state }) => ({
  isHidden: !me.talk_time.asked || state === 'cancelled',
  isOn: me.talk_time.agrees,
  words: t(me.talk_time.all ? 'meet.talk.all' : 'meet.talk.some'),
}));
