// My trips: those that are made again and again, and the way to repeat the one that was planned.
import { ask } from 'citywise/api.js';
import { city } from 'citywise/city.js';
import { attempt } from 'citywise/doing.js';
import { h, setText } from 'citywise/elements.js';
import { breath } from 'citywise/slices.js';
import { t } from 'citywise/strings.js';
import { at, localInput, onDate } from 'citywise/times.js';
import { toast } from 'citywise/toast.js';
import { user } from 'citywise/user.js';
import { plans } from './plans.js';
import { askRepeat, dayName } from './repeat-form.js';

const KEPT = ['name', 'request', 'at', 'by', 'weekdays', 'dates', 'skipped', 'until', 'paused', 'tell'];
const ANCHOR = '#my-trips';

const path = ({ id }, rest = '') => `/repeats/${encodeURIComponent(id)}${rest}`;
const dayMs = (day) => Date.parse(`${day}T12:00:00Z`);

/** What makes a trip again that was removed: of days and dates the one it has. */
const again = (one) => Object.fromEntries(KEPT.filter((name) => one[name] !== null).map((name) => [name, one[name]]));

function when(one) {
  const days = one.dates.length ? one.dates.map((day) => onDate(dayMs(day))) : one.weekdays.map((day) => dayName(day));
  return t(`repeat.when.${one.by}`, { days: days.join(', '), time: one.at });
}

function next({ next: run, paused }) {
  if (paused) return t('repeat.paused');
  if (!run) return t('repeat.over');
  const day = onDate(dayMs(run.day));
  if (!run.departs) return t('repeat.next', { day });
  return t('repeat.next.known', { day, departs: at(Date.parse(run.departs), Date.parse(run.departs)), arrives: at(Date.parse(run.arrives), Date.parse(run.arrives)) });
}

await breath(); // Each part of the page is a task of its own.
customElements.define('plan-repeats', class extends HTMLElement {
  #loading = null;

  connectedCallback() {
    this.list = h('ul', { class: 'cards' });
    this.summary = h('summary', {});
    this.whole = h('details', { class: 'why', id: ANCHOR.slice(1), hidden: true, open: location.hash === ANCHOR }, this.summary, this.list);
    this.append(this.whole);
    this.whole.addEventListener('toggle', () => this.whole.open && this.load());
    document.addEventListener('plan-repeat', () => this.#make());
    user.addEventListener('change', () => this.load());
    city.addEventListener('connected', () => this.load());
    this.load();
  }

  /** Once at a time: a page that begins is told several times whose it is. */
  load() {
    return (this.#loading ??= this.#load().finally(() => { this.#loading = null; }));
  }

  async #load() {
    if (!user.loaded) await user.load();
    const who = user.id;
    const found = who ? await ask('/repeats').catch(() => null) : { repeats: [] };
    if (who !== user.id) await this.#load();
    else if (found) this.#show(found.repeats);
  }

  #show(repeats) {
    this.whole.hidden = repeats.length === 0;
    setText(this.summary, t('repeat.mine', { count: repeats.length }));
    const held = this.contains(document.activeElement) ? document.activeElement.dataset.does : null;
    this.list.replaceChildren(...repeats.map((one) => this.#card(one)));
    if (held) (this.querySelector(`[data-does="${CSS.escape(held)}"]`) ?? this.summary).focus();
  }

  #card(one) {
    const skipped = one.skipped.filter((day) => dayMs(day) + 86_400_000 > city.now());
    const act = (word, what) => h('button', { type: 'button', class: 'button small', 'data-does': `${one.id} ${word}`, 'aria-label': `${t(`repeat.${word}`)}: ${one.name}`, onclick: what }, t(`repeat.${word}`));
    return h('li', { class: 'repeat', 'data-repeat': one.id },
      h('h3', {}, one.name), h('p', {}, when(one)), h('p', { class: 'quiet' }, next(one)),
      ...skipped.map((day) => h('p', { class: 'quiet' }, t('repeat.skipped', { day: onDate(dayMs(day)) }), ' ',
        h('button', { type: 'button', class: 'link', onclick: () => this.#do(() => ask(path(one, `/skipped/${day}`), { method: 'DELETE' }), t('repeat.kept')) }, t('repeat.keep')))),
      h('p', { class: 'actions' }, act('change', () => this.#change(one)),
        one.next && act('skip', () => this.#skip(one)), act(one.paused ? 'resume' : 'pause', () => this.#pause(one)), act('remove', () => this.#remove(one))));
  }

  #make() {
    if (!user.id) {
      toast(t('trip.login'), { focus: true });
      return;
    }
    const { answer, request } = plans;
    const clock = localInput(request.when ?? city.now()).slice(11);
    askRepeat({ name: request.to?.name ?? answer.to.name ?? '', at: clock, by: request.isArrival ? 'arrive' : 'depart' }, t('repeat.new'), async (body) => {
      await ask('/repeats', { method: 'POST', body: { ...body, plan: answer.plan } });
      await this.load();
      toast(t('repeat.made'));
      this.whole.open = true;
      this.whole.scrollIntoView({ block: 'nearest' });
      this.summary.focus();
    });
  }

  #change(one) {
    askRepeat(one, t('repeat.change'), async (body) => {
      await ask(path(one), { method: 'PATCH', body });
      await this.load();
    });
  }

  /** Do something to a trip; with `undo` the way back. */
  #do(what, said, undo = null) {
    const shown = (action) => async () => {
      await action();
      await this.load();
    };
    return attempt(shown(what), said, undo && shown(undo));
  }

  #skip(one) {
    const skip = path(one, `/skipped/${one.next.day}`);
    return this.#do(() => ask(skip, { method: 'PUT' }), t('repeat.skipped', { day: onDate(dayMs(one.next.day)) }), () => ask(skip, { method: 'DELETE' }));
  }

  #pause(one) {
    const put = (paused) => ask(path(one), { method: 'PATCH', body: { paused } });
    return this.#do(() => put(!one.paused), t(one.paused ? 'repeat.resumed' : 'repeat.paused'), () => put(one.paused));
  }

  #remove(one) {
    return this.#do(() => ask(path(one), { method: 'DELETE' }), t('repeat.removed'), () => ask('/repeats', { method: 'POST', body: again(one) }));
  }
});
