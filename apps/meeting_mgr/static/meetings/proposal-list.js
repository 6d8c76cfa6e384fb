// What the meeting reasoner proposes: why, what would change, other ways, and the answer.
import { attempt, button } from 'citywise/doing.js';
import { h, icon, keyed, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { atMinute, duration } from 'citywise/times.js';
import { isOpen } from './meeting-store.js';
import { causeWords, changeWords } from './proposal-words.js';

const WIDE = '(min-width: 700px)'; // Where there is room for what would come out of it.

/** Those that wait for an answer, and the last that was accepted: it can be taken back. */
function shownProposals(view) {
  if (!isOpen(view)) return [];
  const { proposals } = view;
  const open = proposals.filter(({ answer }) => answer === 'open');
  const last = proposals.filter(({ answer }) => answer === 'accepted').at(-1);
  return [...open.reverse(), ...(last ? [last] : [])];
}

export function proposalList(store) {
  const element = h('div', { class: 'proposals' });

  function update(view) {
    const shown = shownProposals(view);
    element.hidden = shown.length === 0;
    keyed(element, shown, ({ number, answer }) => `${number} ${answer}`, ({ answer }) => {
      const card = answer === 'open' ? openCard(store) : acceptedCard(store);
      return Object.assign(card.element, { card });
    }, (row, proposal) => row.card.update(proposal, view));
  }

  return { element, update };
}

const isSame = (card, ...what) => {
  const now = JSON.stringify(what);
  if (card.shown === now) return true;
  card.shown = now;
  return false;
};

/** A proposal that waits: options as radio buttons, the best chosen. */
function openCard(store) {
  let proposal = null;
  const title = h('h2', {}, icon('swap'), h('span', {}));
  const causes = h('ul', { class: 'causes' });
  const options = h('div', { class: 'options-field', role: 'radiogroup', 'aria-label': t('meetings.proposal.options') });
  const preview = h('ol', { class: 'preview' });
  const then = h('details', { class: 'why', open: matchMedia(WIDE).matches }, h('summary', {}, t('meetings.proposal.then')), preview);
  const accept = button(t('meetings.proposal.accept'), () => answer('accept'), { primary: true });
  const decline = button(t('meetings.proposal.decline'), () => answer('decline'));
  const element = h('section', { class: 'proposal', 'aria-label': t('meetings.proposal') }, title, causes, options, then, h('p', { class: 'actions' }, accept, decline));
  const chosen = () => Number(options.querySelector(':checked')?.value ?? 0);

  function update(current, view) {
    if (isSame(element, current, view.agenda)) return;
    proposal = current;
    element.dataset.proposal = proposal.number;
    setText(title.lastChild, t(`meetings.proposal.${proposal.kind}`));
    causes.replaceChildren(...proposal.causes.map((cause) => h('li', {}, causeWords(view, cause))));
    keyed(options, [...proposal.options.entries()], ([index]) => index, optionLine, (line, [, option]) => setText(line.words, changeWords(view, option)));
    options.onchange = () => showPreview(view);
    showPreview(view);
  }

  /** A line that stays whatever its words become: somebody may be about to choose it. */
  function optionLine([index, option]) {
    const input = h('input', { type: 'radio', name: `proposal-${proposal.number}`, value: index, checked: index === 0 });
    const words = h('span', {});
    const best = index === 0 && proposal.options.length > 1 ? h('span', { class: 'mark' }, t(option.is_best === false ? 'meetings.proposal.good' : 'meetings.proposal.best')) : null;
    input.hidden = proposal.options.length === 1;
    return Object.assign(h('label', { class: 'option-line' }, input, words, best), { words });
  }

  function showPreview(view) {
    const option = proposal.options[chosen()];
    preview.replaceChildren(...option.agenda.map(({ item, starts, minutes }) => {
      const { title, minutes: before } = view.agenda.find(({ id }) => id === item) ?? { title: item };
      const isNew = [option.moved, option.shortened, option.taken_up].some((items) => items.includes(item));
      return h('li', { 'data-moved': isNew }, h('span', { class: 'item-time' }, atMinute(Date.parse(starts))), h('span', {}, title),
        h('span', { class: 'quiet' }, minutes === before ? duration(minutes * 60) : t('meetings.proposal.instead', { now: duration(minutes * 60), before: duration(before * 60) })));
    }));
  }

  async function answer(word) {
    const { number } = proposal;
    const undo = word === 'accept' ? () => store.answer(number, 'undo') : null;
    const isDone = await attempt(() => store.answer(number, word, word === 'accept' ? chosen() : null), t(`meetings.said.${word}`), undo);
    if (!isDone) store.load();
  }

  return { element, update };
}

/** What was accepted last, with the way back. */
function acceptedCard(store) {
  let number = null;
  const words = h('p', {});
  const undo = button(t('toast.undo'), () => attempt(() => store.answer(number, 'undo'), t('toast.undone')), { small: true, label: t('meetings.proposal.undo') });
  const element = h('section', { class: 'proposal-done', 'aria-label': t('meetings.proposal.done') }, words, undo);

  function update(proposal, view) {
    number = proposal.number;
    const option = proposal.options[proposal.chosen ?? 0];
    const key = proposal.automatic ? 'meetings.proposal.automatic' : 'meetings.proposal.accepted';
    setText(words, t(key, { what: changeWords(view, option) }));
  }

  return { element, update };
}
