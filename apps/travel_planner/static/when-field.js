// When somebody sets out or arrives: now, or at a time of the city's clock.
import { city } from 'citywise/city.js';
import { h } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';
import { fromLocalInput, localInput } from 'citywise/times.js';

const LATER = 'later';

/** The field; `title` is “Depart” or “Arrive”, `nowWord` what now is called. */
export function whenField({ name, title, nowWord }) {
  const choice = h('select', {}, h('option', { value: '' }, nowWord), h('option', { value: LATER }, t('plan.when.at')));
  const time = h('input', { type: 'datetime-local', 'aria-label': t('plan.when.time', { title }), hidden: true });
  const field = labelledField({ name, title, input: choice, element: h('div', { class: 'when-line' }, choice, time) });

  choice.addEventListener('change', () => {
    show(choice.value === LATER ? city.now() : null);
    if (choice.value === LATER) time.focus();
  });

  function show(ms) {
    choice.value = ms === null ? '' : LATER;
    time.hidden = ms === null;
    time.value = ms === null ? '' : localInput(ms);
  }

  return {
    ...field,
    set: show,
    value: () => (choice.value === LATER && time.value ? fromLocalInput(time.value) : null),
    check() {
      const isFine = choice.value !== LATER || time.value !== '';
      field.say(isFine ? null : t('form.missing'));
      return isFine;
    },
    focus: () => (time.hidden ? choice : time).focus(),
  };
}
