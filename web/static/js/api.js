// Asking the API, and what it says when something is wrong.
const API = '/api/v1';

/** What the API refused: `errors` lists what is wrong with each field (`path`, `message`). */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? String(status));
    this.status = status;
    this.errors = problem.errors ?? [];
  }
}

/** The JSON answer; throws `Refused`, or what `fetch` throws where nothing can be reached. */
export async function ask(path, { method = 'GET', body } = {}) {
  const headers = { Accept: 'application/json' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const response = await fetch(API + path, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, answer);
  return answer;
}

/** A query string of those values that are there. */
export const query = (values) =>
  `?${new URLSearchParams(Object.entries(values).filter(([, value]) => value ?? false))}`;
