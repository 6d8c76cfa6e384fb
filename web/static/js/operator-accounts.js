// Who has an account, in which roles; shutting out, and inviting.
import { ask, query, wrong } from './api.js';
import { copied } from './copied.js';
import { h, keyed } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { OperatorPart } from './operator-part.js';
import { rolesField } from './roles-field.js';
import { t } from './strings.js';
import { atReal } from './times.js';
import { toast } from './toast.js';

const PAGE = 200;

customElements.define('operator-accounts', class extends OperatorPart {
  build() {
    this.list = h('ul', { class: 'cards compact' });
    this.made = h('div', { class: 'made', role: 'region', 'aria-label': t('invite.made'), tabindex: '-1', hidden: true });
    const form = fieldsForm({
      fields: [rolesField(['user'])],
      submit: t('invite.make'),
      primary: false,
      send: async (body) => {
        const { url, expires } = await ask('/invitations', { method: 'POST', body });
        this.made.hidden = false;
        this.made.replaceChildren(h('dl', { class: 'facts' }, copied(t('invite.link'), url)),
          h('p', { class: 'quiet' }, t('invite.until', { time: atReal(Date.parse(expires)) })));
        this.made.focus();
      },
    });
    this.append(this.list, h('h3', {}, t('invite.title')), h('p', { class: 'quiet' }, t('invite.explain')), form, this.made);
  }

  load() {
    return ask(`/accounts${query({ limit: PAGE })}`);
  }

  show({ accounts }) {
    keyed(this.list, accounts, ({ id }) => id, (account) => this.#item(account), (item, account) => item.update(account));
  }

  #item(account) {
    const roles = rolesField([]);
    const form = fieldsForm({ fields: [roles], submit: t('accounts.save'), primary: false, send: (body) => this.#change(account, body) });
    const shut = h('button', { type: 'button', class: 'button', onclick: () => this.#change(current, { disabled: !current.disabled }).catch((error) => toast(wrong(error))) });
    const state = h('span', { class: 'chip' });
    const details = h('details', { class: 'why' }, h('summary', {}, t('accounts.change'), h('span', { class: 'visually-hidden' }, `: ${account.name}`)), form, shut);
    let current = account;
    const update = (next) => {
      current = next;
      state.textContent = next.disabled ? t('accounts.disabled') : next.roles.map((role) => t(`role.${role}`)).join(', ');
      state.dataset.ok = next.disabled ? 'false' : '';
      shut.textContent = t(next.disabled ? 'accounts.enable' : 'accounts.disable');
      if (!details.open) roles.set(next.roles);
    };
    return Object.assign(h('li', { 'data-account': account.id }, h('div', { class: 'line' },
      h('p', {}, h('strong', {}, account.name), h('span', { class: 'quiet' }, ` ${t('accounts.since', { time: atReal(Date.parse(account.created)) })}`)), state), details), { update });
  }

  async #change({ id, name }, body) {
    await ask(`/accounts/${id}`, { method: 'PATCH', body });
    toast(t('accounts.changed', { name }), { focus: true });
    await this.refresh();
  }
});
