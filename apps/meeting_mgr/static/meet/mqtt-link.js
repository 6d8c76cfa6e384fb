// Readings by MQTT over WebSocket, as one of the meeting's publishers.
const LIBRARY = '/assets/vendor/mqtt/mqtt.esm.js';
const AGAIN_MS = 5000;
const SENT_WITHIN_MS = 3000;
const REFUSED = [4, 5, 134, 135]; // Bad credentials, not authorised.

/** Connects with what the API gave: `{ url, username, password, topic }`. */
export class MqttLink {
  isOver = false; // It was refused: another page of the same person has a newer password.
  #client = null;
  #topic;

  constructor(given) {
    this.#topic = given.topic;
    this.#open(given);
  }

  async #open({ url, username, password }) {
    try {
      const { default: mqtt } = await import(LIBRARY);
      if (this.isOver) return;
      const clientId = `${username}-${Math.random().toString(36).slice(2, 8)}`;
      this.#client = mqtt.connect(url, {
        username, password, clientId, protocolVersion: 4, clean: true, keepalive: 20, reconnectPeriod: AGAIN_MS,
        connectTimeout: SENT_WITHIN_MS, queueQoSZero: false, timerVariant: 'native',
      });
      this.#client.on('error', ({ code }) => REFUSED.includes(code) && this.close());
    } catch {
      this.close();
    }
  }

  get isOpen() {
    return !this.isOver && Boolean(this.#client?.connected);
  }

  /** Whether the broker has taken the message. */
  tell(body) {
    if (!this.isOpen) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), SENT_WITHIN_MS);
      this.#client.publish(this.#topic, JSON.stringify(body), { qos: 1 }, (error) => {
        clearTimeout(timer);
        resolve(!error);
      });
    });
  }

  close() {
    this.isOver = true;
    this.#client?.end(true);
  }
}
