// What the meeting has decided, as the host types it.
import { fieldsForm } from 'citywise/fields-form.js';
import { h, keyed } from 'citywise/elements.js';
import { textField } from 'citywise/labelled-field.js';
import { t } from 'citywise/strings.js';
import { atMinute } from 'citywise/times.js';
import { toast } from 'citywise/toast.js';

const LONGEST = 2000;

export function decisionList(store) {
  const list = h('ul', { class: 'decisions' });
  const none = h('p', { class: 'quiet' }, t('meetings.decisions.none'));
  const text = textField({ name: 'text', title: t('meetings.decision'), maxlength: LONGEST, autocomplete: 'off' });
  const form = fieldsForm({
    fields: [text], submit: t('meetings.decide'), primary: false,
    send: async (values) => {
      await store.decide(values.text.trim(), store.view.current?.item);
      form.reset();
      toast(t('meetings.said.decide'));
      text.focus();
    },
  });
  const element = h('div', { class: 'decision-panel' }, list, none, form);

  function update(view) {
    const { decisions } = view;
    none.hidden = decisions.length > 0;
    form.hidden = view.state === 'cancelled';
    keyed(list, decisions, ({ at, text: words }) => `${at} ${words}`, ({ at, item, title, text: words }) => {
      const about = view.agenda.find(({ id }) => id === item)?.title ?? title; // It may be removed.
      return h('li', {}, h('span', { class: 'item-time' }, atMinute(Date.parse(at))), h('span', {}, words, about ? h('span', { class: 'quiet' }, ` · ${about}`) : ''));
    }, () => null);
  }

  return { element, update };
}
