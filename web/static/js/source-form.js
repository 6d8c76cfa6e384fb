// A source in a form: where its messages come from, what a sample of them becomes, and saving it.
import { ask, wrong } from './api.js';
import { h } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { areaField as lined, choiceField, textField, tickField as ticked } from './labelled-field.js';
import { t } from './strings.js';
import { quieten } from './toast.js';

const MAPPING = 'mapping';
const lines = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean);
const words = (text) => text.split(/[\s,]+/).filter(Boolean);

const optional = (name, more = {}) => textField({ name, title: t(`source.${name}`), help: null, required: false, autocomplete: 'off', spellcheck: 'false', ...more });

const areaField = (name, rows) => lined({ name, title: t(`source.${name}`), help: t(`source.${name}.help`), rows });
const tickField = (name) => ticked({ name, title: t(`source.${name}`), help: t(`source.${name}.help`) });

/** One thing that a sample becomes, in a line. */
function found(one) {
  const [sort] = Object.keys(one);
  const told = one[sort];
  const values = (body, ...without) => Object.entries(body).filter(([name]) => !without.includes(name))
    .map(([name, value]) => `${name} = ${typeof value === 'object' ? JSON.stringify(value) : value}`).join(', ');
  const text = {
    place: () => `${told.kind} ${told.id} · ${told.name}`,
    observation: () => `${told.kind} ${told.sensor} · ${values(told, 'kind', 'sensor')}`,
    event: () => (told.ended ? told.id : `${told.type} ${told.id} · ${told.name ?? ''}`),
    unknown: () => [told, one.at].filter(Boolean).join(' · '),
    refused: () => [one.at, `${told}: ${one.said}`].filter(Boolean).join(' · '),
  }[sort]();
  return h('li', { 'data-sort': sort }, h('span', { class: 'chip', 'data-ok': sort === 'refused' ? 'false' : null }, t(`source.is.${sort}`)), ' ', text);
}

/**
 * The form; `connectors` are those there are, `source` the settings of the one that is changed, null
 * for a new one. `saved(answer)` is called with what the API says of it.
 */
export function sourceForm({ connectors, source, saved }) {
  // What a file or the API has set and no field shows, such as `renew_s`, stays as it is.
  const { has_secret: takesPosts, ...before } = source?.settings ?? {};
  const [first, ...others] = Object.keys(before.headers ?? {});
  const name = textField({ name: 'name', title: t('source.name'), help: t('source.name.help'), maxlength: 32, autocomplete: 'off', autocapitalize: 'none' });
  const connector = choiceField({ name: 'connector', title: t('source.connector'), options: [...connectors.map((one) => [one.name, `${one.name} – ${one.title}`]), [MAPPING, t('source.mapping')]] });
  const mapping = areaField('mapping', 12);
  const [urls, topics] = [areaField('urls', 2), areaField('topics', 2)];
  const broker = optional('broker', { help: t('source.broker.help'), placeholder: 'mqtt.example:1883' });
  const username = optional('username');
  const password = optional('password', { type: 'password', autocomplete: 'new-password', help: source ? t('source.kept') : null });
  const header = optional('header', { help: t('source.header.help'), placeholder: 'Authorization' });
  const key = optional('key', { name: first ? `headers.${first}` : 'key', type: 'password', autocomplete: 'new-password', help: source ? t('source.kept') : null });
  const count = (name, usual, most) => optional(name, { type: 'number', min: 1, max: most, value: String(usual) });
  const interval = count('interval_s', 60, 86400);
  const timeout = count('timeout_s', 20, 600);
  const size = count('max_bytes', 10_000_000, 50_000_000);
  const prefix = optional('prefix', { help: t('source.prefix.help') });
  const zone = optional('zone', { placeholder: 'Europe/Copenhagen' });
  const tls = tickField('tls');
  const takes = tickField('takes_posts');
  const context = optional('subscribe', { help: t('source.subscribe.help'), placeholder: '…/ngsi-ld/v1' });
  const types = optional('types', { placeholder: 'NoiseLevelObserved, AirQualityObserved' });
  const notify = optional('notify', { value: location.origin });
  const main = [name, connector, mapping, urls, topics];
  const further = others.map((one) => optional('key', { name: `headers.${one}`, title: one, type: 'password', autocomplete: 'new-password', help: t('source.kept') }));
  const asked = [header, key, ...further, interval, timeout, size, prefix, zone, broker, tls, username, password];
  const told = [takes, context, types, notify];

  const sample = areaField('sample', 6);
  const topic = optional('topic');
  const result = h('ul', { class: 'bullets', 'aria-label': t('source.becomes') });
  const said = h('p', { role: 'status' });
  const trying = h('button', { type: 'button', class: 'button', onclick: () => attempt() }, t('source.try'));
  const group = (title, fields) => h('details', { class: 'why' }, h('summary', {}, title), ...fields.map(({ element }) => element));
  const isMapping = () => (mapping.element.hidden = connector.value() !== MAPPING);
  connector.input.addEventListener('change', isMapping);

  function body() {
    const own = (value) => value || undefined;
    const [host, port] = broker.value().trim().split(/:(\d+)$/);
    const shown = header.value().trim();
    const headers = [...others.map((one, at) => [one, further[at].value()]), ...(shown ? [[shown, key.value()]] : [])];
    return {
      ...before, connector: undefined, mapping: undefined,
      name: name.value().trim(),
      ...(connector.value() === MAPPING ? { mapping: mapping.value() } : { connector: connector.value() }),
      urls: lines(urls.value()), topics: lines(topics.value()), prefix: own(prefix.value().trim()), zone: own(zone.value().trim()),
      ...Object.fromEntries([interval, timeout, size].map((one) => [one.input.name, Number(one.value()) || undefined])),
      headers: headers.length ? Object.fromEntries(headers) : undefined,
      broker: host ? { ...before.broker, host, port: Number(port ?? (tls.value() ? 8883 : 1883)), tls: tls.value(), username: own(username.value()), password: own(password.value()) } : undefined,
      subscribe: context.value().trim() ? { ...before.subscribe, broker: context.value().trim(), types: words(types.value()), notify: notify.value().trim() } : undefined,
    };
  }

  /** What the sample becomes, or what the addresses answer now. */
  async function attempt() {
    quieten();
    said.textContent = t('source.trying');
    result.replaceChildren();
    try {
      const text = sample.value();
      const wanted = { ...body(), name: name.value().trim() || 'sample' };
      const answer = await ask('/operator/sources/try', { method: 'POST', body: { source: wanted, sample: text.trim() ? text : null, topic: topic.value().trim() || null } });
      if (!text.trim()) sample.input.value = answer.sample;
      const counts = Object.entries(answer.counts).map(([sort, count]) => `${t(`source.is.${sort}`)}: ${count}`);
      said.textContent = counts.length ? counts.join(', ') : t('source.nothing');
      result.replaceChildren(...answer.found.map(found));
    } catch (error) {
      const errors = error.errors ?? [];
      said.textContent = errors.length ? errors.map(({ path, message }) => `${path}: ${message}`).join('; ') : wrong(error);
    }
  }

  const form = fieldsForm({
    fields: [...main, ...asked, ...told],
    extra: [h('fieldset', { class: 'parameter' }, h('legend', {}, t('source.sample.title')), sample.element, topic.element, trying, said, result)],
    submit: t('source.save'),
    actions: [h('button', { type: 'button', class: 'button', onclick: () => saved(null) }, t('source.cancel'))],
    send: async () => saved(await ask('/operator/sources', { method: 'PUT', body: { ...body(), takes_posts: takes.value() || Boolean(context.value().trim()), active: source?.active ?? true } })),
  });
  topics.element.after(group(t('source.more'), asked), group(t('source.posts'), told));

  if (source) {
    name.input.value = before.name;
    name.input.readOnly = true;
    connector.input.value = before.connector ?? MAPPING;
    mapping.input.value = before.mapping ?? '';
    urls.input.value = (before.urls ?? []).join('\n');
    topics.input.value = (before.topics ?? []).join('\n');
    header.input.value = first ?? '';
    for (const one of [interval, timeout, size]) one.input.value = before[one.input.name] ?? one.input.value;
    prefix.input.value = before.prefix ?? '';
    zone.input.value = before.zone ?? '';
    broker.input.value = before.broker ? `${before.broker.host ?? '127.0.0.1'}:${before.broker.port}` : '';
    username.input.value = before.broker?.username ?? '';
    tls.input.checked = before.broker?.tls ?? false;
    takes.input.checked = takesPosts;
    context.input.value = before.subscribe?.broker ?? '';
    types.input.value = (before.subscribe?.types ?? []).join(', ');
    if (before.subscribe) notify.input.value = before.subscribe.notify;
  }
  isMapping();
  return form;
}
