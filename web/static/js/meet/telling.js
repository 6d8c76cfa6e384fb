// How readings come to the meeting: by MQTT where there is a broker for browsers, else, and
// whenever that is broken, by POST.
import { MqttLink } from './mqtt-link.js';

export class Telling {
  way = null; // `mqtt` or `post`: how the last message went.
  #seat;
  #link = null;
  #asked = null;

  constructor(seat) {
    this.#seat = seat;
  }

  /** Tell values of sensors; throws as `ask` does where nothing could be reached. */
  async tell(values) {
    this.#asked ??= this.#open();
    const body = { at: new Date().toISOString(), values };
    const isTaken = await this.#link?.tell(body);
    if (!isTaken) await this.#seat.tell(body);
    this.way = isTaken ? 'mqtt' : 'post';
  }

  async #open() {
    try {
      const { mqtt } = await this.#seat.mqtt();
      if (mqtt && this.#asked !== 'over') this.#link = new MqttLink(mqtt);
    } catch {
      this.#asked = null; // Asked again with the next message.
    }
  }

  close() {
    this.#asked = 'over';
    this.#link?.close();
    this.#link = null;
  }
}
