// Where one is, as the trip is told it: by this device, or by a traveller in the city's own time.
import { city } from 'citywise/city.js';
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { traveller } from './trip-traveller.js';
import { turning } from './trip-turning.js';
import { metres } from './measures.js';

customElements.define('trip-position', class extends HTMLElement {
  connectedCallback() {
    if (this.said) return;
    this.said = h('p', { role: 'status' });
    this.explain = h('p', { class: 'quiet' }, t('trip.position.explain'));
    const button = (key, act, primary) => h('button', { type: 'button', class: primary ? 'button primary' : 'button', onclick: act }, t(key));
    this.locate = button('trip.position.device', () => this.#act(() => traveller.locate()), true);
    this.simulate = button('trip.position.simulate', () => this.#act(() => traveller.simulate()));
    this.stop = button('trip.position.stop', () => this.#act(() => traveller.stop()));
    this.turn = h('button', { type: 'button', role: 'switch', class: 'switch', 'aria-label': t('trip.turn'), onclick: () => turning.want(!turning.isWanted) });
    this.turns = h('p', { class: 'trip-turn' }, h('span', {}, t('trip.turn')), this.turn);
    this.append(this.explain, this.said, h('p', { class: 'actions' }, this.locate, this.simulate, this.stop), this.turns);
    turning.addEventListener('change', () => this.#show());
    traveller.addEventListener('change', () => this.#show());
    city.follow(() => this.#show());
  }

  // The button that was pressed goes away; the focus goes to what takes it back.
  #act(what) {
    what();
    this.#show();
    (traveller.state === 'off' ? this.locate : this.stop).focus();
  }

  #show() {
    const isOff = traveller.state === 'off';
    this.explain.hidden = this.locate.hidden = !isOff;
    this.simulate.hidden = !isOff || !traveller.canSimulate;
    this.stop.hidden = this.turns.hidden = isOff;
    this.turn.setAttribute('aria-checked', String(turning.isWanted));
    setText(this.said, this.#words());
  }

  #words() {
    if (traveller.problem) return t(traveller.problem);
    const { state, accuracy } = traveller;
    if (state === 'device' && Number.isFinite(accuracy)) return t('trip.position.accuracy', { metres: metres(Math.max(accuracy, 10)) });
    return state === 'off' ? '' : t(`trip.position.${state}`);
  }
});
