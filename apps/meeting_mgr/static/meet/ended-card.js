// What the meeting has ended to take of one's sensors: why, and the choice to share it again.
import { button } from 'citywise/doing.js';
import { h, icon, keyed, setText } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';

/** The card; `again(names)` shares sensors again, `note()` leaves them off. */
export function endedCard(again, note) {
  let ended = [];
  const whys = h('div', { class: 'meet-ended-whys', role: 'status' });
  const answers = h('div', { class: 'actions' },
    button(t('meet.ended.again'), () => again(ended.map(({ sensor }) => sensor)), { primary: true }), button(t('meet.ended.leave'), () => note()));
  const element = h('div', { class: 'meet-asked meet-ended' }, icon('bell'), whys, answers);

  function update({ me }) {
    ({ ended } = me);
    const reasons = [...new Set(ended.map(({ because }) => because))];
    keyed(whys, reasons, (because) => because, () => h('p', {}), (line, because) => {
      const sensors = ended.filter((one) => one.because === because).map(({ sensor }) => t(`meet.sensor.${sensor}`));
      setText(line, t(`meet.ended.${because}`, { what: sensors.join(', ') }));
    });
  }

  return { element, update };
}
