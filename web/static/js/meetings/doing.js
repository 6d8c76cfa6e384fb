// Doing something as the host, saying how it went, and asking first where there is no way back.
import { wrong } from '../api.js';
import { h } from '../elements.js';
import { t } from '../strings.js';
import { toast } from '../toast.js';

/** Whether what had the focus is gone, or no longer seen. */
const isLost = (element) => element === document.body || !element.isConnected || !element.checkVisibility();

/**
 * Do what `what()` does, and say `said`, with `undo` the way back; whether it went well. Where the
 * button that was pressed is gone by then, what is said takes the focus.
 */
export async function attempt(what, said, undo = null) {
  const pressed = document.activeElement;
  try {
    await what();
  } catch (error) {
    toast(wrong(error), { focus: true });
    return false;
  }
  toast(said, { undo: undo && (() => attempt(undo, t('meetings.undone'))), focus: isLost(pressed) });
  return true;
}

/** Ask whether something is meant: its title, what will happen, and the word on the button. */
export function confirmed({ title, text, word }) {
  return new Promise((answer) => {
    const yes = h('button', { type: 'button', class: 'button primary danger', onclick: () => dialog.close('yes') }, word);
    const no = h('button', { type: 'button', class: 'button', onclick: () => dialog.close() }, t('form.cancel'));
    const dialog = h('dialog', { class: 'sheet-dialog', 'aria-labelledby': 'confirm-title' },
      h('h2', { id: 'confirm-title' }, title), h('p', {}, text), h('p', { class: 'actions' }, yes, no));
    dialog.addEventListener('close', () => {
      dialog.remove();
      answer(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
  });
}

/** A button; `label` is what it is called where its word alone would not do. */
export const button = (word, onclick, { label = null, primary = false, small = false, symbol = null, danger = false } = {}) =>
  h('button', {
    type: 'button', class: ['button', primary && 'primary', small && 'small', danger && 'danger'].filter(Boolean).join(' '), 'aria-label': label, onclick,
  }, symbol, word);
