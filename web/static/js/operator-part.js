// What the parts of the operator's page share: who sees them, and when they ask.
import { wrong } from './api.js';
import { h, keyed, setHidden, setText } from './elements.js';
import { t } from './strings.js';
import { user } from './user.js';

const EVERY_MS = 10_000;
const PAGE = 50;

/** A table that can be scrolled; `keys` are those of its headings, `rows` its body. */
export function table(label, keys, rows) {
  const headings = keys.map((key) => h('th', { scope: 'col' }, t(key)));
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
    h('table', {}, h('thead', {}, h('tr', {}, ...headings)), rows));
}

/**
 * A part has `build()`, `load()`, which asks, and `show(answer)`. It asks again and again, but
 * only while an admin sees it.
 */
export class OperatorPart extends HTMLElement {
  #asked = 0;

  connectedCallback() {
    this.fault = h('p', { class: 'field-error', role: 'alert' });
    this.append(this.fault);
    this.build();
    user.follow(() => this.refresh());
    this.closest('city-tabs')?.addEventListener('selected', () => this.refresh());
    setInterval(() => this.refresh(), EVERY_MS);
  }

  async refresh() {
    if (!user.has('admin') || document.hidden || !this.checkVisibility()) return;
    await this.asked(() => this.load(), (answer) => this.show(answer));
  }

  /**
   * `take` the answer to `question()`, or say why there is none; whether anything came of it:
   * answers may overtake each other, and only the one to the last question counts.
   */
  async asked(question, take) {
    const asked = ++this.#asked;
    const { answer, error = null } = await Promise.resolve(question()).then((answer) => ({ answer }), (error) => ({ error }));
    if (asked !== this.#asked) return false;
    if (!error) take(answer);
    setText(this.fault, error ? wrong(error) : '');
    return true;
  }

  /** Take no answer to what was asked so far: it is about something else. */
  drop() {
    this.#asked += 1;
  }
}

/**
 * A part that lists the newest of many, and older ones when asked. It has `build()`, which puts
 * `pages()` somewhere, `page(before)`, which asks for `{ rows, next }`, `key(row)`, and `item(row)`,
 * an element whose `update(row)`, if it has one, brings it up to date.
 */
export class OperatorPages extends OperatorPart {
  #rows = [];
  #next = null;
  #isLookingBack = false; // Until the older ones are there.

  /** The list, what is said where nothing is in it, and the button for more. */
  pages(none, attributes = {}) {
    this.list = h('ul', { class: 'letters' });
    this.empty = h('p', { class: 'empty', hidden: true, ...attributes }, none);
    this.more = h('button', { type: 'button', class: 'button', hidden: true, onclick: () => this.#older() }, t('letters.more'));
    return [this.list, this.empty, this.more];
  }

  /** The query of a page. */
  wanted(before) {
    return { limit: PAGE, before };
  }

  /** Begin again with the newest, wherever somebody reads. */
  restart() {
    this.drop();
    [this.#rows, this.#isLookingBack] = [[], false];
    return this.refresh();
  }

  async refresh() {
    if (!this.#isLookingBack) await super.refresh();
  }

  load() {
    return this.#isReadFurther ? null : this.page(null);
  }

  show(answer) {
    if (answer === null || this.#isReadFurther) return;
    this.#draw(answer.rows, answer.next);
  }

  // The list would begin anew.
  get #isReadFurther() {
    return this.#rows.length > PAGE;
  }

  // The button is not disabled meanwhile: it would lose the focus.
  async #older() {
    if (this.#isLookingBack) return;
    this.#isLookingBack = true;
    const isOver = await this.asked(() => this.page(this.#next), ({ rows, next }) => this.#draw([...this.#rows, ...rows], next));
    if (isOver) this.#isLookingBack = false;
  }

  #draw(rows, next) {
    const first = this.#rows.length; // Of what is older.
    [this.#rows, this.#next] = [rows, next];
    keyed(this.list, rows, (row) => this.key(row), (row) => this.item(row), (item, row) => item.update?.(row));
    this.empty.hidden = rows.length > 0;
    setHidden(this.more, next === null, () => this.list.children[first]?.querySelector('summary'));
  }
}
