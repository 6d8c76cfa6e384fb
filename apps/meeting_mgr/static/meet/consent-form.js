// Before one is in: what this device could tell, what is told to whom, and a tick for each.
import { wrong } from 'citywise/api.js';
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { sensorList } from './sensor-list.js';
import { isShownToAll } from './shown-to.js';

/** The form, of a meeting's `view`; `enter(names)` with what is to be shared may throw as `ask` does. */
export function consentForm(view, sensing, enter) {
  const said = h('p', { class: 'field-error', role: 'alert' });
  const share = h('button', { type: 'button', class: 'button primary', onclick: () => go(list.chosen()) });
  const without = h('button', { type: 'button', class: 'button', onclick: () => go([]) }, t('meet.consent.without'));
  const all = h('button', { type: 'button', class: 'link', onclick: () => tickAll() }, t('meet.consent.all'));
  const list = sensorList(sensing, () => show());
  const promise = (key) => h('li', {}, t(`meet.promise.${key}`));
  const element = h('div', { class: 'meet-consent' }, h('h1', { tabindex: '-1' }, t('meet.consent')), h('p', {}, t('meet.consent.explain')),
    h('ul', { class: 'bullets promises' }, promise(isShownToAll(view) ? 'states.all' : 'states'), promise('sound'), promise('kept'), promise('stop')),
    h('div', { class: 'line' }, h('h2', {}, t('meet.consent.sensors')), all), list.element, said, h('div', { class: 'actions meet-enter' }, share, without));

  function tickAll() {
    list.set(sensing.offered ?? []);
    show();
  }

  function show() {
    const { length } = list.chosen();
    list.update();
    setText(share, length ? t('meet.consent.share', { count: length }) : t('meet.consent.share.none'));
    share.disabled = length === 0;
    all.hidden = !sensing.offered || length === sensing.offered.length;
  }

  async function go(names) {
    setText(said, '');
    sensing.allow(names);
    try {
      await enter(names);
    } catch (error) {
      setText(said, wrong(error));
    }
  }

  sensing.addEventListener('change', show);
  show();
  return element;
}
