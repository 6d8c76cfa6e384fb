// The plan that is asked for, and its answer: one source for the form, the list and the map.
import { ask } from 'citywise/api.js';
import { written } from 'citywise/point-field.js';
import { asked, fromQuery, TRAVEL } from './request.js';

/** Whether a garage would do, but another is better. */
const isWorse = ({ reasons }) => reasons.some(({ code }) => code === 'dominated');

class Plans extends EventTarget {
  request = fromQuery(location.search);
  answer = null;
  error = null;
  isBusy = false;
  marked = null; // Id of the way or garage that is looked at.
  #asking = 0;

  get kind() {
    return this.request.kind;
  }

  /** What is offered, best first: ways, or all garages where one can park, those too that are worse in everything. */
  get options() {
    if (!this.answer) return [];
    return this.kind === TRAVEL ? this.answer.routes : [...this.answer.garages, ...this.answer.rejected.filter(isWorse)];
  }

  /** What was considered but is not offered. */
  get rejected() {
    const { rejected = [] } = this.answer ?? {};
    return this.kind === TRAVEL ? rejected : rejected.filter((garage) => !isWorse(garage));
  }

  /** What somebody calls the place they go to, unless it is only known by where it is. */
  get toName() {
    const { to } = this.request;
    return to?.name && !to.isMe && !written(to.name) ? to.name : null;
  }

  option(id) {
    return [...this.options, ...this.rejected].find((each) => each.id === id);
  }

  /** Another request, not asked yet; what was answered before is no answer to it. */
  change(request) {
    this.request = { ...this.request, ...request };
    this.dispatchEvent(new Event('request'));
  }

  /** Ask for the plan; a newer question takes the place of one that is not answered yet. */
  async find(request = this.request) {
    const asking = (this.#asking += 1);
    this.request = request;
    this.isBusy = true;
    this.error = null;
    this.#changed();
    try {
      const { path, body } = asked(request);
      const answer = await ask(path, { method: 'POST', body });
      if (asking === this.#asking) this.#take({ answer, marked: null });
    } catch (error) {
      if (asking === this.#asking) this.#take({ answer: null, error, marked: null });
    }
  }

  /** Stop waiting for an answer. */
  cancel() {
    this.#asking += 1;
    this.#take({});
  }

  /** An answer that is known already, such as one that was kept. */
  show(request, answer) {
    this.#asking += 1;
    this.request = request;
    this.dispatchEvent(new Event('request'));
    this.#take({ answer, error: null, marked: null });
  }

  clear() {
    this.#asking += 1;
    this.#take({ answer: null, error: null, marked: null });
  }

  /** Look at one of the ways or garages (null: none); map and list show it. */
  mark(id) {
    if (this.marked === id) return;
    this.marked = id;
    this.dispatchEvent(new Event('mark'));
  }

  #take(news) {
    Object.assign(this, { isBusy: false, ...news });
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }
}

export const plans = new Plans();
