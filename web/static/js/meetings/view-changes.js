// What is otherwise in a later view of a meeting than in the one before, in words.
import { t } from '../strings.js';
import { abilityOf, CAPABILITIES, reasons, verbs } from './ability-words.js';
import { changeWords } from './proposal-words.js';

const LAST = { on: 0, unknown: 1, off: 2 };

/** `[{kind, words}]` in the order in which a host wants to know: proposals last, as they follow. */
export function changesBetween(before, view) {
  return [...itemChanges(before, view), ...view.people.flatMap((person) => personChanges(before.people.find(({ id }) => id === person.id), person)), ...proposalChanges(before, view)];
}

function itemChanges(before, view) {
  if (before.state !== view.state) return [{ kind: 'meeting', words: t(`meetings.changed.${view.state}`) }];
  const item = view.agenda.find(({ id }) => id === view.current?.item);
  return item && before.current?.item !== item.id ? [{ kind: 'meeting', words: t(`meetings.changed.item${item.sensitive ? '.sensitive' : ''}`, { title: item.title }) }] : [];
}

function personChanges(before, person) {
  const { name } = person;
  const told = (kind, key) => [{ kind, words: t(key, { name }) }];
  if (!before || (before.left && !person.left)) return told('people', 'meetings.changed.joined');
  if (person.left) return before.left ? [] : told('people', 'meetings.changed.left');
  const place = person.presence?.state ?? 'unknown';
  return [
    ...abilityChanges(before, person),
    ...(place !== (before.presence?.state ?? 'unknown') ? told('presence', `meetings.changed.presence.${place}`) : []),
    ...(person.hand && !before.hand ? told('hand', 'meetings.changed.hand') : []),
  ];
}

/** Capabilities that went the same way for the same reasons are told in one sentence. */
function abilityChanges(before, person) {
  const groups = new Map();
  for (const capability of CAPABILITIES) {
    const { state, because } = abilityOf(person, capability);
    if (state === abilityOf(before, capability).state) continue;
    const key = `${state} ${because.join()}`;
    const group = groups.get(key) ?? { state, because, capabilities: [] };
    group.capabilities.push(capability);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => LAST[b.state] - LAST[a.state]).map(({ state, because, capabilities }) => {
    const what = t(`meetings.changed.${state}`, { name: person.name, what: verbs(capabilities, state === 'on' ? 'and' : 'or') });
    return { kind: state, words: because.length ? t('meetings.why', { what, why: reasons(because) }) : what };
  });
}

function proposalChanges(before, view) {
  return view.proposals.flatMap((proposal) => {
    const old = before.proposals.find(({ number }) => number === proposal.number);
    const isNew = !old && proposal.answer === 'open';
    const isDone = proposal.automatic && proposal.answer === 'accepted' && old?.answer !== 'accepted';
    if (!isNew && !isDone) return [];
    const what = changeWords(view, proposal.options[proposal.chosen ?? 0]);
    return [{ kind: 'proposal', words: t(isNew ? 'meetings.changed.proposal' : 'meetings.proposal.automatic', { what }) }];
  });
}
