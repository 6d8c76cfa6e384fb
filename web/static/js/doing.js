// Doing something, saying how it went, and asking first where there is no way back.
import { wrong } from './api.js';
import { h } from './elements.js';
import { t } from './strings.js';
import { toast } from './toast.js';

/** Whether what had the focus is gone, or no longer seen. */
export const isLost = (element) => element === document.body || !element.isConnected || !element.checkVisibility();

/** Do what `what()` does, or say why that could not be done; whether it went well. */
export async function tried(what) {
  try {
    await what();
  } catch (error) {
    toast(wrong(error), { focus: true });
    return false;
  }
  return true;
}

/**
 * Do what `what()` does, and say `said`, with `undo` the way back; whether it went well. Where the
 * button that was pressed is gone by then, what is said takes the focus.
 */
export async function attempt(what, said, undo = null) {
  const pressed = document.activeElement;
  if (!(await tried(what))) return false;
  toast(said, { undo: undo && (() => attempt(undo, t('toast.undone'))), focus: isLost(pressed) });
  return true;
}

/**
 * Ask whether something is meant: its title, what will happen, and the word on the button; `tick`
 * is what may be wanted beside. `{ isTicked }`, or null where it is not meant.
 */
export function confirmed({ title, text, word, tick = null }) {
  return new Promise((answer) => {
    const box = h('input', { type: 'checkbox' });
    const yes = h('button', { type: 'button', class: 'button primary danger', onclick: () => dialog.close('yes') }, word);
    const no = h('button', { type: 'button', class: 'button', onclick: () => dialog.close() }, t('form.cancel'));
    const dialog = h('dialog', { class: 'sheet-dialog', 'aria-labelledby': 'confirm-title' },
      h('h2', { id: 'confirm-title' }, title), h('p', {}, text), tick && h('label', { class: 'tick' }, box, tick), h('p', { class: 'actions' }, yes, no));
    dialog.addEventListener('close', () => {
      dialog.remove();
      answer(dialog.returnValue === 'yes' ? { isTicked: box.checked } : null);
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
