// How readings come to the meeting: by MQTT where there is a broker for browsers, else, and
// whenever that is broken, by POST.
import { MqttLink } from './mqtt-link.js';

export class Telling {
  #seat;
  #link = null;
  #isAsked = false; // Whether the broker was asked for.
  #turn = 0; // Grows when all is closed: what was asked for before is wanted no more.

  constructor(seat) {
    this.#seat = seat;
  }

  /** Tell values of sensors; throws as `ask` does where nothing could be reached. */
  async tell(values) {
    if (!this.#isAsked) this.#open();
    const body = { at: new Date().toISOString(), values };
    const isTaken = await this.#link?.tell(body);
    if (!isTaken) await this.#seat.tell(body);
  }

  async #open() {
    const turn = this.#turn;
    this.#isAsked = true;
    try {
      const { mqtt } = await this.#seat.mqtt();
      if (mqtt && turn === this.#turn) this.#link = new MqttLink(mqtt);
    } catch {
      if (turn === this.#turn) this.#isAsked = false; // Asked again with the next message.
    }
  }

  /** End what there is; whatever is told later begins anew. */
  close() {
    this.#turn += 1;
    this.#isAsked = false;
    this.#link?.close();
    this.#link = null;
  }
}
