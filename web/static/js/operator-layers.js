// The city's own layers: what there are, and taking, replacing, hiding and removing them.
import { ask, wrong } from './api.js';
import { city } from './city.js';
import { confirmed, isLost } from './doing.js';
import { h, setText } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { labelled } from './kinds.js';
import { areaField, fileField, textField } from './labelled-field.js';
import { OperatorPart, table } from './operator-part.js';
import { number, t } from './strings.js';
import { ago } from './times.js';
import { quieten, toast } from './toast.js';

const since = (time) => ago((Date.now() - Date.parse(time)) / 1000);

/** A place of a layer in a line: its id, its name, and what is said of it. */
function placeLine({ id, name, ...rest }) {
  const values = Object.entries(rest).filter(([key, value]) => !['kind', 'sensors', 'names'].includes(key) && value !== null && (typeof value !== 'object' || Object.keys(value).length > 0));
  const words = values.map(([key, value]) => `${key} = ${typeof value === 'object' ? JSON.stringify(value) : value}`);
  return h('li', {}, h('code', {}, id), ` ${[name, words.join(', ')].filter(Boolean).join(' · ')}`);
}

/**
 * The form of a new `layer` (null), or of another file or address for one; first it says what that
 * becomes, then it can be saved. `saved(answer)` is called at the end, with null if nothing was.
 */
function layerForm(layer, saved) {
  const name = textField({ name: 'name', title: t('layer.name'), help: layer ? null : t('layer.name.help'), maxlength: 32, required: false, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', pattern: '[a-z][a-z0-9_]*' });
  const file = fileField({ name: 'content', title: t('layer.file'), help: t('layer.file.help'), accept: '.geojson,.json,application/geo+json,application/json' });
  const address = textField({ name: 'address', title: t('layer.address'), help: t('layer.address.help'), required: false, type: 'url', autocomplete: 'off', maxlength: 1000 });
  const toml = areaField({ name: 'toml', title: t('layer.kind'), help: t('layer.kind.help'), rows: 14 });
  const becomes = h('div', { class: 'made', role: 'region', 'aria-label': t('layer.becomes'), tabindex: '-1', hidden: true });
  let about = null; // What was tried: only that is saved.
  toml.element.hidden = true;
  if (layer) Object.assign(name.input, { value: layer.name, readOnly: true });
  address.element.hidden = Boolean(layer && !layer.made);
  address.input.value = layer?.address ?? '';

  const source = { ...file, check() {
    const isThere = file.value() !== null || address.value().trim() !== '';
    file.say(isThere ? null : t('layer.nothing'));
    return isThere;
  } };
  const form = fieldsForm({
    fields: [name, source, address, toml],
    submit: t('layer.try'),
    primary: false,
    extra: [becomes],
    actions: [h('button', { type: 'button', class: 'button', onclick: () => saved(null) }, t('form.cancel'))],
    send: async () => {
      const chosen = file.value();
      const from = chosen ? { file: chosen.name, content: await chosen.text() } : { address: address.value().trim() };
      const told = { name: name.value().trim() || null, ...from, toml: toml.element.hidden ? null : toml.value() };
      show(await ask('/operator/layers/try', { method: 'POST', body: told }), chosen);
    },
  });
  form.addEventListener('input', ({ target }) => {
    [about, becomes.hidden] = [null, true];
    if (target !== toml.input) toml.element.hidden = true; // Of another file it is another.
  });

  function show(answer, chosen) {
    about = { ...answer, file: chosen };
    name.input.value = answer.name;
    if (answer.toml !== null) {
      toml.input.value = answer.toml;
      toml.element.hidden = false;
    }
    const { places, added, changed, removed } = answer;
    becomes.hidden = false;
    becomes.replaceChildren(h('h4', {}, t('layer.becomes')), h('p', {}, t('layer.counts', { places, added, changed, removed })),
      h('ul', { class: 'bullets' }, ...answer.remarks.map((remark) => h('li', {}, remark)), ...answer.first.map(placeLine)),
      h('button', { type: 'button', class: 'button primary', onclick: (event) => save(event.currentTarget) }, t('layer.save')));
    becomes.focus();
  }

  async function save(button) {
    if (!about || button.disabled) return;
    quieten();
    button.disabled = true;
    const { name: wanted, toml: text, file: chosen } = about;
    try {
      if (text !== null) await ask('/operator/kinds', { method: 'PUT', body: { toml: text } });
      if (chosen) await ask(`/operator/layers/${wanted}?file=${encodeURIComponent(chosen.name)}`, { method: 'PUT', body: new Blob([chosen], { type: 'application/geo+json' }) });
      saved(about);
    } catch (error) {
      toast([wrong(error), ...(error.errors ?? []).map(({ message }) => message)].join(' '), { focus: true });
      button.disabled = false;
    }
  }

  return form;
}

customElements.define('operator-layers', class extends OperatorPart {
  build() {
    this.layers = h('tbody');
    this.none = h('p', { class: 'empty', hidden: true }, t('layer.none'));
    this.table = table(t('ops.layers'), ['layer.title', 'system.state', 'layer.places', 'layer.from', 'layer.taken', 'source.actions'], this.layers);
    this.adding = h('button', { type: 'button', class: 'button', onclick: () => this.#edit(null) }, t('layer.add'));
    this.form = h('div');
    this.append(this.none, this.table, this.adding, this.form);
  }

  load() {
    return ask('/operator/layers');
  }

  show({ layers }) {
    this.none.hidden = layers.length > 0;
    this.table.hidden = !layers.length;
    if (this.layers.contains(document.activeElement)) return; // Its buttons are at work.
    this.layers.replaceChildren(...layers.map((layer) => this.#row(layer)));
  }

  #row(layer) {
    const { name, label, places, origin, address, taken, error, remarks, shown, made } = layer;
    const state = h('span', { class: 'chip', 'data-ok': String(!error) }, t(error ? 'source.failing' : shown ? 'layer.shown' : 'layer.hidden'));
    const button = (key, act) => h('button', { type: 'button', class: 'button small', 'aria-label': `${t(key)}: ${labelled(label, name)}`, onclick: act }, t(key));
    // A file's kind with an address would bring them back.
    const own = made || !address ? [button('layer.replace', () => this.#edit(layer)), button('layer.remove', () => this.#remove(layer))] : [h('span', { class: 'quiet' }, t('kinds.file'))];
    return h('tr', { 'data-layer': name },
      h('th', { scope: 'row' }, labelled(label, name), ' ', h('code', {}, name), ...[error, ...remarks].filter(Boolean).map((note) => h('p', { class: 'quiet' }, note))),
      h('td', {}, state), h('td', {}, number(places)), h('td', { class: 'wrapped' }, address ?? origin ?? '–'), h('td', {}, taken ? since(taken) : t('source.never')),
      h('td', {}, h('div', { class: 'actions' }, button(shown ? 'layer.hide' : 'layer.show', () => this.#switch(layer)), ...own)));
  }

  #edit(layer) {
    this.adding.hidden = true;
    this.form.replaceChildren(layerForm(layer, (answer) => this.#saved(answer)));
    this.form.querySelector(layer ? 'input[type="file"]' : 'input').focus();
  }

  #saved(answer) {
    this.form.replaceChildren();
    this.adding.hidden = false;
    this.adding.focus();
    if (answer === null) return;
    toast(t(answer.file ? 'layer.saved' : 'layer.asked', { name: answer.name }));
    this.#changed();
  }

  async #switch({ name, label, shown }) {
    await this.#act(() => ask(`/operator/layers/${name}`, { method: 'PATCH', body: { shown: !shown } }),
      t(shown ? 'layer.ishidden' : 'layer.isshown', { name: labelled(label, name) }));
  }

  /** Its places go; its kind too where it was made here, which would else ask for them again. */
  async #remove({ name, label, places, made }) {
    const title = t('layer.remove.title', { name: labelled(label, name) });
    const isMeant = await confirmed({ title, text: t('layer.remove.text', { places }), word: t('layer.remove') });
    if (isMeant) {
      await this.#act(async () => {
        await ask(`/operator/layers/${name}`, { method: 'DELETE' });
        if (made) await ask(`/operator/kinds/place/${name}`, { method: 'DELETE' });
      }, t('layer.removed', { name: labelled(label, name) }));
    } else if (isLost(document.activeElement)) this.adding.focus(); // The row was drawn anew meanwhile.
  }

  async #act(what, said) {
    try {
      await what();
      toast(said, { focus: true });
    } catch (error) {
      setText(this.fault, wrong(error));
    }
    this.adding.focus();
    this.#changed();
  }

  #changed() {
    this.refresh();
    city.load();
  }
});
