// What a person does with a notice: acknowledge, snooze, mute its kind; and take that back.
import { city } from './city.js';
import { isLost, tried } from './doing.js';
import { h, setText } from './elements.js';
import { noticeName } from './notice-words.js';
import { heldBecause, notices } from './notices.js';
import { t } from './strings.js';
import { at, nextDayAt } from './times.js';
import { toast } from './toast.js';
import { wishes } from './wishes.js';

const MORNING = 7;
const SNOOZES = {
  short: () => ({ minutes: 15 }),
  hour: () => ({ minutes: 60 }),
  tomorrow: () => ({ until: new Date(nextDayAt(MORNING, city.now())).toISOString() }),
};

/**
 * Do `what`, say so, and offer to undo it; the focus goes to where that can be done, and back to the
 * notice once it is undone, unless it has gone on meanwhile.
 */
async function attempt(id, what, { said, undo }) {
  if (!(await tried(what))) return;
  toast(said(), { focus: true, undo: undo && (async () => {
    await tried(undo);
    const main = document.querySelector('main');
    if (!isLost(document.activeElement) && document.activeElement !== main) return;
    (document.querySelector(`[data-notice="${CSS.escape(id)}"] button:not([hidden])`) ?? main).focus();
  }) });
}

const acknowledge = (notice) => attempt(notice.id, () => notices.act(notice, 'acknowledge', 'POST'), {
  said: () => t('notice.acked', { title: noticeName(notice) }),
  undo: () => notices.act(notice, 'acknowledge', 'DELETE'),
});

const unacknowledge = (notice) => attempt(notice.id, () => notices.act(notice, 'acknowledge', 'DELETE'), {
  said: () => t('notice.unacked', { title: noticeName(notice) }),
});

const snooze = (notice, until) => attempt(notice.id, () => notices.act(notice, 'snooze', 'POST', until), {
  said: () => t('notice.snoozed', { title: noticeName(notice), time: at(Date.parse(notices.find(notice.id).snoozed_until), city.now()) }),
  undo: () => notices.act(notice, 'snooze', 'DELETE'),
});

const wake = (notice) => attempt(notice.id, () => notices.act(notice, 'snooze', 'DELETE'), {
  said: () => t('notice.woken', { title: noticeName(notice) }),
});

/** Mute the type of a notice, with the way back. */
export const mute = (notice) => attempt(notice.id, () => wishes.mute(notice), {
  said: () => t('notice.muted', { title: notice.title }),
  undo: () => wishes.unmute(notice),
});

const unmute = (notice) => attempt(notice.id, () => wishes.unmute(notice), {
  said: () => t('notice.unmuted', { title: notice.title }),
});

/** Buttons for a notice, and the function that brings them up to date. */
export function noticeActions(notice) {
  let current = notice;
  const named = (key) => `${t(key)}: ${noticeName(notice)}`;
  const button = (key, act) => h('button', { type: 'button', class: 'button small', 'aria-label': named(key), onclick: () => act(current) }, t(key));
  const acks = [button('notice.ack', acknowledge), button('notice.unack', unacknowledge)];
  const mutes = [button('notice.mute', mute), button('notice.unmute', unmute)];
  const wakes = button('notice.wake', wake);
  const choices = Object.entries(SNOOZES).map(([name, until]) => h('li', {}, button(`notice.snooze.${name}`, () => snooze(current, until()))));
  const snoozes = h('details', { class: 'snooze' }, h('summary', { class: 'button small', 'aria-label': named('notice.snooze') }, t('notice.snooze')), h('ul', {}, ...choices));
  snoozes.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !snoozes.open) return;
    snoozes.open = false;
    snoozes.querySelector('summary').focus();
  });
  const held = h('p', { class: 'held-why' });

  function update(next) {
    current = next;
    const focused = document.activeElement;
    const isAcknowledged = Boolean(next.acknowledged);
    const because = heldBecause(next);
    [acks[0].hidden, acks[1].hidden] = [isAcknowledged, !isAcknowledged];
    [mutes[0].hidden, mutes[1].hidden] = [because === 'muted' || !wishes.now, because !== 'muted'];
    wakes.hidden = because !== 'snoozed';
    snoozes.hidden = isAcknowledged || because !== null;
    // Also what was done elsewhere, or is told late, leaves the focus where it was.
    const pair = [acks, mutes].find((buttons) => buttons.includes(focused) && focused.hidden);
    pair?.find((each) => !each.hidden)?.focus();
    held.hidden = because === null;
    setText(held, because === null ? '' : heldWords(next, because));
  }

  return { element: h('div', { class: 'actions' }, ...acks, snoozes, wakes, ...mutes), held, update };
}

/** Why a notice is held back, and when it will come. */
export function heldWords({ due, snoozed_until: until, criticality }, because) {
  const comes = because === 'snoozed' ? until : due;
  const time = comes && !['muted', 'below-threshold'].includes(because) ? at(Date.parse(comes), city.now()) : null;
  return [t(`held.${because}`, { level: criticality, threshold: wishes.now?.threshold }), time ? t('held.comes', { time }) : t('held.never')].join(' ');
}
