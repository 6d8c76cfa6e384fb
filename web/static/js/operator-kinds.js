// Kinds of observations and places: what there are, and making one while the system runs.
import { ask, wrong } from './api.js';
import { city } from './city.js';
import { h, keyed, setText } from './elements.js';
import { labelled } from './kinds.js';
import { OperatorPart } from './operator-part.js';
import { t } from './strings.js';
import { toast } from './toast.js';

const CHECK_AFTER_MS = 400;
const EXAMPLES = {
  kind: `kind = "dust"
places = ["dust_meter"]
label = { en = "Dust", da = "Støv" }
period_s = 60
stale_s = 600

[fields.level]
type = "decimal"          # integer, decimal, boolean, text or category (with values)
unit = "ug/m3"
range = [0, 10000]
step = 0.1
required = true

[map]
show = "level"
steps = [[0, "good"], [50, "fair"], [100, "poor"]]
`,
  place: `place = "dust_meter"
label = { en = "Dust meter", da = "Støvmåler" }
geometry = "point"
`,
};

const formOf = (kind) => (kind.kind ? 'kind' : 'place');
const nameOf = (kind) => kind.kind ?? kind.place;

customElements.define('operator-kinds', class extends OperatorPart {
  #timer = null;

  build() {
    this.list = h('ul', { class: 'cards' });
    this.text = h('textarea', { rows: 16, spellcheck: 'false', class: 'code', oninput: () => this.#edited() });
    this.said = h('ul', { class: 'bullets' });
    this.save = h('button', { type: 'button', class: 'button', disabled: true, onclick: () => this.#save() }, t('kinds.save'));
    this.append(
      h('div', { class: 'number' }, ...Object.keys(EXAMPLES).map((form) =>
        h('button', { type: 'button', class: 'button', 'data-example': form, onclick: () => this.#begin(EXAMPLES[form]) }, t(`kinds.new.${form}`)))),
      h('label', { class: 'field' }, h('span', {}, t('kinds.text')), this.text), h('div', { role: 'status' }, this.said), this.save,
      h('h3', {}, t('kinds.all')), this.list);
  }

  load() {
    return ask('/kinds');
  }

  show({ kinds, places }) {
    keyed(this.list, [...kinds, ...places], (kind) => `${formOf(kind)} ${nameOf(kind)} ${kind.version}`, (kind) => this.#item(kind), () => {});
  }

  #item(kind) {
    const fields = Object.entries(kind.fields).map(([name, { type, unit }]) => `${name} (${[type, unit].filter(Boolean).join(', ')})`);
    const made = kind.origin === 'operator';
    return h('li', {}, h('article', { 'data-kind': `${formOf(kind)} ${nameOf(kind)}` },
      h('header', {}, h('h4', {}, labelled(kind.label, nameOf(kind))), h('span', { class: 'chip' }, t(made ? 'kinds.made' : 'kinds.file'))),
      h('p', { class: 'quiet' }, `${nameOf(kind)} · ${t(`kinds.is.${formOf(kind)}`)}`),
      h('p', {}, fields.join(', ') || t('kinds.nofields')),
      made ? h('button', { type: 'button', class: 'button', onclick: () => this.#remove(kind) }, t('kinds.remove'), h('span', { class: 'visually-hidden' }, `: ${nameOf(kind)}`)) : null));
  }

  #begin(text) {
    this.text.value = text;
    this.text.focus();
    this.#edited();
  }

  #edited() {
    this.save.disabled = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#check(), CHECK_AFTER_MS);
  }

  async #check() {
    const toml = this.text.value;
    if (!toml.trim()) return this.said.replaceChildren();
    try {
      const { findings, kind } = await ask('/operator/kinds/check', { method: 'POST', body: { toml } });
      if (toml !== this.text.value) return undefined; // Edited meanwhile; that is checked next.
      this.#say(findings.map(({ line, message }) => t('kinds.line', { line: String(line), message })));
      if (!findings.length) this.#say([t('kinds.sound')]);
      this.save.disabled = !kind;
    } catch (error) {
      this.#say([wrong(error)]);
    }
    return undefined;
  }

  #say(lines) {
    this.said.replaceChildren(...lines.map((line) => h('li', {}, line)));
  }

  async #save() {
    try {
      const kind = await ask('/operator/kinds', { method: 'PUT', body: { toml: this.text.value } });
      toast(t('kinds.saved', { name: nameOf(kind) }));
      this.refresh();
      city.load();
    } catch (error) {
      this.#say(error.errors?.length ? error.errors.map(({ message }) => message) : [wrong(error)]);
    }
  }

  async #remove(kind) {
    try {
      await ask(`/operator/kinds/${formOf(kind)}/${nameOf(kind)}`, { method: 'DELETE' });
      this.refresh();
      city.load();
    } catch (error) {
      setText(this.fault, wrong(error));
    }
  }
});
