// The five icons of a person: can they speak, listen, read, chat, and where are they.
import { h, icon, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { abilityOf, reasons, SHOWN, since } from './ability-words.js';

const PLACES = { room: 'room', remote: 'remote', unknown: 'where-unknown' };

function chip(name, symbol) {
  const word = h('span', { class: 'ability-name' });
  const state = h('span', { class: 'ability-state' });
  const image = h('span', { class: 'ability-image', role: 'img' }, h('span', { class: 'ability-icon' }, icon(symbol)), word, state);
  const element = h('li', { class: 'ability', 'data-ability': name }, image);
  return { element, image, word, state };
}

/**
 * The icons as a list, for a person of a meeting's view: `update(person, now)` brings them up to
 * date; `now` is the meeting's time in milliseconds. Each is one
 * image with a name such as “Speak: off, too noisy, since 10:04”.
 */
export function abilityIcons() {
  const chips = Object.fromEntries(SHOWN.map((name) => [name, chip(name, name)]));
  const presence = chip('presence', PLACES.unknown);
  const all = [...Object.values(chips), presence];
  const element = h('ul', { class: 'abilities', 'aria-label': t('meetings.abilities') }, ...all.map((each) => each.element));

  function say(each, state, word, words, why, time) {
    if (each.element.dataset.state !== state) each.element.dataset.state = state;
    setText(each.word, word);
    setText(each.state, words);
    const whole = `${word}: ${[words, why, time].filter(Boolean).join(', ')}`;
    if (each.element.title === whole) return;
    each.element.title = whole;
    each.image.setAttribute('aria-label', whole);
  }

  function update(person, now) {
    for (const [name, each] of Object.entries(chips)) {
      const { state, because, since: from } = abilityOf(person, name);
      say(each, state, t(`meetings.ability.${name}`), t(`meetings.state.${state}`), reasons(because), since(from, now));
    }
    const { state: place = 'unknown', since: from = null } = person.presence ?? {};
    presence.element.querySelector('use').setAttribute('href', `#icon-${PLACES[place]}`);
    say(presence, place, t('meetings.ability.presence'), t(`meetings.presence.${place}`), '', since(from, now));
  }

  return { element, update };
}
