// Messages the system could not accept, and sending them once more.
import { ask, query, wrong } from './api.js';
import { h, setText } from './elements.js';
import { OperatorPages } from './operator-part.js';
import { number, t } from './strings.js';
import { ago, at } from './times.js';
import { toast } from './toast.js';

customElements.define('dead-letters', class extends OperatorPages {
  build() {
    this.reasons = h('select', { onchange: () => this.restart() }, h('option', { value: '' }, t('letters.all')));
    this.all = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#replayAll() });
    this.append(h('div', { class: 'number' }, h('label', { class: 'field' }, h('span', {}, t('letters.reason')), this.reasons), this.all),
      ...this.pages(t('letters.none'), { 'data-good': true }));
  }

  async page(before) {
    const reason = this.reasons.value || null;
    const { dead_letters: rows, counts, refused = {}, next } = await ask(`/dead-letters${query({ ...this.wanted(before), reason })}`);
    return { rows, counts, refused, next };
  }

  key({ id }) {
    return id;
  }

  show(answer) {
    if (answer) this.#offer(answer.counts, answer.refused);
    super.show(answer);
  }

  #offer(counts, refused) {
    const chosen = this.reasons.value;
    this.all.hidden = !counts[chosen];
    setText(this.all, t('letters.replayall', { count: counts[chosen] ?? 0 }));
    const shown = JSON.stringify([counts, refused]);
    if (shown === this.counts) return;
    this.counts = shown;
    const options = Object.entries(counts).map(([reason, count]) =>
      h('option', { value: reason }, refused[reason] > count ? t('letters.ofmany', { reason, count, refused: refused[reason] }) : `${reason} (${number(count)})`));
    this.reasons.replaceChildren(h('option', { value: '' }, t('letters.all')), ...options);
    this.reasons.value = chosen;
  }

  item(letter) {
    const received = Date.parse(letter.received_at);
    const now = Date.now();
    const again = h('span', { class: 'chip', 'data-ok': 'true' }, t('letters.replayed'));
    const age = h('time', { datetime: letter.received_at, title: at(received, now), class: 'quiet' });
    const update = ({ replayed_at: replayed }) => {
      again.hidden = !replayed;
      setText(age, ago((Date.now() - received) / 1000));
    };
    const row = (key, ...value) => h('div', {}, h('dt', {}, t(key)), h('dd', {}, ...value));
    return Object.assign(h('li', {}, h('details', { 'data-id': letter.id },
      h('summary', {}, h('span', { class: 'chip' }, letter.reason), h('span', { class: 'topic' }, letter.topic), again, age),
      h('dl', { class: 'facts' },
        row('letters.detail', letter.detail),
        row('letters.received', `${at(received, now)} · ${t('letters.size', { size: letter.size })}`),
        row('letters.payload', h('code', {}, letter.payload)),
        row('letters.again', letter.not_replayable ?? h('button', { type: 'button', class: 'button', onclick: () => this.#replay(letter) }, t('letters.replay')))))), { update });
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
