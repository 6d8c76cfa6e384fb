// Logging in and signing up: pages of their own, and a prompt where a login has ended.
import { ask, asker, wrong } from './api.js';
import { logInForm, nameField, nextAddress, passwordField } from './credentials.js';
import { h, setText } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { hasPasskeys, signWithPasskey } from './passkeys.js';
import { knows, t } from './strings.js';
import { toast } from './toast.js';
import { user } from './user.js';

const given = new URLSearchParams(location.search);

/** The address of a page with the way back to this one. */
const withNext = (page) => `${page}?${new URLSearchParams({ next: given.get('next') ?? '/account' })}`;

/** The way to the provider of identities, and back to the page that was wanted. */
const atProvider = () => {
  const { pathname, search } = new URL(nextAddress('/'), location);
  return h('a', { class: 'button primary', href: `/sign-in?${new URLSearchParams({ next: pathname + search })}` }, t('signin.at', { name: user.provider }));
};

/** Log in with a passkey, without name and password. */
async function logInAlone() {
  try {
    await user.logIn({ passkey: await signWithPasskey(await ask('/login/passkey')) }, '/login/passkey');
    location.assign(nextAddress());
  } catch (error) {
    toast(wrong(error));
  }
}

customElements.define('log-in', class extends HTMLElement {
  connectedCallback() {
    const form = logInForm({
      name: nameField(),
      password: passwordField(),
      logIn: async (credentials) => {
        await user.logIn(credentials);
        location.assign(nextAddress());
      },
    });
    const away = h('p', { class: 'actions' });
    const refused = given.get('refused');
    const why = refused ? h('p', { class: 'verdict missing', role: 'alert' }, knows(`signin.${refused}`) ? t(`signin.${refused}`) : t('signin.refused')) : '';
    const other = h('p', { class: 'quiet' }, t('person.noaccount'), ' ', h('a', { href: withNext('/sign-up') }, t('person.signup')));
    const forgotten = h('p', { class: 'quiet', hidden: true }, h('a', { href: '/reset' }, t('reset.forgotten')));
    const alone = h('p', { class: 'actions' }, h('button', { type: 'button', class: 'button', onclick: logInAlone }, t('passkey.login')));
    this.append(why, away, form, alone, forgotten, other);
    user.follow(() => {
      other.hidden = user.signUp === 'closed' || !user.passwords;
      form.hidden = !user.passwords;
      alone.hidden = !user.passwords || !hasPasskeys;
      forgotten.hidden = !(user.passwords && user.writes);
      away.replaceChildren(user.provider ? atProvider() : '');
    });
  }
});

customElements.define('sign-up', class extends HTMLElement {
  connectedCallback() {
    const invitation = given.get('invitation');
    const form = fieldsForm({
      fields: [nameField({ help: t('person.name.help') }), passwordField({ isNew: true, help: t('person.password.help') })],
      submit: t('person.signup'),
      send: async (credentials) => {
        await user.signUpAs(invitation ? { ...credentials, invitation } : credentials);
        location.assign(nextAddress());
      },
    });
    const refused = h('p', { class: 'verdict missing' });
    const invited = h('p', { class: 'verdict', hidden: !invitation }, t('person.invited'));
    this.append(refused, invited, form,
      h('p', { class: 'quiet' }, t('person.already'), ' ', h('a', { href: withNext('/log-in') }, t('person.login'))));
    user.follow(() => {
      const isLetIn = !user.loaded || invitation || user.signUp === 'open';
      setText(refused, isLetIn ? '' : t(`person.signup.${user.signUp}`));
      form.hidden = !isLetIn;
    });
  }
});

/** Asks for the password where a login has ended, so that nothing that was typed is lost. */
class LogInAgain {
  #asking = null;

  /** True once the same person is logged in again, false where they do not want to be. */
  ask() {
    return (this.#asking ??= this.#ask().finally(() => (this.#asking = null)));
  }

  #ask() {
    const name = nameField({ value: user.name ?? undefined });
    const password = passwordField();
    return new Promise((resolve) => {
      const done = (isIn) => {
        resolve(isIn);
        dialog.close();
      };
      const form = logInForm({
        name,
        password,
        logIn: async (credentials) => {
          const before = user.own;
          await user.logIn(credentials);
          if (before && user.own !== before) location.reload();
          else done(true);
        },
        actions: [h('button', { type: 'button', class: 'button', onclick: () => done(false) }, t('form.cancel'))],
      });
      const dialog = h('dialog', { class: 'sheet-dialog', 'aria-labelledby': 'log-in-again', onclose: () => {
        resolve(false);
        dialog.remove();
      } }, h('h2', { id: 'log-in-again' }, t('person.again')), h('p', { class: 'quiet' }, t('person.again.why')), form);
      document.body.append(dialog);
      dialog.showModal();
      (name.input.value ? password : name).focus();
    });
  }
}

const again = new LogInAgain();

/** Whether what was refused may be asked once more: read again who it is, or let them log in. */
asker.mend = async (refused, method) => {
  if (refused.status === 403 && refused.kind.includes('csrf')) {
    const before = asker.csrf;
    await user.load();
    return asker.csrf !== before;
  }
  if (refused.status !== 401) return false;
  if (method !== 'GET') return again.ask();
  await user.load();
  return false;
};
