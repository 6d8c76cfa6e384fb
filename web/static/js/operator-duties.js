// Who is told by a role, at which place: giving duties, and ending them.
import { ask, query } from './api.js';
import { city } from './city.js';
import { confirmed, isLost, tried } from './doing.js';
import { h, keyed } from './elements.js';
import { fieldsForm } from './fields-form.js';
import { labelled } from './kinds.js';
import { labelledField, textField } from './labelled-field.js';
import { OperatorPart } from './operator-part.js';
import { placeSelect } from './parameter-places.js';
import { t } from './strings.js';
import { toast } from './toast.js';

const MOST_PEOPLE = 1000;

/** A text field that offers values; `offer(values)` says which. */
function offeredField(attributes) {
  const list = h('datalist', { id: `offered-${attributes.name}` });
  const field = textField({ ...attributes, list: list.id, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' });
  field.element.append(list);
  const offer = (values) => keyed(list, values, (value) => value, (value) => h('option', { value }), () => {});
  return { ...field, offer };
}

/** A place of the kind that a role is at, or all of them. */
function placeField() {
  const stand = h('div');
  const field = labelledField({ name: 'place', title: t('duty.place'), help: t('duty.place.help'), input: stand, group: true });
  let [select, kind] = [null, null];
  field.element.hidden = true;
  return {
    ...field,
    value: () => select?.value || null,
    check: () => true,
    focus: () => select?.focus(),
    of(wanted) {
      if (wanted === kind) return;
      [kind, select] = [wanted, null];
      field.element.hidden = wanted === null;
      if (wanted === null) return;
      const layer = city.placeKinds.get(wanted)?.layer ? wanted : null;
      const made = placeSelect((place) => place.kind === wanted, { layer, title: t('duty.place'), 'aria-label': t('duty.place') });
      made.select.options[0].textContent = t('duty.everywhere', { kind: labelled(city.placeKinds.get(wanted)?.label, wanted) });
      select = made.select;
      stand.replaceChildren(made.element);
    },
  };
}

customElements.define('operator-duties', class extends OperatorPart {
  #roles = [];

  build() {
    this.list = h('ul', { class: 'cards' });
    this.empty = h('p', { class: 'empty', hidden: true }, t('duty.none'));
    this.named = offeredField({ name: 'role', title: t('duty.role'), help: t('duty.role.help'), maxlength: 32 });
    this.person = offeredField({ name: 'user', title: t('duty.person'), maxlength: 64 });
    this.place = placeField();
    this.named.input.addEventListener('input', () => this.#choose());
    const form = fieldsForm({
      fields: [this.named, this.place, this.person],
      submit: t('duty.give'),
      send: async ({ role, place, user }) => {
        await ask('/operator/duties', { method: 'PUT', body: { role: role.trim(), place, user: user.trim() } });
        toast(t('duty.given', { role: role.trim(), person: user.trim() }));
        this.person.input.value = '';
        this.person.focus();
        await this.refresh();
      },
    });
    this.append(h('div', { class: 'columns' }, h('div', {}, h('h3', {}, t('duty.new')), form),
      h('div', {}, h('h3', {}, t('duty.all')), this.list, this.empty)));
  }

  async load() {
    const [duties, { accounts }] = await Promise.all([ask('/operator/duties'), ask(`/accounts${query({ limit: MOST_PEOPLE })}`)]);
    return { ...duties, accounts };
  }

  /** A card for each role at a place: who several people are is a group. */
  show({ duties, roles, accounts }) {
    this.#roles = roles;
    this.named.offer([...new Set([...roles, ...duties].map(({ role }) => role))].sort());
    this.person.offer(accounts.map(({ name }) => name));
    this.#choose();
    const groups = new Map();
    for (const duty of duties) {
      const key = `${duty.role} ${duty.place ?? ''}`;
      groups.set(key, [...(groups.get(key) ?? []), duty]);
    }
    keyed(this.list, [...groups.values()], ([{ role, place }]) => `${role} ${place ?? ''}`, (group) => this.#item(group), (item, group) => item.update(group));
    this.empty.hidden = duties.length > 0;
  }

  /** Where the role is that is written; of an unknown one, nowhere. */
  #choose() {
    const kinds = this.#roles.filter(({ role }) => role === this.named.input.value.trim()).map(({ kind }) => kind);
    this.place.of(kinds.find(Boolean) ?? null);
  }

  #item([{ role, place, place_name: name }]) {
    const people = h('ul', { class: 'people' });
    const where = place === null ? t('duty.all.places') : name ?? t('duty.unknown', { place });
    const update = (group) => keyed(people, group, ({ user }) => user, (duty) => this.#person(duty, where), () => {});
    return Object.assign(h('li', {}, h('article', { 'data-duty': `${role} ${place ?? ''}` },
      h('header', {}, h('h4', {}, role), h('span', { class: 'quiet' }, where)), people)), { update });
  }

  #person(duty, where) {
    const name = duty.person ?? duty.user;
    return h('li', { class: 'line' }, h('span', {}, name), h('button', { type: 'button', class: 'button small', 'aria-label': `${t('duty.end')}: ${name}, ${duty.role}, ${where}`, onclick: () => this.#end(duty, name, where) }, t('duty.end')));
  }

  async #end({ role, place, user }, name, where) {
    const isMeant = await confirmed({ title: t('duty.end.title', { name, role }), text: t('duty.end.text', { where }), word: t('duty.end') });
    if (isMeant && await tried(() => ask(`/operator/duties${query({ role, place, user })}`, { method: 'DELETE' }))) {
      toast(t('duty.ended', { role, person: name }), { focus: true });
      await this.refresh();
    }
    if (isLost(document.activeElement)) this.named.focus();
  }
});
