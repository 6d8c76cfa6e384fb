// Who else is there, and what they can do where the host shows it to all.
import { h, keyed, setText } from 'citywise/elements.js';
import { abilityIcons } from '../meetings/ability-icons.js';
import { t } from 'citywise/strings.js';
import { placeWords } from '../meetings/ability-words.js';

function row() {
  const name = h('h3', {});
  const place = h('span', { class: 'quiet' });
  const icons = abilityIcons();
  const element = h('li', { class: 'other' }, h('div', { class: 'line' }, name, place), icons.element);
  return Object.assign(element, { name, place, icons });
}

export function othersList() {
  const list = h('ul', { class: 'cards' });
  const none = h('p', { class: 'quiet' }, t('meet.others.none'));
  const element = h('section', { class: 'meet-others', 'aria-labelledby': 'others-title' }, h('h2', { id: 'others-title' }, t('meet.others')), list, none);

  function update({ people }, now) {
    none.hidden = people.length > 0;
    list.hidden = !none.hidden;
    keyed(list, people, ({ id }) => id, row, (element, person) => {
      element.setAttribute('aria-label', person.name);
      setText(element.name, person.name);
      setText(element.place, placeWords(person));
      element.icons.element.hidden = !person.abilities;
      if (person.abilities) element.icons.update(person, now);
    });
  }

  return { element, update };
}
