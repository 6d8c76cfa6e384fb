// Messages the system could not accept, and sending them once more.
import { ask, query, wrong } from './api.js';
import { h, setText } from './elements.js';
import { OperatorPart } from './operator-part.js';
import { number, t } from './strings.js';
import { ago, at } from './times.js';
import { toast } from './toast.js';

const PAGE = 50;

customElements.define('dead-letters', class extends OperatorPart {
  #next = null;

  build() {
    this.reasons = h('select', { onchange: () => this.refresh() }, h('option', { value: '' }, t('letters.all')));
    this.all = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#replayAll() });
    this.list = h('ul', { class: 'letters' });
    this.empty = h('p', { class: 'empty', 'data-good': true, hidden: true }, t('letters.none'));
    this.more = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#older() }, t('letters.more'));
    this.append(h('div', { class: 'number' }, h('label', { class: 'field' }, h('span', {}, t('letters.reason')), this.reasons), this.all),
      this.list, this.empty, this.more);
  }

  // Not while somebody reads further down: the list would begin anew.
  load() {
    return this.list.childElementCount > PAGE ? null : this.#ask();
  }

  #ask(before = null) {
    return ask(`/dead-letters${query({ limit: PAGE, before, reason: this.reasons.value || null })}`);
  }

  show(answer) {
    if (answer === null) return;
    const open = new Set([...this.list.querySelectorAll('details[open]')].map((details) => details.dataset.id));
    const focused = this.list.contains(document.activeElement) ? document.activeElement.closest('details')?.dataset.id : null;
    this.#offer(answer.counts);
    this.list.replaceChildren();
    this.#add(answer, open);
    if (focused) this.list.querySelector(`[data-id="${focused}"] summary`)?.focus();
  }

  async #older() {
    try {
      this.#add(await this.#ask(this.#next));
    } catch (error) {
      setText(this.fault, wrong(error));
    }
  }

  #add({ dead_letters: letters, next }, open = new Set()) {
    this.list.append(...letters.map((letter) => this.#item(letter, open)));
    this.empty.hidden = this.list.childElementCount > 0;
    this.#next = next;
    this.more.hidden = next === null;
  }

  #offer(counts) {
    const chosen = this.reasons.value;
    this.all.hidden = !counts[chosen];
    setText(this.all, t('letters.replayall', { count: counts[chosen] ?? 0 }));
    if (JSON.stringify(counts) === this.counts) return;
    this.counts = JSON.stringify(counts);
    const options = Object.entries(counts).map(([reason, count]) =>
      h('option', { value: reason }, `${reason} (${number(count)})`));
    this.reasons.replaceChildren(h('option', { value: '' }, t('letters.all')), ...options);
    this.reasons.value = chosen;
  }

  #item(letter, open) {
    const received = Date.parse(letter.received_at);
    const now = Date.now();
    const row = (key, ...value) => h('div', {}, h('dt', {}, t(key)), h('dd', {}, ...value));
    return h('li', {}, h('details', { 'data-id': letter.id, open: open.has(String(letter.id)) },
      h('summary', {}, h('span', { class: 'chip' }, letter.reason), h('span', { class: 'topic' }, letter.topic),
        letter.replayed_at ? h('span', { class: 'chip', 'data-ok': 'true' }, t('letters.replayed')) : null,
        h('time', { datetime: letter.received_at, title: at(received, now), class: 'quiet' }, ago((now - received) / 1000))),
      h('dl', { class: 'facts' },
        row('letters.detail', letter.detail),
        row('letters.received', `${at(received, now)} · ${t('letters.size', { size: letter.size })}`),
        row('letters.payload', h('code', {}, letter.payload)),
        row('letters.again', letter.not_replayable ?? h('button', { type: 'button', class: 'button', onclick: () => this.#replay(letter) }, t('letters.replay'))))));
  }

  async #replay({ id }) {
    try {
      const { topic } = await ask(`/dead-letters/${id}/replay`, { method: 'POST' });
      toast(t('letters.sent', { topic }), { focus: true });
    } catch (error) {
      toast(wrong(error), { focus: true });
    }
    await this.refresh();
  }

  async #replayAll() {
    try {
      const { replayed, skipped, left } = await ask('/dead-letters/replay', { method: 'POST', body: { reason: this.reasons.value } });
      toast(t('letters.sentall', { replayed, skipped: skipped.length, left }), { focus: true });
    } catch (error) {
      toast(wrong(error), { focus: true });
    }
    await this.refresh();
  }
});
