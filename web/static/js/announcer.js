// Tells people who cannot see the page what opened and ended, a few words at a time.
import { city } from './city.js';
import { eventTitle } from './event-card.js';
import { wholeText } from './notice-words.js';
import { notices } from './notices.js';
import { t } from './strings.js';

const EVERY_MS = 4000;
const MOST = 3;

customElements.define('city-announcer', class extends HTMLElement {
  #waiting = { opened: [], cleared: [], withdrawn: [] };
  #notices = [];

  connectedCallback() {
    city.addEventListener('event.opened', (e) => this.#waiting.opened.push(e.detail));
    city.addEventListener('event.cleared', (e) => this.#waiting.cleared.push(e.detail));
    city.addEventListener('event.withdrawn', (e) => this.#waiting.withdrawn.push(e.detail));
    notices.addEventListener('told', ({ detail }) => detail.alert && this.#notices.push(detail));
    setInterval(() => this.#say(), EVERY_MS);
  }

  #say() {
    const sentences = Object.entries(this.#waiting)
      .filter(([, events]) => events.length)
      .map(([change, events]) => {
        const last = events.at(-1);
        const words = { count: events.length, what: eventTitle(last), where: last.place.name };
        return t(`announce.${change}`, words);
      });
    // What is told to this person comes first, and whole.
    sentences.unshift(...this.#notices.slice(-MOST).map((notice) => t('announce.notice', { title: notice.title, text: wholeText(notice) })));
    this.#waiting = { opened: [], cleared: [], withdrawn: [] };
    this.#notices = [];
    if (sentences.length) this.textContent = sentences.join(' ');
  }
});
