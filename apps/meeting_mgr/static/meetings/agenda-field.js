// The agenda as it is planned: its items in order, each a row.
import { t } from 'citywise/strings.js';
import { itemRow } from './item-row.js';
import { nextId, rowsField } from './rows-field.js';

const USUAL = { type: 'talk', speaker: null, minutes: 15, least_minutes: null, sensitive: false, needs: ['speak'], listeners: ['listen'], after: [] };

/** The field; `attendees()` are those who may speak, with `id` and `name`. */
export function agendaField({ attendees }) {
  const field = rowsField({
    name: 'agenda', title: t('meetings.agenda'), help: t('meetings.agenda.help'), addWord: t('meetings.item.add'), isOrdered: true,
    blank: (values) => ({ ...USUAL, id: nextId('i', values), title: '' }),
    makeRow: (value, whole) => itemRow(value, attendees, () => whole.rows().map((row) => row.brief()), () => refresh()),
    onChange: () => refresh(),
  });
  /** Names and titles that others of the form have changed. */
  const refresh = () => field?.rows().forEach((row) => row.refresh());
  return { ...field, refresh };
}
