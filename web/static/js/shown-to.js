// Parts of pages that only some people see: `data-for` says who, as a role or one of these.
import { user } from './user.js';

const FITS = {
  person: () => user.own !== null,
  developer: () => user.isDeveloping,
  developers: () => user.has('developer'),
  operators: () => user.isOperating,
  others: () => user.loaded && !user.has('admin'),
};

user.follow(() => {
  for (const part of document.querySelectorAll('[data-for]')) {
    const { for: who } = part.dataset;
    part.hidden = !(FITS[who]?.() ?? user.has(who));
  }
});
