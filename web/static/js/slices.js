// Long work in slices: between two of them the browser draws, and hears who taps.

const SLICE_MS = 10;
/** Resolves once the browser had its turn. */
export const breath = () => globalThis.scheduler?.yield?.() ?? new Promise((done) => setTimeout(done));

/** Take all steps of a work, an iterator; in a page that nobody sees at once. */
export async function inSlices(steps) {
  let began = performance.now();
  while (!steps.next().done) {
    if (document.hidden || performance.now() - began < SLICE_MS) continue;
    await breath();
    began = performance.now();
  }
}
