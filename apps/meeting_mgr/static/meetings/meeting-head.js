// What the meeting is, when and where, how it stands, and what the host does with all of it.
import { wrong } from 'citywise/api.js';
import { attempt, button, confirmed } from 'citywise/doing.js';
import { h, icon, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { toast } from 'citywise/toast.js';
import { isOpen } from './meeting-store.js';
import { repeatWords, spanWords } from './when-words.js';

/** The head of the panel; `edit()` opens the form. */
export function meetingHead(store, edit) {
  const title = h('h1', { tabindex: '-1' });
  const state = h('span', { class: 'chip meeting-chip' });
  const facts = h('p', { class: 'meeting-facts' });
  const word = h('span', {});
  const next = h('a', { class: 'link', hidden: true }, t('meetings.next'));
  const connection = h('span', { class: 'connection', role: 'status' }, h('span', { class: 'connection-dot', 'aria-hidden': 'true' }), word);
  const begin = button(t('meetings.do.start'), () => attempt(() => store.act('start'), t('meetings.said.start')), { primary: true, symbol: icon('play') });
  const change = button(t('meetings.edit'), () => edit());
  const end = button(t('meetings.do.end'), () => finish(store));
  const cancel = button(t('meetings.cancel'), () => callOff(store));
  const restore = button(t('meetings.restore'), () => attempt(() => store.change({ state: 'planned' }), t('meetings.said.restore')), { primary: true });
  const remove = button(t('meetings.forget'), () => removeAll(store), { danger: true });
  const again = button(t('meetings.do.again'), () => attempt(() => store.act('start'), t('meetings.said.start')), { symbol: icon('play') });
  const written = h('span', {});
  const minutes = h('span', { class: 'meeting-minutes' }, written, ...['html', 'md', 'ics'].map((kind) =>
    h('a', { class: 'link', href: `/api/v1/meetings/${store.id}/minutes.${kind}`, ...(kind === 'html' ? { target: '_blank', rel: 'noopener' } : { download: true }), 'aria-label': `${t('meetings.minutes')}: ${t(`meetings.minutes.${kind}`)}` }, t(`meetings.minutes.${kind}`))));
  const element = h('header', { class: 'meeting-head' },
    h('div', { class: 'meeting-titles' }, h('p', { class: 'meeting-back' }, h('a', { href: '/meetings' }, t('meetings.all'))), h('div', { class: 'meeting-title' }, title, state, connection), facts, next),
    h('div', { class: 'meeting-does' }, minutes, begin, again, restore, change, end, cancel, remove));

  function update(view, now) {
    setText(title, view.title);
    setText(state, t(`meetings.is.${view.state}`));
    state.dataset.state = view.state;
    setText(facts, [spanWords(view, now), repeatWords(view.series?.every), view.room.name].filter(Boolean).join(' · '));
    next.hidden = !view.series?.next;
    if (view.series?.next) next.href = `/meetings/${view.series.next}`;
    connection.hidden = !isOpen(view) && store.connection === 'live'; // Nothing of it is live any more.
    connection.dataset.state = store.connection;
    setText(word, t(`connection.${store.connection}`));
    begin.hidden = view.state !== 'planned';
    end.hidden = view.state !== 'running';
    change.hidden = !isOpen(view);
    cancel.hidden = view.state !== 'planned';
    restore.hidden = view.state !== 'cancelled';
    remove.hidden = isOpen(view);
    again.hidden = view.state !== 'ended';
    minutes.hidden = !['running', 'ended'].includes(view.state);
    setText(written, t(view.state === 'running' ? 'meetings.minutes.far' : 'meetings.minutes'));
  }

  return { element, update };
}

async function finish(store) {
  const isMeant = await confirmed({ title: t('meetings.end.title'), text: t('meetings.end.text'), word: t('meetings.do.end') });
  if (isMeant) await attempt(() => store.act('end'), t('meetings.said.end'), () => store.act('start'));
}

async function callOff(store) {
  const every = store.view.series?.every;
  const meant = !every || await confirmed({ title: t('meetings.cancel.title'), text: t('meetings.cancel.text'), word: t('meetings.cancel.one'), tick: t('meetings.scope.following') });
  if (!meant) return;
  const isFollowing = Boolean(meant.isTicked);
  await attempt(() => store.cancel(isFollowing), t('meetings.said.cancel'), () => store.change({ state: 'planned', ...(isFollowing ? { repeats: every } : {}) }));
}

async function removeAll(store) {
  const isMeant = await confirmed({ title: t('meetings.forget.title'), text: t('meetings.forget.text'), word: t('meetings.forget') });
  if (!isMeant) return;
  try {
    await store.remove();
    location.assign('/meetings');
  } catch (error) {
    toast(wrong(error), { focus: true });
  }
}
