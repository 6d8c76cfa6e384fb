// How I am told: from which criticality on, when not, how often, which kinds not, and by what way.
import { wrong } from './api.js';
import { browserNotifications } from './browser-notifications.js';
import { wholeApp } from './catalogue.js';
import { devicesBroker } from './devices-broker.js';
import { h, setText } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { labelledField } from './labelled-field.js';
import './push-devices.js';
import { quietHoursField } from './quiet-hours.js';
import { t } from './strings.js';
import { duration } from './times.js';
import { toast } from './toast.js';
import { user } from './user.js';
import { wishes } from './wishes.js';

const COOL_DOWNS_S = [0, 300, 900, 1800, 3600, 10_800, 86_400];

/** A slider from 1 to 5 that says in words what it means. */
function thresholdField() {
  const input = h('input', { type: 'range', min: 1, max: 5, step: 1 });
  const words = h('output', {});
  const show = () => {
    setText(words, t(`threshold.${input.value}`));
    input.setAttribute('aria-valuetext', words.textContent);
  };
  input.addEventListener('input', show);
  const field = labelledField({ name: 'threshold', title: t('threshold.title'), input, element: h('div', { class: 'slider' }, input, words) });
  words.htmlFor.add(input.id);
  return { ...field, value: () => Number(input.value), set: (level) => { input.value = level; show(); }, focus: () => input.focus(), check: () => true };
}

/** Seconds between two notices of a kind. */
function coolDownField() {
  const input = h('select');
  const field = labelledField({ name: 'cool_down_s', title: t('cooldown.title'), help: t('cooldown.help'), input });
  const set = (seconds) => {
    const offered = [...new Set([...COOL_DOWNS_S, seconds])].sort((a, b) => a - b);
    input.replaceChildren(...offered.map((s) => h('option', { value: s }, s ? duration(s) : t('cooldown.none'))));
    input.value = seconds;
  };
  return { ...field, value: () => Number(input.value), set, focus: () => input.focus(), check: () => true };
}

customElements.define('notice-wishes', class extends HTMLElement {
  #shown = null;

  connectedCallback() {
    this.fields = { threshold: thresholdField(), quiet: quietHoursField(), cool_down_s: coolDownField() };
    this.form = fieldsForm({
      fields: Object.values(this.fields),
      submit: t('wishes.save'),
      send: async (values) => {
        await wishes.change(values);
        toast(t('wishes.saved'));
      },
    });
    this.muted = h('ul', { class: 'cards compact' });
    this.none = h('p', { class: 'quiet' }, t('wishes.nomuted'));
    this.waiting = h('p', { class: 'empty' }, t('list.loading'));
    this.all = h('div', { class: 'wishes', hidden: true }, this.form,
      h('h3', {}, t('wishes.muted')), this.none, this.muted,
      h('h3', {}, t('channel.title')), this.#browser(), this.#mqtt());
    this.append(this.waiting, this.all);
    wishes.follow(() => this.#show());
  }

  #channel(name) {
    const box = h('input', { type: 'checkbox', role: 'switch', onchange: async () => {
      try {
        await wishes.change({ channels: { ...wishes.now.channels, [name]: box.checked } });
        toast(t('wishes.saved'));
      } catch (error) {
        toast(wrong(error));
        box.checked = !box.checked;
      }
    } });
    this[name] = box;
    return h('label', { class: 'tick' }, box, t(`channel.${name}`));
  }

  #browser() {
    const state = h('p', { class: 'quiet', role: 'status' });
    const allow = h('button', { type: 'button', class: 'button', onclick: async () => {
      await browserNotifications.allow();
      show();
    } }, t('channel.allow'));
    const show = () => {
      setText(state, t(`channel.state.${browserNotifications.state}`, { host: location.hostname }));
      allow.hidden = browserNotifications.state !== 'default';
    };
    show();
    addEventListener('notifications-refused', show);
    return h('div', { class: 'channel' }, this.#channel('browser'), state, allow, h('h4', {}, t('push.title')), h('p', { class: 'quiet' }, t('push.explain')), h('push-devices'));
  }

  #mqtt() {
    const channel = h('div', { class: 'channel', hidden: true }, this.#channel('mqtt'), h('p', { class: 'quiet' }, t('channel.mqtt.help')));
    user.follow(async () => user.own && (channel.hidden = (await devicesBroker()) === null));
    return channel;
  }

  #show() {
    const { now } = wishes;
    this.all.hidden = now === null;
    this.waiting.hidden = now !== null;
    if (now === null) return;
    for (const [name, field] of Object.entries(this.fields)) {
      const text = JSON.stringify(now[name]);
      if (this.#shown?.[name] !== text) field.set(now[name]);
    }
    this.#shown = Object.fromEntries(Object.keys(this.fields).map((name) => [name, JSON.stringify(now[name])]));
    this.browser.checked = now.channels.browser;
    this.mqtt.checked = now.channels.mqtt;
    this.#showMuted(now.muted);
  }

  async #showMuted(muted) {
    const titles = await titlesOf([...new Set(muted.map(({ app }) => app))]);
    if (wishes.now?.muted !== muted) return;
    this.none.hidden = muted.length > 0;
    this.muted.replaceChildren(...muted.map((kind) => this.#mutedItem(kind, titles)));
  }

  #mutedItem(kind, titles) {
    const title = titles.get(`${kind.app} ${kind.notice}`) ?? kind.notice;
    const app = titles.get(kind.app) ?? kind.app;
    const unmute = h('button', { type: 'button', class: 'button', 'aria-label': `${t('notice.unmute')}: ${title}`, onclick: async () => {
      try {
        await wishes.unmute(kind);
        toast(t('notice.unmuted', { title }), { focus: true, undo: () => wishes.mute(kind) });
      } catch (error) {
        toast(wrong(error));
      }
    } }, t('notice.unmute'));
    return h('li', {}, h('div', { class: 'line' }, h('p', {}, h('strong', {}, title), h('span', { class: 'quiet' }, ` ${app}`)), unmute));
  }
});

/** Titles of some apps and of their kinds of notices, as people know them. */
async function titlesOf(apps) {
  const titles = new Map();
  for (const name of apps) {
    const app = await wholeApp(name).catch(() => ({ templates: [] }));
    titles.set(name, app.title);
    for (const { notices } of app.templates) {
      for (const { name: notice, title } of notices) titles.set(`${name} ${notice}`, title);
    }
  }
  return titles;
}
