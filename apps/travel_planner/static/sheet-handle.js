// On a phone the panel is a sheet with three heights: dragged, tapped, or moved with the arrow keys.
import { h } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';

const HEIGHTS = ['low', 'half', 'full'];
const MOVED_PX = 6; // Less is a tap.

customElements.define('sheet-handle', class extends HTMLElement {
  #from = null;

  connectedCallback() {
    this.main = document.querySelector('main');
    this.grip = h('div', { class: 'sheet-grip', role: 'slider', tabindex: '0', 'aria-label': t('plan.sheet'), 'aria-valuemin': 0, 'aria-valuemax': HEIGHTS.length - 1, 'aria-orientation': 'vertical' });
    this.append(this.grip);
    this.grip.addEventListener('pointerdown', (event) => this.#take(event));
    this.grip.addEventListener('pointermove', (event) => this.#drag(event));
    for (const end of ['pointerup', 'pointercancel']) this.grip.addEventListener(end, (event) => this.#drop(event));
    this.grip.addEventListener('keydown', (event) => this.#key(event));
    this.set('half');
  }

  get height() {
    return this.main.dataset.sheet;
  }

  set(height) {
    this.main.dataset.sheet = height;
    this.main.style.removeProperty('--sheet');
    this.grip.setAttribute('aria-valuenow', HEIGHTS.indexOf(height));
    this.grip.setAttribute('aria-valuetext', t(`plan.sheet.${height}`));
  }

  #step(by) {
    this.set(HEIGHTS[Math.min(HEIGHTS.length - 1, Math.max(0, HEIGHTS.indexOf(this.height) + by))]);
  }

  #take(event) {
    this.grip.setPointerCapture(event.pointerId);
    this.#from = { y: event.clientY, height: this.parentElement.offsetHeight, moved: false };
  }

  #drag({ clientY }) {
    if (!this.#from) return;
    const by = this.#from.y - clientY;
    this.#from.moved ||= Math.abs(by) > MOVED_PX;
    if (this.#from.moved) this.main.style.setProperty('--sheet', `${this.#from.height + by}px`);
  }

  /** The height nearest to where it was let go; a tap is for the next one. */
  #drop({ clientY }) {
    if (!this.#from) return;
    const { y, height, moved } = this.#from;
    this.#from = null;
    if (!moved) {
      this.set(HEIGHTS[(HEIGHTS.indexOf(this.height) + 1) % HEIGHTS.length]);
      return;
    }
    const share = (height + y - clientY) / this.main.clientHeight;
    this.set(share < 0.4 ? 'low' : share < 0.78 ? 'half' : 'full');
  }

  #key(event) {
    const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, Home: -2, End: 2 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.#step(by);
  }
});
