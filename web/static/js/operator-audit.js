// What was done with the rights of an operator, by whom, and taking it back.
import { ask, query, wrong } from './api.js';
import { h } from './elements.js';
import { OperatorPages } from './operator-part.js';
import { knows, language, t } from './strings.js';
import { atReal } from './times.js';
import { toast } from './toast.js';

customElements.define('operator-audit', class extends OperatorPages {
  #names = new Map();
  #types = new Map();

  build() {
    this.append(...this.pages(t('audit.none')));
  }

  async page(before) {
    const [{ actions: rows, next }, { accounts }, { types }] = await Promise.all([
      ask(`/audit${query(this.wanted(before))}`), ask(`/accounts${query({ limit: 1000 })}`), ask('/operator/events?limit=1')]);
    this.#names = new Map(accounts.map(({ id, name }) => [id, name]));
    this.#types = new Map(types.map(({ type, labels }) => [type, labels[language] ?? labels.en]));
    return { rows, next };
  }

  key({ id, undone, undoable }) {
    return `${id} ${undone} ${undoable}`;
  }

  /** What an action was done to, as people call it. */
  #target(action, target, state) {
    if (action.startsWith('event.') && state) return `${this.#types.get(state.type) ?? state.type}, ${state.name}`;
    if (action === 'invitation.issued') return (state?.roles ?? []).map((role) => t(`role.${role}`)).join(', ');
    return this.#names.get(target) ?? target;
  }

  item({ id, at: time, actor, action, target, before, after, undoes, undone, undoable }) {
    const row = (key, value) => h('div', {}, h('dt', {}, t(key)), h('dd', {}, value));
    const state = (value) => (value === null ? '–' : h('code', {}, JSON.stringify(value)));
    const words = undoes ? t('audit.undid', { id: String(undoes) }) : knows(`audit.${action}`) ? t(`audit.${action}`) : action;
    const named = this.#target(action, target, after ?? before);
    const undo = h('button', { type: 'button', class: 'button small', 'aria-label': `${t('toast.undo')}: ${words}, ${named}`, onclick: () => this.#undo(id) }, t('toast.undo'));
    return h('li', { class: 'action', 'data-action': id }, h('details', {},
      h('summary', {}, h('time', { datetime: time, class: 'chip' }, atReal(Date.parse(time))), h('strong', {}, words),
        h('span', { class: 'name' }, named), h('span', { class: 'quiet' }, actor.name ?? actor.id),
        undone ? h('span', { class: 'chip' }, t('audit.undone')) : null),
      h('dl', { class: 'facts' }, row('audit.target', h('code', {}, target)), row('audit.before', state(before)), row('audit.after', state(after)),
        row('audit.number', String(id)))), undoable && !undone ? undo : null);
  }

  async #undo(id) {
    try {
      await ask(`/audit/${id}/undo`, { method: 'POST' });
      toast(t('audit.isundone'), { focus: true });
    } catch (error) {
      toast(wrong(error), { focus: true });
    }
    await this.restart();
  }
});
