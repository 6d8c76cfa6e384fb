// What host and participants see alike of an item of the agenda: when, what, how it stands.
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { atMinute, duration } from 'citywise/times.js';

/** A line of the agenda, with `more` below its facts. */
export function itemCells(...more) {
  const time = h('span', { class: 'item-time' });
  const title = h('h3', {});
  const state = h('span', { class: 'item-state' });
  const facts = h('p', { class: 'item-facts quiet' });
  const way = h('p', { class: 'item-way' });
  const element = h('li', { class: 'item' }, time, h('div', { class: 'item-what' }, h('div', { class: 'item-title' }, title, state), facts, way, ...more));

  /** “Bob arrives at 14:12; planned for 14:15.” */
  function wayWords({ state: stands, arrives, starts }, name) {
    if (stands !== 'open' || !arrives || !name) return '';
    const isInTime = Date.parse(starts) >= Date.parse(arrives);
    return t(isInTime ? 'meetings.item.arrives' : 'meetings.item.arrives.late', { name, time: atMinute(Date.parse(arrives)), at: atMinute(Date.parse(starts)) });
  }

  /** Show an item: `speaker` is whose it is, and `left` how much time is left of it, in words. */
  function update(item, speaker, left = null) {
    const begins = item.began ?? item.starts;
    element.dataset.state = item.state;
    setText(time, item.state === 'put_off' || !begins ? '–' : atMinute(Date.parse(begins)));
    setText(title, item.title);
    setText(state, [item.state === 'open' ? '' : t(`meetings.item.${item.state}`), left].filter(Boolean).join(' · '));
    const words = wayWords(item, item.mine ? item.speaker : speaker);
    way.hidden = !words;
    setText(way, words);
    setText(facts, [t(`meetings.type.${item.type}`), duration(item.minutes * 60), speaker, item.sensitive && t('meetings.item.sensitive')].filter(Boolean).join(' · '));
  }

  return { element, update };
}
