// @ts-check
// Passkeys: made and asked here, kept by the authenticator, which wants a finger, a face or a PIN each time. What it signs
// is the hash of exactly what is approved.

import { base64url, bytes, utf8 } from './bytes.js';
import { canonical } from './canonical.js';

/** @typedef {import('../protocol.js').DeviceView} DeviceView */

/** Said to people, in place. */
export class NoPasskey extends Error {}

/** What can be asked of the owner's passkeys on this page. @param {DeviceView[]} devices */
export function passkeys(devices) {
  const known = devices.filter(({ kind, is_revoked }) => kind === 'passkey' && !is_revoked);
  return { known, here: known.filter(({ site }) => site?.rp_id === location.hostname) };
}

/** Why this page can have no passkeys, if it cannot. */
export function unavailable() {
  if (/^[\d.]+$|:/.test(location.hostname)) return `Passkeys belong to a name, and this page is at a number. Open Silas by its name; on its own machine that is http://localhost.`;
  if (!globalThis.isSecureContext || !globalThis.PublicKeyCredential) return 'This browser has no passkeys at this address.';
  return null;
}

/** @param {unknown} cause */
function inWords(cause) {
  const name = cause instanceof DOMException ? cause.name : '';
  if (name === 'InvalidStateError') return new NoPasskey('This device has a passkey for Silas already.');
  if (name === 'NotAllowedError') return new NoPasskey('The passkey was not used. Nothing was signed.');
  return new NoPasskey('The passkey did not answer as it should. Nothing was signed.', { cause });
}

/**
 * Makes a passkey. It counts only once the owner has approved it in its card.
 * @param {string} device What this browser is called.
 * @param {DeviceView[]} devices
 */
export async function create(device, devices) {
  const problem = unavailable();
  if (problem) throw new NoPasskey(problem);
  const { here } = passkeys(devices);
  let made;
  try {
    made = /** @type {PublicKeyCredential | null} */ (await navigator.credentials.create({
      publicKey: {
        rp: { id: location.hostname, name: 'Silas' },
        user: { id: crypto.getRandomValues(new Uint8Array(16)), name: 'Silas', displayName: 'Silas' },
        // Nothing is attested, so nobody would look at it.
        challenge: crypto.getRandomValues(new Uint8Array(32)),
        pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
        attestation: 'none',
        authenticatorSelection: { userVerification: 'required', residentKey: 'preferred' },
        excludeCredentials: here.map(({ site }) => ({ type: 'public-key', id: bytes(site?.credential ?? '') })),
      },
    }));
  } catch (cause) {
    throw inWords(cause);
  }
  const answer = /** @type {AuthenticatorAttestationResponse | undefined} */ (made?.response);
  const spki = answer?.getPublicKey?.();
  if (!made || !spki) throw new NoPasskey('This browser does not tell the public key of a passkey.');
  const key = await crypto.subtle.importKey('spki', spki, { name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify']);
  const raw = await crypto.subtle.exportKey('raw', key);
  return { name: `Passkey of ${device}`.slice(0, 60), public: base64url(raw), site: { rp_id: location.hostname, credential: made.id } };
}

/**
 * Has the passkey sign the canonical text of a value.
 * @param {DeviceView} passkey
 * @param {object} body
 * @returns {Promise<import('../protocol.js').Signature>}
 */
export async function signWith(passkey, body) {
  const challenge = await crypto.subtle.digest('SHA-256', utf8(canonical(body)));
  let asserted;
  try {
    asserted = /** @type {PublicKeyCredential | null} */ (await navigator.credentials.get({
      publicKey: {
        rpId: passkey.site?.rp_id,
        challenge,
        userVerification: 'required',
        allowCredentials: [{ type: 'public-key', id: bytes(passkey.site?.credential ?? '') }],
      },
    }));
  } catch (cause) {
    throw inWords(cause);
  }
  if (!asserted) throw new NoPasskey('The passkey was not used. Nothing was signed.');
  const { authenticatorData, clientDataJSON, signature } = /** @type {AuthenticatorAssertionResponse} */ (asserted.response);
  return { alg: 'webauthn-es256', key: passkey.key, sig: [authenticatorData, clientDataJSON, signature].map(base64url).join('.') };
}

/** Whether a card is one for a passkey, where there is one; the engine and the launcher decide that by themselves. @param {import('../protocol.js').Card} card */
export const isForPasskey = ({ face, offer }) => face.risk === 'irreversible' || offer?.kind === 'device';

/** A key in an authenticator, as what signs. @param {import('../protocol.js').DeviceView} passkey */
export const signerOf = (passkey) => ({ key: passkey.key, sign: (/** @type {object} */ body) => signWith(passkey, body) });
