// Where nothing meets all limits: which of them stand against each other, and the way out.
import { h, icon } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { plans } from './plans.js';
import { relaxed } from './request.js';

const list = (texts) => new Intl.ListFormat(document.documentElement.lang, { type: 'conjunction' }).format(texts);

/** The card of an answer's `conflict`. */
export function conflictCard(conflict) {
  const sets = (conflict.sets ?? [conflict.wishes]).map((set) => h('li', {}, list(set)));
  const apply = conflict.then
    ? h('button', { type: 'button', class: 'button primary', onclick: () => plans.find(relaxed(plans.request, conflict)) }, t('plan.conflict.apply'))
    : null;
  return h('section', { class: 'conflict', 'aria-labelledby': 'conflict-title' },
    h('h3', { id: 'conflict-title', tabindex: '-1' }, icon('event'), t(conflict.certain === false ? 'plan.conflict.found' : 'plan.conflict')),
    h('p', {}, t(sets.length > 1 ? 'plan.conflict.sets' : 'plan.conflict.set')), h('ul', { class: 'bullets' }, ...sets),
    conflict.relaxation ? h('p', { class: 'relaxation' }, conflict.relaxation) : h('p', {}, t('plan.conflict.none')), apply);
}
