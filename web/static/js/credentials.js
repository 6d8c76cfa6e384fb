// Name and password, as one logs in or signs up with them.
import { h } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { textField } from './labelled-field.js';
import { hasPasskeys, signWithPasskey } from './passkeys.js';
import { t } from './strings.js';

const LONGEST_NAME = 40;
const SHORTEST_PASSWORD = 10;
const LONGEST_PASSWORD = 200;
const LONGEST_CODE = 40;

/** A field for a name. */
export const nameField = (attributes = {}) =>
  textField({ name: 'name', title: t('person.name'), autocomplete: 'username', maxlength: LONGEST_NAME, autocapitalize: 'none', spellcheck: 'false', ...attributes });

/** A field for a password, which a button shows. */
export function passwordField({ title = t('person.password'), name = 'password', isNew = false, ...more } = {}) {
  const field = textField({ title, name, type: 'password', autocomplete: isNew ? 'new-password' : 'current-password', maxlength: LONGEST_PASSWORD, ...more });
  const { input } = field;
  const reveal = h('button', { type: 'button', class: 'button', 'aria-pressed': 'false', onclick: () => {
    const shown = input.type === 'password';
    input.type = shown ? 'text' : 'password';
    reveal.setAttribute('aria-pressed', String(shown));
  } }, t('person.show'), h('span', { class: 'visually-hidden' }, ` ${title}`));
  const both = h('span', { class: 'revealed' });
  input.replaceWith(both);
  both.append(input, reveal);
  const check = () => {
    if (!field.check() || !isNew) return field.check();
    const isLong = [...input.value].length >= SHORTEST_PASSWORD;
    field.say(isLong ? null : t('fault.password-length'));
    return isLong;
  };
  return { ...field, check };
}

/** A field for a code of the authenticator app, or a recovery code. */
export const codeField = (attributes = {}) =>
  textField({ name: 'code', title: t('person.code'), autocomplete: 'one-time-code', maxlength: LONGEST_CODE, autocapitalize: 'none', spellcheck: 'false', ...attributes });

/**
 * A form to log in with: `logIn(credentials)` is asked again with what a passkey signed, or with a
 * code, where an account has two steps. `name` and `password` are its fields.
 */
export function logInForm({ name, password, logIn, ...more }) {
  const code = codeField({ required: false, help: t('person.code.help') });
  code.element.hidden = true;
  return fieldsForm({
    ...more,
    fields: [name, password, code],
    submit: t('person.login'),
    send: async (given) => {
      const credentials = { name: given.name, password: given.password };
      try {
        await logIn({ ...credentials, ...(given.code ? { code: given.code } : {}) });
      } catch (error) {
        if (error.kind !== 'second-step') throw error;
        code.element.hidden = false;
        code.focus();
        if (error.passkey && hasPasskeys) await logIn({ ...credentials, passkey: await signWithPasskey(error.passkey) });
      }
    },
  });
}

/** The local address that `?next=` names; elsewhere nobody is led. */
export function nextAddress(otherwise = '/account') {
  const wanted = new URLSearchParams(location.search).get('next') ?? otherwise;
  const address = URL.canParse(wanted, location.origin) ? new URL(wanted, location.origin) : null;
  return wanted.startsWith('/') && address?.origin === location.origin ? address.href : otherwise;
}
