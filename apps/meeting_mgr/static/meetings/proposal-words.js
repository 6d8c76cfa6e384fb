// Proposals in words: what they rest on, and what they change.
import { t } from 'citywise/strings.js';
import { atMinute, onDate } from 'citywise/times.js';
import { row, verbs, withWhy } from './ability-words.js';
import { nameOf } from './agenda-words.js';

const titleOf = (view, item) => t('meetings.quoted', { title: view.agenda.find(({ id }) => id === item)?.title ?? item });

/** “Bob cannot speak in “Budget”: noisy”. */
export function causeWords(view, { item, person, lacks, because, arrives }) {
  const name = nameOf(view, person);
  const title = item ? titleOf(view, item) : '';
  if (!person) return t(`meetings.cause.${['late', 'again'].find((why) => because.includes(why)) ?? 'order'}${title ? '.item' : ''}`, { title });
  const what = t(`meetings.cause.${lacks.length ? 'lacks' : 'attend'}${title ? '.item' : ''}`, { name, title, what: verbs(lacks, 'or') });
  return withWhy(what, because, arrives);
}

/** What would be otherwise: “Move “Budget” to 10:35, shorten “Plan” to 10 min”. */
export function changeWords(view, option) {
  const at = (id) => option.agenda.find(({ item }) => item === id);
  const parts = [];
  if (option.starts) parts.push(t('meetings.change.starts', { day: onDate(Date.parse(option.starts)), time: atMinute(Date.parse(option.starts)) }));
  if (option.ends) parts.push(t('meetings.change.ends', { time: atMinute(Date.parse(option.ends)) }));
  for (const item of option.taken_up) if (at(item)) parts.push(t('meetings.change.taken_up', { title: titleOf(view, item), time: atMinute(Date.parse(at(item).starts)) }));
  for (const item of option.moved) if (at(item)) parts.push(t('meetings.change.moved', { title: titleOf(view, item), time: atMinute(Date.parse(at(item).starts)) }));
  for (const item of option.shortened) if (at(item)) parts.push(t('meetings.change.shortened', { title: titleOf(view, item), n: at(item).minutes }));
  for (const item of option.put_off) parts.push(t('meetings.change.put_off', { title: titleOf(view, item) }));
  const words = row(parts) || t('meetings.change.none');
  return words[0].toLocaleUpperCase() + words.slice(1);
}
