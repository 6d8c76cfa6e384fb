// Where one is logged in, and ending that.
import { ask, wrong } from './api.js';
import { h } from './elements.js';
import { t } from './strings.js';
import { ago } from './times.js';
import { toast } from './toast.js';
import { user } from './user.js';

const BROWSERS = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'];
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'];
const SHOWN_AS = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' };

/** “Firefox, Android” of what a browser says it is. */
export function agentName(agent) {
  const found = [BROWSERS, SYSTEMS].map((names) => names.find((name) => agent.includes(name))).filter(Boolean);
  return found.map((name) => SHOWN_AS[name] ?? name).join(', ') || agent || t('login.unknown');
}

customElements.define('account-logins', class extends HTMLElement {
  connectedCallback() {
    this.list = h('ul', { class: 'cards compact' });
    this.others = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#end('') }, t('login.endothers'));
    this.append(this.list, h('p', { class: 'actions' }, this.others));
    user.follow(() => {
      this.closest('section').hidden = user.isDemo;
      this.load();
    });
  }

  async load() {
    if (!user.own || user.isDemo) return;
    const { logins } = await ask('/me/logins').catch(() => ({ logins: [] }));
    this.list.replaceChildren(...logins.map((login) => this.#item(login)));
    this.others.hidden = logins.length < 2;
  }

  #item(login) {
    const name = agentName(login.agent);
    const end = h('button', { type: 'button', class: 'button', 'aria-label': `${t('login.end')}: ${name}`, onclick: () => this.#end(`/${login.id}`) }, t('login.end'));
    return h('li', { 'data-login': login.id }, h('div', { class: 'line' },
      h('p', {}, h('strong', {}, name), h('span', { class: 'quiet' }, ` ${t('login.seen', { age: ago((Date.now() - Date.parse(login.seen)) / 1000) })}`)),
      login.current ? h('span', { class: 'chip', 'data-ok': 'true' }, t('login.current')) : end));
  }

  /** End a session, or without one all others. */
  async #end(which) {
    try {
      await ask(`/me/logins${which}`, { method: 'DELETE' });
      toast(t(which ? 'login.ended' : 'login.othersended'), { focus: true });
    } catch (error) {
      toast(wrong(error));
    }
    await this.load();
  }
});
