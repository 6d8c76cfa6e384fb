// What matters to somebody, in order: chosen by tapping, ordered by dragging or with buttons.
import { h, icon, keyed, setText } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';
import { WISHES } from './request.js';

const named = (kind, wish) => t(`plan.wish.${kind}.${wish}`);

/** The field; `kind()` says of which planner, `onChange(wishes)` hears of each change. */
export function wishesField({ kind, onChange }) {
  let wishes = [];
  const chosen = h('ol', { class: 'wishes' });
  const others = h('ul', { class: 'wish-chips' });
  const said = h('p', { class: 'visually-hidden', role: 'status' });
  const none = h('p', { class: 'quiet' }, t('plan.wishes.none'));
  const field = labelledField({
    name: 'preferences', title: t('plan.wishes'), help: t('plan.wishes.help'), group: true,
    input: others, element: h('div', { class: 'stack' }, chosen, none, others, said),
  });

  function change(next, words) {
    wishes = next;
    show();
    setText(said, words);
    field.say(null);
    onChange(wishes);
  }

  const add = (wish) => {
    change([...wishes, wish], t('plan.wish.added', { wish: named(kind(), wish), n: wishes.length + 1 }));
    rowOf(wish).querySelector('.wish-remove').focus();
  };

  const remove = (wish) => {
    change(wishes.filter((each) => each !== wish), t('plan.wish.removed', { wish: named(kind(), wish) }));
    others.querySelector(`[data-wish="${wish}"] button`)?.focus();
  };

  /** Put a wish at a place in the order. */
  function move(wish, to) {
    const rest = wishes.filter((each) => each !== wish);
    rest.splice(to, 0, wish);
    if (String(rest) === String(wishes)) return;
    change(rest, t('plan.wish.moved', { wish: named(kind(), wish), n: to + 1, count: rest.length }));
  }

  const rowOf = (wish) => chosen.querySelector(`[data-wish="${wish}"]`);

  function moveUp(wish) {
    move(wish, Math.max(0, wishes.indexOf(wish) - 1));
    const up = rowOf(wish).querySelector('.wish-up');
    (up.hidden ? rowOf(wish).querySelector('.wish-remove') : up).focus();
  }

  // Arrow keys order too, while a button of the row has the focus.
  function key(event, wish) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const focused = document.activeElement;
    move(wish, Math.min(wishes.length - 1, Math.max(0, wishes.indexOf(wish) + step)));
    (focused.hidden ? rowOf(wish).querySelector('.wish-remove') : focused).focus();
  }

  function drag(event, item, wish) {
    if (event.button > 0) return;
    event.preventDefault();
    item.dataset.dragged = 'true';
    const over = ({ clientY }) => {
      const rows = [...chosen.children].filter((row) => row !== item);
      const to = rows.filter((row) => clientY > row.getBoundingClientRect().top + row.offsetHeight / 2).length;
      move(wish, to);
    };
    const end = () => {
      delete item.dataset.dragged;
      removeEventListener('pointermove', over);
      removeEventListener('pointerup', end);
      removeEventListener('pointercancel', end);
    };
    addEventListener('pointermove', over);
    addEventListener('pointerup', end);
    addEventListener('pointercancel', end);
  }

  function row(wish) {
    const name = named(kind(), wish);
    const grip = h('span', { class: 'wish-grip', 'aria-hidden': 'true' }, icon('grip'));
    const up = h('button', { type: 'button', class: 'wish-button wish-up', 'aria-label': t('plan.wish.up', { wish: name }), onclick: () => moveUp(wish) }, icon('up'));
    const off = h('button', { type: 'button', class: 'wish-button wish-remove', 'aria-label': t('plan.wish.remove', { wish: name }), onclick: () => remove(wish) }, icon('remove'));
    const item = h('li', { class: 'wish', 'data-wish': wish, onkeydown: (event) => key(event, wish) },
      grip, h('span', { class: 'wish-name' }, name), up, off);
    grip.addEventListener('pointerdown', (event) => drag(event, item, wish));
    return item;
  }

  function show() {
    const kindNow = kind();
    keyed(chosen, wishes, (wish) => `${kindNow}/${wish}`, row, (item, wish) => {
      item.querySelector('.wish-up').hidden = wishes[0] === wish;
    });
    none.hidden = wishes.length > 0;
    const rest = Object.keys(WISHES[kindNow]).filter((wish) => !wishes.includes(wish));
    keyed(others, rest, (wish) => `${kindNow}/${wish}`, (wish) => h('li', { 'data-wish': wish },
      h('button', { type: 'button', class: 'chip-button', onclick: () => add(wish) }, icon('add'), named(kindNow, wish))), () => {});
  }

  return {
    ...field,
    value: () => wishes,
    set(next) {
      wishes = next.filter((wish) => wish in WISHES[kind()]);
      show();
    },
    check: () => true,
    focus: () => field.element.querySelector('button').focus(),
  };
}
