// The apps that are installed, in the page's language, each asked for once.
import { ask, query } from './api.js';
import { language } from './strings.js';

const asked = new Map();

/** An app with its templates, their parameters and kinds of notices; throws as `ask` does. */
export function wholeApp(name) {
  if (!asked.has(name)) {
    const answer = ask(`/apps/${name}${query({ lang: language })}`);
    answer.catch(() => asked.delete(name));
    asked.set(name, answer);
  }
  return asked.get(name);
}

/** All apps, as `wholeApp` gives them; those that cannot be had are left out. */
export async function allApps() {
  const { apps } = await ask(`/apps${query({ lang: language })}`).catch(() => ({ apps: [] }));
  const found = await Promise.all(apps.map(({ name }) => wholeApp(name).catch(() => null)));
  return found.filter(Boolean);
}
