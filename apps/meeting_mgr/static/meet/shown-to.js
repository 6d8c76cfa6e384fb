// Who sees what one can do: the host, or everybody in the meeting; said when that is another.
import { h, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';
import { toast } from 'citywise/toast.js';

/** Whether all who take part see what each of them can do. */
export const isShownToAll = ({ shows_abilities: shown }) => Boolean(shown);

export function shownTo() {
  const element = h('p', { class: 'quiet' });
  let before = null;

  function update(view) {
    const isAll = isShownToAll(view);
    setText(element, t(isAll ? 'meet.shown.all' : 'meet.shown.host'));
    if (before === false && isAll) toast(t('meet.shown.changed'));
    before = isAll;
  }

  return { element, update };
}
