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
  const element = h('li', { class: 'item' }, time, h('div', { class: 'item-what' }, h('div', { class: 'item-title' }, title, state), facts, ...more));

  /** Show an item: `speaker` is whose it is, and `left` how much time is left of it, in words. */
  function update(item, speaker, left = null) {
    const begins = item.began ?? item.starts;
    element.dataset.state = item.state;
    setText(time, item.state === 'put_off' || !begins ? '–' : atMinute(Date.parse(begins)));
    setText(title, item.title);
    setText(state, [item.state === 'open' ? '' : t(`meetings.item.${item.state}`), left].filter(Boolean).join(' · '));
    setText(facts, [t(`meetings.type.${item.type}`), duration(item.minutes * 60), speaker, item.sensitive && t('meetings.item.sensitive')].filter(Boolean).join(' · '));
  }

  return { element, update };
}
