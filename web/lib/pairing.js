// @ts-check
// Pairing: the code of the printed address vouches for a new key, and the same tap signs the house rules.

import { answer } from './decision.js';
import { forget, generate, pairingProof, remember } from './keys.js';

/** @typedef {import('../protocol.js').PairingScreen} PairingScreen */

/** A refusal of the server, in words for people. */
export class Refused extends Error {
  /** @param {{ code: string, message: string, todo: string }} answer */
  constructor({ code, message, todo }) {
    super(message);
    this.code = code;
    this.todo = todo;
  }
}

/** The code of `#pair=…`, taken out of the address bar so that it is in no history. */
export function takeCode() {
  const found = /^#pair=(.+)$/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, '', location.pathname + location.search);
  return decodeURIComponent(found[1]);
}

/** @returns {Promise<PairingScreen>} */
export async function pairingScreen() {
  return read(await fetch('/pair', { headers: { accept: 'application/json' }, cache: 'no-store' }));
}

/** @param {string} code @param {PairingScreen} screen */
export async function pair(code, screen) {
  const device = await generate(screen.installation);
  const token = screen.house_rules && (await answer(device, screen.house_rules, 'approved'));
  if (screen.house_rules && !token) {
    throw new Refused({
      code: 'differs',
      message: 'These rules and the request differ. Nothing was signed.',
      todo: 'Reload, or pair from the terminal.',
    });
  }
  // The key is on disk before the server knows it: the other order could lose the only paired key.
  await remember(device);
  try {
    const proof = await pairingProof(code, device.public);
    const response = await fetch('/pair', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ public: device.public, name: device.name, proof, house_rules: token }),
    });
    /** @type {import('../protocol.js').Paired} */
    const paired = await read(response);
    if (paired.certificate.body.key !== device.key || paired.installation !== device.installation) {
      throw new Refused({ code: 'other_key', message: 'Silas answered for another key. Nothing was paired.', todo: 'Reload and try again.' });
    }
  } catch (problem) {
    await forget(device);
    throw problem;
  }
}

/** @param {Response} response */
async function read(response) {
  const body = await response.json().catch(() => ({
    code: 'unreadable',
    message: 'Silas gave an answer that this page cannot read. Nothing changed.',
    todo: 'Reload the page.',
  }));
  if (!response.ok || body.code === 'unreadable') throw new Refused(body);
  return body;
}
