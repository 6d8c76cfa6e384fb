// The last plan stays on this device: without a connection it is shown again, with its age.
import { plans } from './plans.js';
import { keep, kept } from './trip-kept.js';
import { trips } from './trip-store.js';

/** `at`: when the plan that is shown was kept (ms, of the real clock); null: it is a fresh one. */
export const keptPlan = { at: null };
let shown = null;

plans.addEventListener('change', () => {
  if (!plans.answer || plans.answer === shown) return;
  keptPlan.at = null;
  keep('plan', { request: plans.request, answer: plans.answer }).catch(() => null);
});

trips.addEventListener('change', async () => {
  if (!trips.isOffline || plans.answer || plans.isBusy || shown) return;
  const before = await kept('plan');
  if (!before || plans.answer) return;
  shown = before.value.answer;
  keptPlan.at = before.at;
  plans.show(before.value.request, shown);
});
