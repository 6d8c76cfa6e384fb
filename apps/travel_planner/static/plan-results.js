// What the planners answer: the ways or garages, best first, and why the others are not offered.
import { Refused, wrong } from 'citywise/api.js';
import { city } from 'citywise/city.js';
import { h, icon, setText } from 'citywise/elements.js';
import { breath } from 'citywise/slices.js';
import { t } from 'citywise/strings.js';
import { atMinute } from 'citywise/times.js';
import { conflictCard } from './conflict-card.js';
import { optionCard, rejectedLine } from './option-card.js';
import { plans } from './plans.js';

const SHOWN_REJECTED = 8;

await breath(); // Each part of the page is a task of its own.
customElements.define('plan-results', class extends HTMLElement {
  connectedCallback() {
    this.said = h('p', { class: 'visually-hidden', role: 'status' });
    this.busy = h('div', { class: 'plan-busy', hidden: true }, h('progress', { 'aria-label': t('plan.busy') }), h('p', {}, t('plan.busy')),
      h('button', { type: 'button', class: 'button', onclick: () => plans.cancel() }, t('form.cancel')));
    this.head = h('div', { class: 'results-head' });
    this.body = h('div', { class: 'results' });
    this.append(this.said, this.busy, this.head, this.body);
    plans.addEventListener('change', () => this.#show());
    plans.addEventListener('mark', () => this.#mark());
    document.addEventListener('plan-folded', () => this.heading?.focus());
    this.#show();
  }

  #show() {
    const { answer, isBusy, error } = plans;
    this.busy.hidden = !isBusy;
    this.body.toggleAttribute('data-old', isBusy);
    if (isBusy) {
      setText(this.said, t('plan.busy'));
      return;
    }
    if (answer === this.shown && error === this.failed) return;
    [this.shown, this.failed] = [answer, error];
    this.heading = answer && h('h2', { tabindex: '-1' }, this.#title());
    this.head.replaceChildren(...(answer ? [this.heading, h('p', { class: 'quiet' }, t('plan.asof', { time: atMinute(Date.parse(answer.now)) }))] : []));
    this.body.replaceChildren(...(error ? this.#failed(error) : answer ? this.#answered(answer) : this.#blank()).filter(Boolean));
    setText(this.said, answer ? this.#summary() : '');
    this.#mark();
  }

  #title() {
    const count = plans.options.length;
    if (!count) return t(`${plans.answer.conflict?.certain === false ? 'plan.unfound' : 'plan.none'}.${plans.kind}`);
    return t(`plan.found.${plans.kind}`, { count });
  }

  /** What a screen reader says of an answer at once. */
  #summary() {
    const best = plans.options.find(({ chosen }) => chosen);
    return [this.#title(), best?.why, plans.answer.conflict?.relaxation].filter(Boolean).join('. ');
  }

  #blank() {
    return [h('p', { class: 'quiet plan-hint' }, t(`plan.hint.${plans.kind}`))];
  }

  #answered({ conflict, notes = [], licence }) {
    const { options, rejected } = plans;
    return [
      conflict ? conflictCard(conflict) : null,
      options.length ? h('ol', { class: 'options' }, ...options.map((option, index) => optionCard(option, index + 1))) : null,
      !options.length && !conflict ? h('p', { class: 'empty' }, t(`plan.empty.${plans.kind}`)) : null,
      rejected.length ? this.#rejected(rejected) : null,
      this.#notes(notes, licence),
    ];
  }

  #rejected(rejected) {
    const lines = rejected.map(rejectedLine);
    const list = h('ul', { class: 'rejected-list' }, ...lines.slice(0, SHOWN_REJECTED));
    const rest = lines.slice(SHOWN_REJECTED);
    const more = rest.length && h('button', { type: 'button', class: 'button', onclick: () => {
      list.append(...rest);
      more.remove();
      rest[0].querySelector('button')?.focus();
    } }, t('list.more', { count: rest.length }));
    return h('details', { class: 'why plan-rejected' }, h('summary', {}, t('plan.rejected', { count: rejected.length })), list, ...(more ? [more] : []));
  }

  #notes(notes, licence) {
    return h('details', { class: 'why plan-notes' }, h('summary', {}, t('plan.notes')),
      h('ul', { class: 'bullets quiet' }, ...notes.map((note) => h('li', {}, note.text ?? note)), licence ? h('li', {}, t('plan.licence', { licence })) : null));
  }

  #failed(error) {
    if (error instanceof Refused && error.errors.length) return []; // Said at the fields.
    const title = t(error instanceof Refused ? 'plan.failed' : 'plan.offline');
    const hint = !(error instanceof Refused) && city.state !== 'live' ? h('p', {}, t('plan.offline.hint')) : null;
    return [h('section', { class: 'conflict', role: 'alert' }, h('h3', {}, icon('event'), title), h('p', {}, wrong(error)), hint,
      h('button', { type: 'button', class: 'button', onclick: () => plans.find() }, t('offline.retry')))];
  }

  #mark() {
    for (const card of this.body.querySelectorAll('[data-option]')) card.toggleAttribute('data-marked', card.dataset.option === plans.marked);
  }
});
