// Without consent nothing is followed: what is needed, what for, and the way to allow it.
import { wrong } from 'citywise/api.js';
import { consents } from 'citywise/consents.js';
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';

/** Asks for what is missing, then calls `again`; hidden until it is shown. */
export function consentOffer(again) {
  const list = h('ul', { class: 'trip-needs' });
  const said = h('p', { role: 'status' });
  const agree = h('button', { type: 'button', class: 'button primary' }, t('trip.consent.agree'));
  const element = h('div', { class: 'offer', hidden: true }, h('h3', {}, t('trip.consent')), h('p', {}, t('trip.consent.for')), list, said,
    h('p', { class: 'actions' }, agree, h('a', { href: '/account#consents' }, t('consent.all'))));

  let missing = [];

  agree.addEventListener('click', async () => {
    try {
      for (const subject of missing) await consents.change(subject, true);
    } catch (error) {
      setText(said, wrong(error));
      return;
    }
    element.hidden = true;
    await again();
  });

  function show(subjects) {
    missing = subjects;
    list.replaceChildren(...missing.map((subject) => h('li', {}, h('strong', {}, t(`consent.${subject}`)), ` – ${t(`consent.${subject}.for`)}`)));
    element.hidden = false;
    agree.focus();
  }

  return { element, show, hide: () => (element.hidden = true) };
}
