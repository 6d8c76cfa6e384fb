// A value that is copied with a button, or by hand.
import { h } from './elements.js';
import { t } from './strings.js';
import { toast } from './toast.js';

/** A line of a list of facts: `title`, the value, and a button that copies it. */
export function copied(title, value) {
  const text = h('code', { tabindex: '0' }, value);
  const button = h('button', { type: 'button', class: 'button', 'aria-label': `${t('device.copy')}: ${title}`, onclick: async () => {
    try {
      await navigator.clipboard.writeText(value);
      toast(t('device.copied', { what: title }));
    } catch {
      getSelection().selectAllChildren(text);
    }
  } }, t('device.copy'));
  return h('div', { class: 'copied' }, h('dt', {}, title), h('dd', {}, text, button));
}
