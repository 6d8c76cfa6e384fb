// A field for a place: searched by name, written as coordinates, tapped on the map, or oneself.
import { ask, query, wrong } from './api.js';
import { h, icon, setText } from './elements.js';
import { labelledField } from './labelled-field.js';
import { whereIAm } from './my-context.js';
import { knows, number, t } from './strings.js';
import { at } from './times.js';
import { city } from './city.js';
import { forgetRecentPoints, recentPoints } from './recent-points.js';
import { asPoint, savedPlaces } from './saved-places.js';

const HERE = /^(-?\d{1,3}(?:\.\d+)?)\s*[,; ]\s*(-?\d{1,3}(?:\.\d+)?)$/;
const WAIT_MS = 140;
const LEAST_LETTERS = 2;
const ICONS = { me: 'locate', home: 'star', work: 'star', saved: 'star', recent: 'clock', garage: 'parking', street: 'plan', junction: 'junction', point: 'pin', event: 'star', venue: 'star', place: 'star' };

/** A point that somebody wrote as latitude and longitude, or null. */
export function written(text) {
  const [, lat, lon] = text.trim().match(HERE) ?? [];
  return lat === undefined ? null : { lat: Number(lat), lon: Number(lon), name: text.trim() };
}

const me = () => ({ isMe: true, name: t('plan.me') });

/** Where the device is, as a point. */
async function located() {
  const { coords: { latitude: lat, longitude: lon, accuracy } } = await whereIAm();
  return { ...me(), lat, lon, accuracy };
}

const search = (text, near) => ask(`/places/search${query({ q: text, lat: near?.lat.toFixed(4), lon: near?.lon.toFixed(4), limit: 7 })}`);

/** The saved places whose name or address begins with `text`. */
async function saved(text) {
  const wanted = text.toLocaleLowerCase();
  const places = (await savedPlaces.load()).map((place) => ({ kind: place.kind === 'other' ? 'saved' : place.kind, point: asPoint(place) }));
  return places.filter(({ point: { name, detail } }) => [name, detail].some((words) => words.toLocaleLowerCase().startsWith(wanted)));
}

/**
 * The field of `name`. `near()` says around what to look first, `onPick()` lets somebody choose on
 * the map (without it neither the map nor where one is are offered), `onChange(point)` hears of each
 * new place.
 */
export function pointField({ name, title, help, near, onPick, onChange }) {
  let point = null;
  let options = [];
  let active = -1;
  let timer = null;
  let asking = 0;
  const listId = `places-${name}`;
  const input = h('input', {
    type: 'text', name, role: 'combobox', 'aria-autocomplete': 'list', 'aria-expanded': 'false', 'aria-controls': listId,
    autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', enterkeyhint: 'search', placeholder: t('plan.point.placeholder'),
  });
  const list = h('ul', { id: listId, role: 'listbox' });
  const forget = h('button', { type: 'button', class: 'link', onclick: () => { forgetRecentPoints(); input.focus(); suggest(); } }, t('plan.recent.forget'));
  const popup = h('div', { class: 'suggestions card', hidden: true }, list, forget);
  const said = h('span', { class: 'visually-hidden', role: 'status' });
  const clear = h('button', { type: 'button', class: 'inside', hidden: true, onclick: () => { set(null, true); input.focus(); } }, icon('remove'));
  const pick = h('button', { type: 'button', class: 'inside', 'aria-pressed': 'false', hidden: !onPick, onclick: () => onPick() }, icon('pin'));
  const box = h('div', { class: 'combobox' }, input, clear, pick, popup, said);
  const field = labelledField({ name, title, help, input, element: box });

  const isOpen = () => !popup.hidden;

  function call(words) {
    setText(field.element.querySelector('label'), words);
    list.setAttribute('aria-label', words);
    clear.setAttribute('aria-label', t('plan.point.clear', { title: words }));
    pick.setAttribute('aria-label', t('plan.point.pick', { title: words }));
  }

  function close() {
    popup.hidden = true;
    active = -1;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  }

  function show(found, words) {
    options = found;
    active = -1;
    input.removeAttribute('aria-activedescendant');
    popup.querySelector('.fell-back')?.remove();
    list.replaceChildren(...found.map((option, index) => row(option, index)));
    forget.hidden = !found.some(({ kind }) => kind === 'recent');
    popup.hidden = found.length === 0;
    input.setAttribute('aria-expanded', String(found.length > 0));
    setText(said, words);
  }

  function row({ point: { name: title, detail, starts }, kind }, index) {
    const more = [knows(`plan.kind.${kind}`) && t(`plan.kind.${kind}`), detail, starts && at(Date.parse(starts), city.now())].filter(Boolean).join(' · ');
    return h('li', {
      role: 'option', id: `${listId}-${index}`, 'aria-selected': 'false',
      onmousedown: (event) => event.preventDefault(), onclick: () => choose(index),
    }, icon(ICONS[kind] ?? 'pin'), h('span', { class: 'option-words' }, h('span', {}, title), more ? h('span', { class: 'quiet' }, more) : null));
  }

  function move(step) {
    if (!isOpen()) return suggest();
    const count = options.length;
    list.children[active]?.setAttribute('aria-selected', 'false');
    active = active < 0 && step < 0 ? count - 1 : (active + step + count) % count;
    const chosen = list.children[active];
    chosen.setAttribute('aria-selected', 'true');
    chosen.scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', chosen.id);
    return undefined;
  }

  async function choose(index) {
    const { point: chosen, kind } = options[index];
    close();
    if (kind === 'me') await locate();
    else set(chosen, true);
  }

  async function locate() {
    input.value = t('plan.me');
    setText(said, t('context.looking'));
    box.dataset.busy = 'true';
    try {
      set(await located(), true);
      setText(said, t('plan.me.found'));
      return true;
    } catch (reason) {
      set(null, true);
      field.say(t(typeof reason === 'string' ? reason : 'context.unfound'));
      return false;
    } finally {
      delete box.dataset.busy;
    }
  }

  async function suggest() {
    const text = input.value.trim();
    const asked = (asking += 1);
    const there = written(text);
    if (there) return show([{ kind: 'point', point: there }], t('plan.found', { count: 1 }));
    if (point || text.length < LEAST_LETTERS) {
      const recent = recentPoints().map((each) => ({ kind: 'recent', point: each }));
      const kept = await saved('');
      if (asked !== asking || document.activeElement !== input) return undefined;
      return show([...(onPick ? [{ kind: 'me', point: me() }] : []), ...kept, ...recent], '');
    }
    try {
      const [kept, { found, left_out: number }] = await Promise.all([saved(text), search(text, near())]);
      if (asked !== asking || document.activeElement !== input) return undefined;
      const all = [...kept, ...found.map((each) => ({ kind: each.kind, point: each }))];
      show(all, t('plan.found', { count: all.length }));
      if (!all.length) field.say(t('plan.point.none', { text }));
      else if (number) popup.append(h('p', { class: 'quiet fell-back' }, t('plan.point.street', { number })));
    } catch (error) {
      if (asked === asking) field.say(wrong(error));
    }
    return undefined;
  }

  function set(next, tell = false) {
    point = next;
    input.value = next ? next.name ?? `${number(next.lat)}, ${number(next.lon)}` : '';
    box.toggleAttribute('data-me', Boolean(next?.isMe));
    clear.hidden = !input.value;
    field.say(null);
    close();
    if (tell) onChange(point);
  }

  /** What was written but not chosen from the list: the best place for it. */
  async function resolve() {
    const text = input.value.trim();
    if (point?.isMe && point.lat === undefined) return locate();
    if (point || !text) return true;
    try {
      const [kept] = await saved(text);
      const [best] = written(text) ? [written(text)] : kept ? [kept.point] : (await search(text, near())).found;
      if (best) set(best, true);
      else field.say(t('plan.point.none', { text }));
      return Boolean(best);
    } catch (error) {
      field.say(wrong(error));
      return false;
    }
  }

  call(title);
  input.addEventListener('input', (event) => {
    event.stopPropagation(); // The form's own listeners hear of places only.
    if (point) {
      point = null;
      box.removeAttribute('data-me');
      onChange(null);
    }
    field.say(null);
    clear.hidden = !input.value;
    clearTimeout(timer);
    timer = setTimeout(suggest, WAIT_MS);
  });
  input.addEventListener('focus', () => input.select());
  input.addEventListener('click', () => isOpen() || suggest());
  box.addEventListener('focusout', ({ relatedTarget }) => box.contains(relatedTarget) || close());
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) move(step);
    else if (event.key === 'Enter' && isOpen() && active >= 0) choose(active);
    else if (event.key === 'Escape' && isOpen()) close();
    else return;
    event.preventDefault();
  });

  return {
    ...field,
    input,
    call,
    set,
    value: () => point,
    picking: (isPicking) => pick.setAttribute('aria-pressed', String(isPicking)),
    focus: () => input.focus(),
    /** Whether there is a place if one `isNeeded`, found now where only its name is written. */
    async check(isNeeded = true) {
      if (!(await resolve())) return false;
      if (isNeeded && !point) field.say(t('plan.point.missing'));
      return !isNeeded || Boolean(point);
    },
  };
}
