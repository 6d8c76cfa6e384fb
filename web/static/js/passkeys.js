// Passkeys in the browser: making one for this city, and having one sign.
import { Said, ask } from './api.js';
import { t } from './strings.js';

/** Whether the browser has passkeys for this page: for a name, and not for a number. */
export const hasPasskeys = isSecureContext && 'PublicKeyCredential' in window && !/^[\d.]+$|^\[/.test(location.hostname);

const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
const text = (buffer) => btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const described = (known) => known.map(({ id, type }) => ({ type, id: bytes(id) }));

/** A new passkey, as the API takes it; `asked` is what it answered. */
export async function makePasskey(asked) {
  const made = await done('create', { ...asked, user: { ...asked.user, id: bytes(asked.user.id) }, excludeCredentials: described(asked.excludeCredentials) });
  return given(made, { attestationObject: made.response.attestationObject });
}

/** What a passkey signs, as the API takes it; `asked` is what it answered. */
export async function signWithPasskey(asked) {
  const signed = await done('get', { ...asked, allowCredentials: described(asked.allowCredentials) });
  const { authenticatorData, signature, userHandle } = signed.response;
  return given(signed, { authenticatorData, signature, ...(userHandle ? { userHandle } : {}) });
}

/** The second step of who is logged in: a code, or where none is given a passkey. */
export async function secondStep(code) {
  const { ask: asked } = code ? {} : await ask('/me/passkeys');
  return asked ? { passkey: await signWithPasskey(asked) } : { code: code ?? '' };
}

async function done(what, asked) {
  try {
    return await navigator.credentials[what]({ publicKey: { ...asked, challenge: bytes(asked.challenge) } });
  } catch (error) {
    throw new Said(t(error.name === 'InvalidStateError' ? 'fault.known-passkey' : 'passkey.none'));
  }
}

function given({ id, type, response }, more) {
  const told = Object.entries({ clientDataJSON: response.clientDataJSON, ...more }).map(([name, buffer]) => [name, text(buffer)]);
  return { id, rawId: id, type, response: Object.fromEntries(told) };
}
