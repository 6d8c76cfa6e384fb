// Which other conference system is told what happens, and the secret by which it knows us.
import { h } from 'citywise/elements.js';
import { labelledField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';

const LONGEST = 400;
const SHORTEST_SECRET = 16;
const SECRET_BYTES = 24;

const fresh = () => [...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** The field of `hook`; a secret that was set before is never shown, and stays with its address. */
export function hookField(before) {
  const url = h('input', { type: 'url', maxlength: LONGEST, autocomplete: 'off', placeholder: 'https://', value: before?.url ?? '' });
  const secret = h('input', { type: 'text', minlength: SHORTEST_SECRET, maxlength: 200, autocomplete: 'off', spellcheck: 'false' });
  const address = labelledField({ name: 'hook', title: t('meetings.hook'), help: t('meetings.hook.help'), input: url });
  const shared = labelledField({ title: t('meetings.hook.secret'), help: t('meetings.hook.secret.help'), input: secret });
  const isNew = () => url.value.trim() !== '' && url.value.trim() !== before?.url;
  shared.element.hidden = true;

  url.addEventListener('input', () => {
    shared.element.hidden = !isNew();
    if (isNew()) secret.value ||= fresh();
  });

  return {
    name: 'hook',
    element: h('div', {}, address.element, shared.element),
    say: (message, path = '') => (path.endsWith('secret') ? shared : address).say(message),
    focus: () => (secret.checkValidity() ? url : secret).focus(),
    value: () => (url.value.trim() === '' ? null : isNew() ? { url: url.value.trim(), secret: secret.value } : before),
    check() {
      address.say(url.checkValidity() ? null : t('meetings.hook.wrong'));
      const isFine = !isNew() || (secret.value !== '' && secret.checkValidity());
      shared.say(isFine ? null : t('meetings.hook.secret.wrong', { n: SHORTEST_SECRET }));
      return url.checkValidity() && isFine;
    },
  };
}
