// Consents as people give them: what each kind is used for, by which apps, and how long it is kept.
import { wrong } from './api.js';
import { allApps } from './catalogue.js';
import { consents, SUBJECTS } from './consents.js';
import { context } from './context.js';
import { h, setText } from './elements.js';
import { language, t } from './strings.js';
import { duration } from './times.js';
import { toast } from './toast.js';
import { user } from './user.js';

const HOURS = [1, 6, 24, 168];
const inWords = (hours) => duration(hours * 3600);

customElements.define('my-consents', class extends HTMLElement {
  connectedCallback() {
    this.cards = SUBJECTS.map((subject) => this.#card(subject));
    this.append(h('ul', { class: 'cards' }, ...this.cards.map(({ element }) => element)));
    consents.follow(() => this.#show());
    context.follow(() => this.#show());
    this.#findUses();
  }

  #card(subject) {
    const box = h('input', { type: 'checkbox', role: 'switch', id: `consent-${subject}`, 'aria-describedby': `consent-${subject}-for`,
      onchange: () => this.#change(subject, box.checked) });
    const state = h('span', { class: 'chip' });
    const uses = h('p', { class: 'quiet' });
    const hours = h('select', { id: `hours-${subject}`, onchange: () => this.#change(subject, box.checked, Number(hours.value) || null) });
    const kept = h('p', { class: 'kept' }, h('label', { for: hours.id }, t('consent.kept')), hours);
    const element = h('li', {}, h('article', { 'data-consent': subject },
      h('header', {}, h('h3', {}, h('label', { class: 'tick', for: box.id }, box, t(`consent.${subject}`))), state),
      h('p', { id: `consent-${subject}-for` }, t(`consent.${subject}.for`)), uses, kept));
    return { subject, element, box, state, uses, hours, kept };
  }

  #show() {
    for (const { subject, box, state, hours, kept } of this.cards) {
      const consent = consents.of(subject);
      box.disabled = consent === null;
      box.checked = consent?.given ?? false;
      kept.hidden = !box.checked;
      const known = context.knows(subject);
      state.hidden = known === null || user.testPerson !== null;
      setText(state, t(known ? 'consent.known' : 'consent.unknown'));
      this.#offer(hours, consent?.hours ?? null);
    }
  }

  #offer(select, chosen) {
    const usual = consents.usualHours;
    const possible = HOURS.filter((hours) => !usual || hours < usual);
    const offered = [...new Set(chosen ? [...possible, chosen] : possible)].sort((a, b) => a - b);
    const label = String([chosen, usual]);
    if (select.offered === label) return;
    select.offered = label;
    const first = h('option', { value: '' }, usual ? t('consent.usual', { time: inWords(usual) }) : t('consent.usually'));
    select.replaceChildren(first, ...offered.map((hours) => h('option', { value: hours }, inWords(hours))));
    select.value = chosen ?? '';
  }

  async #change(subject, given, hours) {
    const before = consents.of(subject);
    try {
      await consents.change(subject, given, hours);
      const name = t(`consent.${subject}`);
      if (before?.given !== given) toast(t(given ? 'consent.given' : 'consent.withdrawn', { what: name }));
      else toast(t('consent.saved', { what: name }));
      context.load();
    } catch (error) {
      toast(wrong(error));
      this.#show();
    }
  }

  async #findUses() {
    const apps = await allApps();
    const list = new Intl.ListFormat(language);
    for (const { subject, uses } of this.cards) {
      const users = apps.filter(({ templates }) => templates.some(({ asks }) => asks.includes(subject)));
      setText(uses, users.length ? t('consent.apps', { apps: list.format(users.map(({ title }) => title)) }) : t('consent.noapp'));
    }
  }
});
