// Keeps the screen on while somebody is in a meeting or follows a trip, where the browser can.

export class WakeLock {
  #lock = null;
  #isWanted = false;

  constructor() {
    // A lock is lost with every look elsewhere.
    document.addEventListener('visibilitychange', () => this.#renew());
  }

  keep(isWanted) {
    if (this.#isWanted === isWanted) return;
    this.#isWanted = isWanted;
    this.#renew();
  }

  async #renew() {
    if (!this.#isWanted || document.visibilityState !== 'visible') {
      const lock = this.#lock;
      this.#lock = null;
      await lock?.release();
      return;
    }
    // Refused where the battery is low: then the screen goes dark as always.
    this.#lock ??= await navigator.wakeLock?.request('screen').catch(() => null) ?? null;
    this.#lock?.addEventListener('release', () => (this.#lock = null), { once: true });
  }
}
