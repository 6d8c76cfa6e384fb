// What happened in a meeting in words: of each entry one sentence, whenever it is read.
import { t } from 'citywise/strings.js';
import { verbs, withWhy } from './ability-words.js';
import { changeWords } from './proposal-words.js';

/** The sentence of each kind of entry, of a meeting's `view`; null where it tells the host nothing. */
const SENTENCES = {
  joined: ({ name, device = 1 }) => t(`meetings.changed.joined${device > 1 ? '.device' : ''}`, { name, n: device }),
  left: ({ name, removed }) => t(removed ? 'meetings.changed.removed' : 'meetings.changed.left', { name }),
  away: ({ name, is_away: isAway }) => t(`meetings.changed.${isAway ? 'away' : 'back'}`, { name }),
  hand: ({ name }) => t('meetings.changed.hand', { name }),
  arrival: ({ name, tells }) => t(`meetings.changed.arrival${tells ? '' : '.no'}`, { name }),
  presence: ({ name, presence }) => t(`meetings.changed.presence.${presence}`, { name }),
  abilities: ({ name, state, capabilities, because, again }) =>
    withWhy(t(`meetings.changed.${state}${again ? '.again' : ''}`, { name, what: verbs(capabilities, state === 'on' ? 'and' : 'or') }), because),
  item({ item, title }, { agenda }) {
    const isSensitive = agenda.find(({ id }) => id === item)?.sensitive;
    return t(`meetings.changed.item${isSensitive ? '.sensitive' : ''}`, { title });
  },
  proposal({ number, answer, option, automatic }, view) {
    const proposal = view.proposals.find((one) => one.number === number);
    if (!proposal) return null;
    const what = changeWords(view, proposal.options[option ?? 0]);
    return t(answer === 'accepted' && automatic ? 'meetings.proposal.automatic' : `meetings.changed.proposal.${answer}`, { what });
  },
  state: ({ state }) => t(`meetings.changed.${state}`),
};

/** How an entry is marked: capabilities by what became of them. */
const markOf = ({ kind, state }) => (kind === 'abilities' ? state : kind);

/** `{ id, at, kind, words }` of each entry that tells something, in their order. */
export const happenedWords = (entries, view) => entries
  .map((entry) => ({ id: entry.id, at: Date.parse(entry.at), kind: markOf(entry), words: SENTENCES[entry.kind]?.(entry, view) ?? null }))
  .filter(({ words }) => words);
