// Whether one is reminded of the meeting by e-mail: a switch, how long before, and where the letter goes.
import { ask } from 'citywise/api.js';
import { attempt } from 'citywise/doing.js';
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { user } from 'citywise/user.js';
import { pathOf } from './meeting-store.js';

const [HOUR, DAY] = [60, 1440]; // In minutes.
const CHOICES = [5, 15, 30, HOUR, DAY];

/** “15 minutes”, “1 hour” */
function lengthWords(minutes) {
  const [unit, length] = minutes % DAY === 0 ? ['days', DAY] : minutes % HOUR === 0 ? ['hours', HOUR] : ['minutes', 1];
  return t(`meetings.reminder.${unit}`, { count: minutes / length });
}

/** The section; hidden to who has no account here, where nobody is written to, and once it has begun. */
export function reminderCard(store) {
  const path = pathOf(store.id, '/reminder');
  let chosen = null; // What the meeting says; null: nothing can be chosen.
  let asker = null; // Whose choice that is.
  const input = h('input', { type: 'checkbox', role: 'switch', id: 'reminder', onchange: () => choose() });
  const select = h('select', { id: 'reminder-minutes', onchange: () => choose() });
  const to = h('p', { class: 'quiet' });
  const when = h('p', { class: 'reminder-when' }, h('label', { for: 'reminder-minutes' }, t('meetings.reminder.when')), select);
  const element = h('section', { class: 'reminder-card', hidden: true, 'aria-labelledby': 'reminder-title' },
    h('h2', { id: 'reminder-title' }, t('meetings.reminder')), h('div', { class: 'sensor-line' }, h('label', { for: 'reminder' }, t('meetings.reminder.wanted')), input), when, to);

  async function load() {
    asker = user.own;
    chosen = null;
    const found = await ask(path).catch(() => null);
    const mail = found?.available ? await ask('/me/mail').catch(() => null) : null;
    if (asker !== user.own || !mail) return;
    chosen = found;
    const { address } = mail;
    input.disabled = !address && chosen.minutes === null;
    if (address) setText(to, t('meetings.reminder.to', { address }));
    else to.replaceChildren(t('meetings.reminder.address'), ' ', h('a', { href: '/account#mail' }, t('meetings.reminder.account')));
    show();
  }

  function show() {
    const minutes = chosen?.minutes ?? chosen?.usual;
    const known = [...new Set([...CHOICES, minutes])].sort((a, b) => a - b);
    select.replaceChildren(...known.map((each) => h('option', { value: each, selected: each === minutes }, lengthWords(each))));
    input.checked = chosen !== null && chosen.minutes !== null;
    when.hidden = !input.checked;
    if (store.view) update(store.view);
  }

  async function choose() {
    const body = { minutes: Number(select.value) };
    const isDone = input.checked
      ? await attempt(async () => (chosen = await ask(path, { method: 'PUT', body })), t('meetings.said.reminder'))
      : await attempt(async () => {
        await ask(path, { method: 'DELETE' });
        chosen = { ...chosen, minutes: null };
      }, t('meetings.said.noreminder'));
    if (!isDone) await load();
    show();
  }

  function update({ state, host, me }) {
    const isKnown = user.loaded && user.own && (host || me.account);
    if (isKnown && asker !== user.own) load();
    element.hidden = !isKnown || !chosen || state !== 'planned';
  }

  return { element, update };
}
