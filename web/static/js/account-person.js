// Name and password of one's account.
import { ask } from './api.js';
import { nameField, passwordField } from './credentials.js';
import { h } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { t } from './strings.js';
import { toast } from './toast.js';
import { user } from './user.js';

customElements.define('account-person', class extends HTMLElement {
  connectedCallback() {
    const name = nameField({ help: t('person.name.help') });
    this.append(this.#rename(name), this.#password());
    user.follow(() => {
      if (document.activeElement !== name.input) name.input.value = user.name ?? '';
      this.closest('section').hidden = user.isDemo;
    });
  }

  #rename(name) {
    return fieldsForm({
      fields: [name],
      submit: t('account.rename'),
      primary: false,
      send: async (body) => {
        await ask('/me', { method: 'PATCH', body });
        await user.load();
        toast(t('account.renamed', { name: user.name }));
      },
    });
  }

  #password() {
    const old = passwordField({ name: 'old', title: t('account.oldpassword') });
    const fresh = passwordField({ name: 'password', title: t('account.newpassword'), isNew: true, help: t('person.password.help') });
    const form = fieldsForm({
      fields: [old, fresh],
      submit: t('account.changepassword'),
      primary: false,
      extra: [h('p', { class: 'quiet' }, t('account.endsothers'))],
      send: async (body) => {
        await ask('/me', { method: 'PATCH', body, again: false });
        await user.load();
        form.reset();
        document.querySelector('account-logins').load();
        toast(t('account.passwordchanged'));
      },
    });
    return h('details', { class: 'why' }, h('summary', {}, t('account.changepassword')), form);
  }
});
