// The places one saved, and a form to save another.
import { button, attempt } from './doing.js';
import { h, keyed } from './elements.js';
import { labelledField, textField } from './labelled-field.js';
import { pointField } from './point-field.js';
import { asPoint, savedPlaces } from './saved-places.js';
import { t } from './strings.js';
import { user } from './user.js';

customElements.define('account-places', class extends HTMLElement {
  connectedCallback() {
    this.list = h('ul', { class: 'cards compact' });
    const point = pointField({ name: 'saved', title: t('saved.point'), near: () => null, onChange: () => null });
    const kinds = h('select', {}, ...['home', 'work', 'other'].map((kind) => h('option', { value: kind }, t(`saved.${kind}`))));
    const kind = labelledField({ name: 'kind', title: t('saved.as'), input: kinds });
    const name = textField({ name: 'name', title: t('saved.name'), maxlength: 200, required: false });
    const form = h('form', { class: 'fields-form', novalidate: true }, point.element, kind.element, name.element,
      h('div', { class: 'actions' }, h('button', { type: 'submit', class: 'button' }, t('saved.save'))));
    const show = () => (name.element.hidden = kinds.value !== 'other');
    kinds.addEventListener('change', show);
    show();
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      if (!(await point.check())) return;
      const { lat, lon, name: found } = point.value();
      const called = (kinds.value === 'other' && name.value().trim()) || found;
      if (await attempt(() => savedPlaces.save({ kind: kinds.value, name: called, lat, lon }), t('saved.kept', { name: called }))) {
        point.set(null);
        name.input.value = '';
      }
    });
    this.append(this.list, form);
    savedPlaces.addEventListener('change', () => this.#show());
    user.follow(() => this.#show());
  }

  async #show() {
    const places = await savedPlaces.load();
    keyed(this.list, places, ({ kind, name, lat, lon }) => `${kind} ${name} ${lat} ${lon}`, (place) => {
      const { name, detail } = asPoint(place);
      return h('li', { class: 'line' }, h('p', {}, h('strong', {}, name), detail ? ` ${detail}` : ''),
        button(t('saved.remove'), () => this.#remove(place), { small: true, label: `${t('saved.remove')}: ${name}` }));
    }, () => null);
  }

  async #remove(place) {
    const all = await savedPlaces.load();
    await attempt(() => savedPlaces.put(all.filter((one) => one !== place)), t('saved.removed', { name: place.name }), () => savedPlaces.put(all));
  }
});
