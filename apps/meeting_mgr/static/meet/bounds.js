// Which values count as too noisy, too dark and so on: the host sets the bounds, and whoever
// shares a sensor is shown its bound and told when it is another.
import { number, t } from 'citywise/strings.js';
import { at } from 'citywise/times.js';
import { toast } from 'citywise/toast.js';

const FEW = 2; // Decimals.

const boundOf = (threshold) => threshold?.upper ?? threshold?.lower ?? null;

export class Bounds {
  #known = new Map(); // Of each sensor its bound, as last shown.
  #changed = new Map(); // Of each that is another than it was, since when.

  /** Take what the view says of the sensors `names`, and say what the host has changed of it. */
  heed({ rules }, names, now) {
    const others = [];
    for (const name of names) {
      const bound = boundOf(rules?.thresholds?.[name]);
      const before = this.#known.get(name);
      if (bound === null || before === bound) continue;
      this.#known.set(name, bound);
      if (before !== undefined) others.push(name);
    }
    for (const name of others) this.#changed.set(name, at(now, now));
    if (others.length) toast(t('meet.bounds.changed', { what: others.map((name) => this.#sentence(name)).join(' ') }));
  }

  /** “Counts as too noisy from 80 dB.”, or nothing where no bound is known. */
  words(name) {
    if (name === 'visible' || !this.#known.has(name)) return '';
    const since = this.#changed.get(name);
    return [this.#sentence(name), since && t('meet.bounds.since', { time: since })].filter(Boolean).join(' ');
  }

  #sentence(name) {
    const bound = this.#known.get(name);
    return name === 'visible' ? '' : t(`meet.bound.${name}`, { n: number(Number(bound.toFixed(FEW))) });
  }
}
