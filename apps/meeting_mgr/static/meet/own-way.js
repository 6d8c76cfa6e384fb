// Whether the meeting may know when one arrives: a switch, who sees what of it, and what it knows.
import { t } from 'citywise/strings.js';
import { atMinute } from 'citywise/times.js';
import { ownSwitch } from './own-switch.js';

export const ownWay = (seat) => ownSwitch(seat, 'way', 'tell', (tells) => seat.tellArrival(tells), ({ me }) => ({
  isHidden: !me.arrival.possible,
  isOn: me.arrival.tells,
  words: me.arrives ? t('meet.way.known', { time: atMinute(Date.parse(me.arrives)) }) : t('meet.way.none'),
}));
