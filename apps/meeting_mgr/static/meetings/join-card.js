// How people come in: the link, its picture for phones, and invitations.
import { wrong } from 'citywise/api.js';
import { attempt, button, confirmed } from 'citywise/doing.js';
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { at } from 'citywise/times.js';
import { toast } from 'citywise/toast.js';
import { isOpen, pathOf } from './meeting-store.js';

export function joinCard(store) {
  let url = null;
  const address = h('input', { type: 'text', readonly: true, 'aria-label': t('meetings.link'), onfocus: () => address.select() });
  const copy = button(t('device.copy'), () => copyLink(), { label: t('meetings.link.copy'), primary: true });
  const code = h('img', { class: 'join-code', alt: t('meetings.code'), width: 168, height: 168 });
  const calendar = h('a', { class: 'button small', href: `/api/v1${pathOf(store.id, '/invitation.ics')}`, download: true }, t('meetings.invitation'));
  const send = button(t('meetings.invite'), () => invite(), { small: true });
  const renew = button(t('meetings.link.new'), () => replace(), { small: true });
  const open = h('a', { class: 'link', target: '_blank', rel: 'noopener' }, t('meetings.link.open'));
  const renewed = h('p', { class: 'quiet', hidden: true });
  const element = h('div', { class: 'join-card' }, code, h('div', { class: 'join-does' }, h('p', {}, t('meetings.join.explain')),
    h('div', { class: 'join-link' }, address, copy), renewed, h('p', { class: 'person-does' }, calendar, send, renew, open)));

  function update(view) {
    element.parentElement.hidden = !isOpen(view);
    if (!isOpen(view) || url === view.join.url) return;
    renewed.hidden = !view.join.renewed;
    if (view.join.renewed) setText(renewed, t('meetings.link.renewed', { time: at(Date.parse(view.join.renewed), store.now()) }));
    ({ url } = view.join);
    address.value = url;
    open.href = url;
    showCode();
  }

  // Another link has another picture at the same address.
  async function showCode() {
    const wanted = url;
    const answer = await fetch(`/api/v1${pathOf(store.id, '/join.svg')}`, { cache: 'no-store' }).catch(() => null);
    const picture = answer?.ok ? await answer.text() : null;
    if (wanted !== url) return; // There is a newer link.
    code.hidden = picture === null;
    if (picture) code.src = `data:image/svg+xml,${encodeURIComponent(picture)}`;
  }

  async function copyLink() {
    try {
      await navigator.clipboard.writeText(url);
      toast(t('device.copied', { what: t('meetings.link') }));
    } catch {
      address.select();
    }
  }

  async function invite() {
    const count = store.view.attendees.filter(({ email }) => email).length;
    const isMeant = await confirmed({ title: t('meetings.invite'), text: t('meetings.invite.text', { count }), word: t('meetings.invite.send') });
    if (!isMeant) return;
    try {
      const { sent, failed } = await store.send('/invitations', { method: 'POST', body: {} });
      toast([t('meetings.said.invite', { count: sent.length }), ...failed.map(({ email, reason }) => `${email}: ${reason}`)].join(' '));
    } catch (error) {
      toast(wrong(error), { focus: true });
    }
  }

  async function replace() {
    const isMeant = await confirmed({ title: t('meetings.link.new'), text: t('meetings.link.new.text'), word: t('meetings.link.new') });
    if (isMeant) await attempt(() => store.act('new_link'), t('meetings.said.new_link'));
  }

  return { element, update };
}
