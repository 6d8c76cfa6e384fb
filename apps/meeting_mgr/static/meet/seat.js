// One's own place in a meeting: what one sees of it, and what one does there.
import { ask, query } from 'citywise/api.js';
import { isOpen, MeetingStore, pathOf } from '../meetings/meeting-store.js';

const OWN = '/people/me';
const AGAIN_MS = 3000;
const GONE = [401, 403, 404, 410]; // The meeting knows one no more.

const pause = () => new Promise((resolve) => {
  setTimeout(resolve, AGAIN_MS);
  addEventListener('online', resolve, { once: true });
});

export class Seat extends MeetingStore {
  isLeaving = false;

  constructor(id) {
    super(id, OWN);
  }

  get me() {
    return this.view?.me ?? null;
  }

  /** The sensors whose sharing was ended, and that one has not noted. */
  get ended() {
    return this.me.ended.map(({ sensor }) => sensor);
  }

  get isThere() {
    return Boolean(this.me) && this.me.left === null && isOpen(this.view);
  }

  /** What the link leads to, before one joins; throws as `ask` does. */
  linked(key) {
    return ask(pathOf(this.id, `/join${query({ key })}`));
  }

  join(key, name, attendee) {
    return this.send('/people', { method: 'POST', body: { key, name, ...(attendee ? { attendee } : {}) } });
  }

  /** One's own word: `surroundings`, `hand` or `muted`. */
  say(word) {
    return this.send(OWN, { method: 'PUT', body: word });
  }

  /** Share these and no others; what was ended is shared again only where that is `noted`. */
  share(sensors, noted) {
    return this.send(`${OWN}/sharing`, { method: 'PUT', body: { sensors, noted } });
  }

  /** Let the meeting know when one arrives, or no longer. */
  tellArrival(tells) {
    return this.send(`${OWN}/arrival`, { method: 'PUT', body: { tells } });
  }

  /** Let the minutes say how long one spoke, if all agree, or no longer. */
  agreeTalkTime(agrees) {
    return this.send(`${OWN}/talk-time`, { method: 'PUT', body: { agrees } });
  }

  tell(reading) {
    return this.send(`${OWN}/readings`, { method: 'POST', body: reading });
  }

  /** Where and as whom to tell readings by MQTT. */
  mqtt() {
    return this.send(`${OWN}/mqtt`, { method: 'POST', body: {} });
  }

  /** Leave, however often it takes until the meeting has heard it; `isForgotten`: the minutes lose
   * what was concluded of one's sensors. */
  async leave(isForgotten) {
    this.isLeaving = true;
    for (;;) {
      try {
        await this.send(`${OWN}${isForgotten ? '?forget=true' : ''}`, { method: 'DELETE', keepalive: true });
        return;
      } catch (error) {
        if (GONE.includes(error.status)) return;
      }
      await pause();
    }
  }
}
