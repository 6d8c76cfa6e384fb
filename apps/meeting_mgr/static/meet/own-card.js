// What one can do oneself right now, why not, and what would help.
import { h, keyed, setText } from 'citywise/elements.js';
import { abilityIcons } from '../meetings/ability-icons.js';
import { lacking, since, verbs, withWhy } from '../meetings/ability-words.js';
import { knows, t } from 'citywise/strings.js';

/** What would help against reasons: “Find a quieter place.” */
export const helpWords = (because) =>
  because.filter((reason) => knows(`meet.help.${reason}`)).map((reason) => t(`meet.help.${reason}`)).join(' ');

/** “You cannot speak or listen: too noisy” */
function ownWords({ state, because, capabilities }) {
  return withWhy(t(`meet.is.${state}`, { what: verbs(capabilities, 'or') }), because);
}

export function ownCard() {
  const icons = abilityIcons();
  const whys = h('ul', { class: 'own-whys' });
  const fine = h('p', { class: 'own-fine' }, t('meet.own.fine'));
  const said = h('p', { class: 'visually-hidden', role: 'status' });
  const element = h('section', { class: 'meet-card own-card', 'aria-labelledby': 'own-title' },
    h('h2', { id: 'own-title' }, t('meet.own')), icons.element, fine, whys, said);

  function create() {
    const words = h('p', { class: 'own-why' });
    const help = h('p', { class: 'quiet' });
    return Object.assign(h('li', {}, words, help), { words, help });
  }

  function update({ me }, now) {
    icons.update(me, now);
    const groups = lacking(me);
    fine.hidden = groups.length > 0;
    keyed(whys, groups, ({ state, capabilities }) => `${state} ${capabilities}`, create, (row, group) => {
      row.dataset.state = group.state;
      setText(row.words, [ownWords(group), since(group.since, now)].filter(Boolean).join(' · '));
      setText(row.help, helpWords(group.because));
    });
    const certain = groups.filter(({ state }) => state === 'off').map(ownWords);
    setText(said, certain.join('. ')); // Read out when it is another.
  }

  return { element, update };
}
