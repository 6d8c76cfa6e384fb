// When somebody sets out or arrives: now, or at a time of the city's clock.
import { city } from 'citywise/city.js';
import { h } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';
import { fromLocalInput, localInput } from 'citywise/times.js';

const LATER = 'later';
const BY = 'by';
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SOON = [15, 30, 60]; // Minutes from now.

/** The field; `nowWord` is what now is called, `laterWord` a time to choose, `byWord` one by which to be there, if that can be. */
export function whenField({ name, title, nowWord, laterWord, byWord = null }) {
  const choice = h('select', {}, h('option', { value: '' }, nowWord), ...SOON.map((n) => h('option', { value: n }, t('plan.when.in', { n }))), h('option', { value: LATER }, laterWord), byWord && h('option', { value: BY }, byWord));
  const time = h('input', { type: 'datetime-local', 'aria-label': t('plan.when.time', { title }), hidden: true });
  const field = labelledField({ name, title, input: choice, element: h('div', { class: 'when-line' }, choice, time) });

  const isChosen = () => [LATER, BY].includes(choice.value);

  choice.addEventListener('change', () => {
    time.hidden = !isChosen();
    if (time.hidden) return;
    time.value ||= localInput(city.now() + (choice.value === BY ? HOUR_MS : 0));
    time.focus();
  });

  function show(ms, isArrival = false) {
    choice.value = ms === null ? '' : isArrival ? BY : LATER;
    time.hidden = ms === null;
    time.value = ms === null ? '' : localInput(ms);
  }

  return {
    ...field,
    set: show,
    value() {
      if (isChosen()) return time.value ? fromLocalInput(time.value) : null;
      return choice.value ? city.now() + Number(choice.value) * MINUTE_MS : null;
    },
    /** Whether it is a time by which to be there. */
    isArrival: () => choice.value === BY,
    check() {
      const isFine = !isChosen() || time.value !== '';
      field.say(isFine ? null : t('form.missing'));
      return isFine;
    },
    focus: () => (time.hidden ? choice : time).focus(),
  };
}
