// What is needed of one next: the item, when, what for, what is lacking and what would help.
import { h, setText } from 'citywise/elements.js';
import { abilityOf, verbs, withWhy } from '../meetings/ability-words.js';
import { inWords } from '../meetings/when-words.js';
import { t } from 'citywise/strings.js';
import { atMinute } from 'citywise/times.js';
import { helpWords } from './own-card.js';

export function neededCard() {
  const when = h('p', { class: 'needed-when' });
  const title = h('p', { class: 'needed-title' });
  const role = h('p', {});
  const lack = h('p', { class: 'needed-lack', role: 'status' });
  const help = h('p', { class: 'needed-help' });
  const element = h('section', { class: 'meet-card needed-card', 'aria-labelledby': 'needed-title' },
    h('h2', { id: 'needed-title' }, t('meet.needed')), when, title, role, lack, help);

  function update({ needed, current, me }, now) {
    element.hidden = !needed;
    if (!needed) return;
    const isNow = current?.item === needed.item;
    setText(when, isNow ? t('meet.now') : t('meet.needed.when', { when: inWords(needed.from, now), time: atMinute(Date.parse(needed.from)) }));
    setText(title, needed.title);
    const what = needed.needs.length ? t(`meet.needed.${needed.role}`, { what: verbs(needed.needs) }) : '';
    setText(role, [what, needed.sensitive ? t('meet.needed.sensitive') : ''].filter(Boolean).join(' '));
    const isLacking = needed.lacks.length > 0 || needed.because.length > 0;
    const unknown = needed.needs.filter((capability) => abilityOf(me, capability).state === 'unknown');
    element.dataset.ok = isLacking ? 'false' : unknown.length ? 'unknown' : 'true';
    if (isLacking) setText(lack, lackWords(needed));
    else setText(lack, unknown.length ? t('meet.is.unknown', { what: verbs(unknown, 'or') }) : t('meet.needed.fine'));
    setText(help, isLacking ? helpWords(needed.because) : '');
  }

  return { element, update };
}

function lackWords({ lacks, because }) {
  return withWhy(lacks.length ? t('meet.needed.lacks', { what: verbs(lacks, 'or') }) : t('meet.needed.cannot'), because);
}
