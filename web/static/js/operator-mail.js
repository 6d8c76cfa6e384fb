// Letters that could not be sent, and why.
import { ask } from './api.js';
import { attempt, button } from './doing.js';
import { h, keyed, setText } from './elements.js';
import { OperatorPart } from './operator-part.js';
import { t } from './strings.js';
import { at } from './times.js';

customElements.define('operator-mail', class extends OperatorPart {
  build() {
    this.state = h('p', { class: 'quiet', role: 'status' });
    this.list = h('ul', { class: 'cards compact' });
    this.append(this.state, this.list);
  }

  load() {
    return ask('/operator/mail');
  }

  show({ available, waiting, error, letters }) {
    setText(this.state, available ? error ?? t('post.waiting', { count: waiting }) : t('mail.off.operator'));
    keyed(this.list, letters, ({ id }) => id, (letter) => this.#item(letter), () => {});
  }

  #item({ id, purpose, account, host, error, tries, created }) {
    const to = [account, host].filter(Boolean).join(' · ');
    const act = (key, method, path, said) => button(t(key), () => this.#act(() => ask(path, { method }), t(said)), { small: true, label: `${t(key)}: ${to}` });
    return h('li', {}, h('p', {}, h('strong', {}, t(`post.${purpose}`)), h('span', { class: 'quiet' }, ` ${to} · ${at(Date.parse(created), Date.now())} · ${t('post.tries', { count: tries })}`)),
      h('p', {}, error),
      h('p', { class: 'actions' }, act('post.again', 'POST', `/operator/mail/${id}/send-again`, 'post.sentagain'), act('post.drop', 'DELETE', `/operator/mail/${id}`, 'post.dropped')));
  }

  async #act(what, said) {
    await attempt(what, said);
    await this.refresh();
  }
});
