// Which sensors are shared: the person's own word holds here at once, and is repeated until the
// meeting has heard it. Nothing that they switched off is started by what the meeting answers.
import { keepOff, off } from './kept.js';

const AGAIN_MS = 3000;

export class OwnSharing {
  isOver = false; // Nothing is shared any more, whatever the meeting says.
  #seat;
  #sensing;
  #wished = null; // What is to be shared, until the meeting has answered.
  #off; // What was switched off here, and the meeting may not have heard so far.
  #silenced = new Set(); // What was switched off here, heard or not.
  #noted = new Set(); // Whose ending the person has seen, until the meeting has answered.
  #isSending = false;
  #triedAt = -Infinity;
  #refused = null; // Why the meeting did not take what it was told last.

  constructor(seat, sensing) {
    this.#seat = seat;
    this.#sensing = sensing;
    this.#off = new Set(off(seat.id));
    addEventListener('online', () => (this.#triedAt = -Infinity));
  }

  get names() {
    if (this.isOver) return [];
    const isOff = (name) => this.#off.has(name) || this.#silenced.has(name);
    return (this.#wished ?? this.#seat.me.sharing).filter((name) => !isOff(name));
  }

  /** Whether the meeting still takes something to be shared that is not. */
  get isUnheard() {
    return this.#seat.me.sharing.some((name) => this.#off.has(name));
  }

  /** Share exactly these; gives back why what is new among them could not be told, or null. */
  async choose(names) {
    const added = names.filter((name) => !this.names.includes(name));
    this.#silence(this.names.filter((name) => !names.includes(name)));
    for (const name of names) [this.#off, this.#silenced].forEach((set) => set.delete(name));
    for (const name of this.#seat.ended) if (added.includes(name)) this.#noted.add(name);
    this.#keep();
    this.#wished = names;
    this.#sensing.allow(added);
    this.apply();
    await this.#tell();
    return added.some((name) => this.#silenced.has(name)) ? this.#refused : null;
  }

  /** Leave off what the meeting has ended; gives back why that could not be told, or null. */
  async note() {
    for (const name of this.#seat.ended) this.#noted.add(name);
    this.#wished = this.names;
    await this.#tell();
    return this.#refused;
  }

  /** Stop everything here; nothing starts again but by the person. */
  stop() {
    this.#silence([...this.names, ...this.#seat.me.sharing]);
    this.#wished = null;
    this.#keep();
    this.#sensing.close();
  }

  /** Bring the sensors to what holds, and tell the meeting again what it has not heard. */
  apply() {
    if (this.#sensing.offered) this.#sensing.share(this.names);
    if (this.isUnheard && !this.#wished && performance.now() - this.#triedAt >= AGAIN_MS) this.#repeat();
  }

  #repeat() {
    this.#wished = this.names;
    this.#tell();
  }

  async #tell() {
    while (this.#wished && !this.#isSending) {
      const names = this.#wished;
      this.#isSending = true;
      this.#refused = await this.#seat.share(names, [...this.#noted]).then(() => null, (error) => error);
      this.#isSending = false;
      this.#triedAt = performance.now();
      if (this.#wished === names) this.#answered(names);
    }
  }

  #answered(names) {
    this.#wished = null;
    this.#noted.clear();
    if (!this.#refused) this.#off.clear();
    else this.#silence(names.filter((name) => !this.#seat.me.sharing.includes(name)));
    this.#keep();
  }

  #silence(names) {
    for (const name of names) [this.#off, this.#silenced].forEach((set) => set.add(name));
  }

  #keep() {
    keepOff(this.#seat.id, [...this.#off]);
  }
}
