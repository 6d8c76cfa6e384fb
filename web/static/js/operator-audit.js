// What was done with the rights of an operator, by whom, and taking it back.
import { ask, query, wrong } from './api.js';
import { h } from './elements.js';
import { OperatorPart } from './operator-part.js';
import { knows, t } from './strings.js';
import { at } from './times.js';
import { toast } from './toast.js';

const PAGE = 50;

customElements.define('operator-audit', class extends OperatorPart {
  #next = null;

  build() {
    this.list = h('ul', { class: 'letters' });
    this.empty = h('p', { class: 'empty', hidden: true }, t('audit.none'));
    this.more = h('button', { type: 'button', class: 'button', hidden: true, onclick: async () => this.#add(await this.#ask(this.#next)) }, t('letters.more'));
    this.append(this.list, this.empty, this.more);
  }

  load() {
    const isRead = this.list.childElementCount > PAGE || this.list.querySelector('details[open]');
    return isRead ? null : this.#ask();
  }

  #ask(before = null) {
    return ask(`/audit${query({ limit: PAGE, before })}`);
  }

  show(answer) {
    if (answer === null) return;
    const focused = document.activeElement?.closest?.('operator-audit [data-action]')?.dataset.action;
    this.list.replaceChildren();
    this.#add(answer);
    this.empty.hidden = this.list.childElementCount > 0;
    if (focused) this.list.querySelector(`[data-action="${focused}"] summary`)?.focus();
  }

  #add({ actions, next }) {
    this.list.append(...actions.map((action) => this.#item(action)));
    this.#next = next;
    this.more.hidden = next === null;
  }

  #item({ id, at: time, actor, action, target, before, after, undoes, undone, undoable }) {
    const row = (key, value) => h('div', {}, h('dt', {}, t(key)), h('dd', {}, value));
    const state = (value) => (value === null ? '–' : h('code', {}, JSON.stringify(value)));
    const words = undoes ? t('audit.undid', { id: String(undoes) }) : knows(`audit.${action}`) ? t(`audit.${action}`) : action;
    return h('li', {}, h('details', { 'data-action': id },
      h('summary', {}, h('time', { datetime: time, class: 'chip' }, at(Date.parse(time), Date.now())), h('strong', {}, words),
        h('span', { class: 'topic' }, target), h('span', { class: 'quiet' }, actor.name ?? actor.id),
        undone ? h('span', { class: 'chip' }, t('audit.undone')) : null),
      h('dl', { class: 'facts' }, row('audit.before', state(before)), row('audit.after', state(after)),
        row('audit.number', String(id)),
        undoable && !undone ? row('toast.undo', h('button', { type: 'button', class: 'button', onclick: () => this.#undo(id) }, t('toast.undo'))) : null)));
  }

  async #undo(id) {
    try {
      await ask(`/audit/${id}/undo`, { method: 'POST' });
      toast(t('audit.isundone'), { focus: true });
      this.list.replaceChildren();
    } catch (error) {
      toast(wrong(error), { focus: true });
    }
    await this.refresh();
  }
});
