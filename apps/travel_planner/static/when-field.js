// When somebody sets out or arrives: now, or at a time of the city's clock.
import { city } from 'citywise/city.js';
import { h } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';
import { fromLocalInput, localInput } from 'citywise/times.js';

const LATER = 'later';
const MINUTE_MS = 60_000;
const SOON = [15, 30, 60]; // Minutes from now.

/** The field; `title` is “Depart” or “Arrive”, `nowWord` what now is called. */
export function whenField({ name, title, nowWord }) {
  const choice = h('select', {}, h('option', { value: '' }, nowWord), ...SOON.map((n) => h('option', { value: n }, t('plan.when.in', { n }))), h('option', { value: LATER }, t('plan.when.at')));
  const time = h('input', { type: 'datetime-local', 'aria-label': t('plan.when.time', { title }), hidden: true });
  const field = labelledField({ name, title, input: choice, element: h('div', { class: 'when-line' }, choice, time) });

  choice.addEventListener('change', () => {
    time.hidden = choice.value !== LATER;
    if (time.hidden) return;
    time.value = localInput(city.now());
    time.focus();
  });

  function show(ms) {
    choice.value = ms === null ? '' : LATER;
    time.hidden = ms === null;
    time.value = ms === null ? '' : localInput(ms);
  }

  return {
    ...field,
    set: show,
    value() {
      if (choice.value === LATER) return time.value ? fromLocalInput(time.value) : null;
      return choice.value ? city.now() + Number(choice.value) * MINUTE_MS : null;
    },
    check() {
      const isFine = choice.value !== LATER || time.value !== '';
      field.say(isFine ? null : t('form.missing'));
      return isFine;
    },
    focus: () => (time.hidden ? choice : time).focus(),
  };
}
