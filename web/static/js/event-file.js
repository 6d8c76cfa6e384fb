// Events of a file in a format of others: what of it can be published, and publishing what stays ticked.
import { ask } from './api.js';
import { city } from './city.js';
import { h, setText } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { choiceField, fileField } from './labelled-field.js';
import { levelWords } from './levels.js';
import { t } from './strings.js';
import { at } from './times.js';

const LEFT = ['over', 'outside', 'unknown', 'more'];
const USUAL_TYPE = 'RoadWorks';

/** An event in a line: what, where, how bad and when. */
function words({ type, name, level, start, until }, labels) {
  const now = city.now();
  const times = [at(Date.parse(start), now), until ? at(Date.parse(until), now) : t('byhand.openend')].join(' – ');
  return [labels.get(type) ?? t('eventfile.othertype'), name, levelWords(level), times].join(' · ');
}

/** The form: `labels()` are the types' names by type, `published(answer)` is told what the server did. */
export function eventFile(labels, published) {
  const file = fileField({ name: 'content', title: t('eventfile.file'), help: t('eventfile.help'), accept: '.json,.geojson,.xml' });
  const needed = { ...file, check() {
    file.say(file.value() ? null : t('eventfile.nofile'));
    return file.value() !== null;
  } };
  const holds = h('div', { class: 'made', role: 'region', 'aria-label': t('eventfile.holds'), tabindex: '-1', hidden: true });
  const form = fieldsForm({
    fields: [needed], submit: t('eventfile.show'), primary: false,
    send: async () => show(await ask('/operator/events/try', { method: 'POST', body: { content: await file.value().text() } })),
  });
  form.addEventListener('input', () => (holds.hidden = true));

  function show({ format, events, left, refused }) {
    const others = LEFT.filter((why) => left[why] > 0).map((why) => t(`eventfile.left.${why}`, { count: left[why] }));
    const faults = refused.map(({ at: where, said }) => [where, said].filter(Boolean).join(': '));
    holds.replaceChildren(h('h4', {}, t('eventfile.holds')), h('p', {}, events.length ? t('eventfile.found', { count: events.length, format }) : t('eventfile.none')),
      h('ul', { class: 'bullets' }, ...[...others, ...faults].map((line) => h('li', {}, line))), ...(events.length ? [choice(events)] : []));
    holds.hidden = false;
    holds.focus();
  }

  /** The events to choose from, and the button that publishes those. */
  function choice(events) {
    const named = [...labels()].sort(([, a], [, b]) => a.localeCompare(b));
    const other = choiceField({ name: 'other', title: t('eventfile.other'), options: named });
    other.input.value = USUAL_TYPE;
    const boxes = events.map(() => h('input', { type: 'checkbox', checked: true }));
    const ticked = () => events.filter((_, index) => boxes[index].checked);
    const lines = events.map((event, index) => h('li', {}, h('label', { class: 'tick' }, boxes[index], words(event, labels()))));
    const publishing = fieldsForm({
      fields: events.some(({ type }) => type === null) ? [other] : [],
      submit: '',
      extra: [h('ul', {}, ...lines)],
      send: async () => {
        const chosen = ticked().map((event) => ({ ...event, type: event.type ?? other.value() }));
        if (!chosen.length) return;
        const answer = await ask('/operator/events/import', { method: 'POST', body: { events: chosen } });
        form.reset();
        holds.hidden = true;
        published(answer);
      },
    });
    const button = publishing.querySelector('[type="submit"]');
    const recount = () => {
      setText(button, t('eventfile.publish', { count: ticked().length }));
      button.disabled = ticked().length === 0;
    };
    publishing.addEventListener('change', recount);
    recount();
    return publishing;
  }

  return h('details', { class: 'why event-file' }, h('summary', {}, t('eventfile.title')), form, holds);
}
