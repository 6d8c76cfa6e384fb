// Asking the API, and what it says when something is wrong.
import { knows, t } from './strings.js';
import { duration } from './times.js';

const API = '/api/v1';
const SAFE = ['GET', 'HEAD'];

/** Who asks: `csrf` belongs to the login; `mend` tries to put right why one was refused. */
export const asker = { csrf: null, mend: async () => false };

/** Problems that are about one field of what was sent, though the API names none. */
const FIELDS = { 'name-taken': 'name' };

/** What went wrong, in words for the reader. */
export class Said extends Error {}

/**
 * What the API refused: `kind` names the problem, `errors` lists what is wrong with each field
 * (`path`, `message`). What we have words for is said in the page's language.
 */
export class Refused extends Said {
  constructor(response, problem) {
    const kind = problem.type?.split(':').at(-1) ?? '';
    super(said(response, problem, kind));
    this.status = response.status;
    this.kind = kind;
    this.passkey = problem.passkey; // What a browser may be asked for a second step.
    this.subjects = problem.subjects ?? []; // What a person has not consented to.
    const about = FIELDS[kind] ? [{ path: FIELDS[kind], message: this.message }] : [];
    this.errors = problem.errors?.map((error) => ({ ...error, message: inWords(error) })) ?? about;
  }
}

const inWords = ({ code, message }) => (code && knows(`fault.${code}`) ? t(`fault.${code}`) : message);

function said({ status, headers }, { detail, title }, kind) {
  const wait = Number(headers.get('Retry-After'));
  if (status === 429 && wait) return t('api.wait', { time: duration(wait) });
  if (knows(`problem.${kind}`)) return t(`problem.${kind}`);
  return detail ?? title ?? String(status);
}

/** Words for what went wrong: what was said of it, or that the API cannot be reached. */
export const wrong = (error) => (error instanceof Said ? error.message : t('form.unreachable'));

/**
 * The JSON answer; throws `Refused`, or what `fetch` throws where nothing can be reached.
 * A login that has ended is mended where it can be, and the question asked once more. A `body`
 * that is a `Blob` goes as it is, with its type; with `keepalive` it goes though the page be closed.
 */
export async function ask(path, { method = 'GET', body, keepalive = false, again = true } = {}) {
  const headers = { Accept: 'application/json' };
  const isFile = body instanceof Blob;
  if (body !== undefined) headers['Content-Type'] = isFile ? body.type : 'application/json';
  if (asker.csrf && !SAFE.includes(method)) headers['X-CSRF-Token'] = asker.csrf;
  const response = await fetch(API + path, { method, headers, keepalive, body: isFile ? body : body && JSON.stringify(body) });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const refused = new Refused(response, answer);
  if (again && await asker.mend(refused, method)) return ask(path, { method, body, keepalive, again: false });
  throw refused;
}

/** A query string of those values that are there. */
export const query = (values) =>
  `?${new URLSearchParams(Object.entries(values).filter(([, value]) => value ?? false))}`;
