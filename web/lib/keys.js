// @ts-check
// The key of this browser. It is made here, cannot be exported, and signs only canonical JSON.

import { base64url, sha256, utf8 } from './bytes.js';
import { canonical } from './canonical.js';
import { all, put, remove } from './database.js';
import { timestamp } from './time.js';

/** @typedef {import('../protocol.js').Signature} Signature */
/** @typedef {{ installation: string, key: string, public: string, name: string, pair: CryptoKeyPair, access?: string | null }} Device `access` is what it shows at the network door besides. */

export class Unsupported extends Error {}

/** A new key, not yet known to anyone. @param {string} installation @returns {Promise<Device>} */
export async function generate(installation) {
  if (!globalThis.crypto?.subtle) throw new Unsupported('This address is not a secure one, so the browser holds no keys here.');
  let pair;
  try {
    pair = /** @type {CryptoKeyPair} */ (await crypto.subtle.generateKey({ name: 'Ed25519' }, false, ['sign', 'verify']));
  } catch (cause) {
    throw new Unsupported('This browser cannot make Ed25519 keys.', { cause });
  }
  const raw = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
  const key = `key-${(await sha256(raw)).slice(0, 32)}`;
  return { installation, key, public: base64url(raw), name: deviceName(navigator.userAgent), pair };
}

/** @returns {Promise<Device[]>} */
export const devices = () => all('devices');
/** @param {Device} device */
export const remember = (device) => put('devices', device);
/** @param {Device} device */
export const forget = (device) => remove('devices', device.installation);

/** Signs the canonical text of a value. @param {Device} device @param {object} body @returns {Promise<Signature>} */
export async function sign(device, body) {
  const bytes = await crypto.subtle.sign('Ed25519', device.pair.privateKey, utf8(canonical(body)));
  return { alg: 'ed25519', key: device.key, sig: base64url(bytes) };
}

/** What takes something back; it can only take away, and is signed all the same. @param {Device} device @param {number} epoch @param {import('../protocol.js').Withdrawn} what */
export async function signWithdrawal(device, epoch, what) {
  /** @type {import('../protocol.js').WithdrawalBody} */
  const body = { kind: 'withdrawal', installation: device.installation, epoch, key: device.key, what, nonce: `n-${crypto.randomUUID()}`, timestamp: timestamp() };
  return { body, signature: await sign(device, body) };
}

/** Shows that whoever holds the code also holds this key. @param {string} code @param {string} publicKey */
export async function pairingProof(code, publicKey) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', utf8(code), algorithm, false, ['sign']);
  return base64url(await crypto.subtle.sign('HMAC', key, utf8(`silas-pair ${publicKey}`)));
}

/** "Chromium on Linux": what the owner will read beside decisions taken here. @param {string} agent */
export function deviceName(agent) {
  /** @param {[RegExp, string][]} table */
  const first = (table, otherwise = '') => table.find(([pattern]) => pattern.test(agent))?.[1] ?? otherwise;
  const browser = first([[/Edg\//, 'Edge'], [/Firefox\//, 'Firefox'], [/Chrom(e|ium)\//, 'Chromium'], [/Safari\//, 'Safari']], 'Browser');
  const system = first([[/Android/, 'Android'], [/iPhone/, 'iPhone'], [/iPad/, 'iPad'], [/Windows/, 'Windows'], [/Mac OS X/, 'Mac'], [/CrOS/, 'ChromeOS'], [/Linux/, 'Linux']]);
  return system ? `${browser} on ${system}` : browser;
}
