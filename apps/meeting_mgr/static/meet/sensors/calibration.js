// What a microphone's level means in dB: known only after somebody has said how loud it is.
const KEPT = 'citywise-noise-offset';

/** What full scale is in dB on most phones and laptops; off by some 10 dB on many. */
const USUAL = 105;

/** How loud a quiet room is, in dB. */
export const QUIET_ROOM = 35;

const SMOOTH = 0.3; // Of each level heard, in the one that is calibrated with.

class Calibration extends EventTarget {
  #level = null;

  /** What to add to a level in dB below full scale. */
  get offset() {
    const kept = localStorage.getItem(KEPT);
    return kept === null ? USUAL : Number(kept);
  }

  get isDone() {
    return localStorage.getItem(KEPT) !== null;
  }

  /** How loud it is now in dB, as the person alone is shown it; null: nothing is heard. */
  get now() {
    return this.#level === null ? null : this.#level + this.offset;
  }

  heard(level) {
    this.#level = this.#level === null ? level : this.#level + SMOOTH * (level - this.#level);
    this.dispatchEvent(new Event('change'));
  }

  silent() {
    this.#level = null;
    this.dispatchEvent(new Event('change'));
  }

  /** It is `decibels` loud now. */
  set(decibels) {
    if (this.#level === null) return;
    localStorage.setItem(KEPT, String(Math.round((decibels - this.#level) * 10) / 10));
    this.dispatchEvent(new Event('change'));
  }

  forget() {
    localStorage.removeItem(KEPT);
    this.dispatchEvent(new Event('change'));
  }
}

export const calibration = new Calibration();
