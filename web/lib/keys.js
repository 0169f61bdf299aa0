// @ts-check
// The key of this browser. It is made here, cannot be exported, and signs only canonical JSON.

import { base64url, sha256, utf8 } from './bytes.js';
import { canonical } from './canonical.js';
import { all, put, remove } from './database.js';
import { timestamp } from './time.js';

/** @typedef {import('../protocol.js').Signature} Signature */
/** @typedef {{ installation: string, key: string, public: string, name: string, pair: CryptoKeyPair, alg?: 'es256', access?: string | null }} Device `alg` unless it is Ed25519; `access` is what it shows at the network door besides. */

export class Unsupported extends Error {}

/** A new key, not yet known to anyone. @param {string} installation @returns {Promise<Device>} */
export async function generate(installation) {
  if (!globalThis.crypto?.subtle) throw new Unsupported('This address is not a secure one, so the browser holds no keys here.');
  let pair;
  /** @type {'es256' | undefined} */
  let alg;
  try {
    pair = /** @type {CryptoKeyPair} */ (await crypto.subtle.generateKey({ name: 'Ed25519' }, false, ['sign', 'verify']));
  } catch {
    // Browsers that do not know Ed25519 yet all know this one.
    try {
      pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify']);
      alg = 'es256';
    } catch (cause) {
      throw new Unsupported('This browser can make no keys that Silas knows.', { cause });
    }
  }
  const raw = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
  const key = `key-${(await sha256(raw)).slice(0, 32)}`;
  return { installation, key, public: base64url(raw), name: deviceName(navigator.userAgent), pair, ...(alg && { alg }) };
}

/** @returns {Promise<Device[]>} */
export const devices = () => all('devices');
/** @param {Device} device */
export const remember = (device) => put('devices', device);
/** @param {Device} device */
export const forget = (device) => remove('devices', device.installation);

/** Signs the canonical text of a value. @param {Device} device @param {object} body @returns {Promise<Signature>} */
export async function sign(device, body) {
  const how = device.alg === 'es256' ? { name: 'ECDSA', hash: 'SHA-256' } : 'Ed25519';
  const bytes = await crypto.subtle.sign(how, device.pair.privateKey, utf8(canonical(body)));
  return { alg: device.alg ?? 'ed25519', key: device.key, sig: base64url(bytes) };
}

/** What takes something back; it can only take away, and is signed all the same. @param {Device} device @param {number} epoch @param {import('../protocol.js').Withdrawn} what @param {{ key: string, sign: (body: object) => Promise<Signature> }} [signer] Another key than this browser's. */
export async function signWithdrawal(device, epoch, what, signer = { key: device.key, sign: (body) => sign(device, body) }) {
  /** @type {import('../protocol.js').WithdrawalBody} */
  const body = { kind: 'withdrawal', installation: device.installation, epoch, key: signer.key, what, nonce: `n-${crypto.randomUUID()}`, timestamp: timestamp() };
  return { body, signature: await signer.sign(body) };
}

/**
 * Six digits by which a person recognises a key. The terminal computes them from the key that was paired: `digits` in
 * crates/silas-core/src/device.rs.
 * @param {Pick<Device, 'installation' | 'public'>} device
 */
export async function digits({ installation, public: key }) {
  const hash = await sha256(canonical(['v1', 'device-digits', installation, key]));
  const number = String(Number.parseInt(hash.slice(0, 12), 16) % 1_000_000).padStart(6, '0');
  return `${number.slice(0, 3)} ${number.slice(3)}`;
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
