// @ts-check
// Pairing: the code of the printed address vouches for a new key, and the same tap signs the house rules.

import { answer } from './decision.js';
import { devices, digits, forget, generate, pairingProof, remember, signWithdrawal } from './keys.js';

/** @typedef {import('../protocol.js').PairingScreen} PairingScreen */
/** @typedef {import('./keys.js').Device} Device */
/** @typedef {{ screen: PairingScreen, old: Device | null, device: Device, digits: string }} Newcomer What is shown, the key that it is about, and the one that it replaces. */

/** A refusal of the server, in words for people. */
export class Refused extends Error {
  /** @param {{ code: string, message: string, todo: string }} answer */
  constructor({ code, message, todo }) {
    super(message);
    this.code = code;
    this.todo = todo;
  }
}

/** The code of `#pair=…`, taken out of the address bar at once. What the browser noted before that may stay: it is good once. */
export function takeCode() {
  const found = /^#pair=(.+)$/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, '', location.pathname + location.search);
  return decodeURIComponent(found[1]);
}

/** @param {string} query @returns {Promise<PairingScreen>} */
async function ask(query) {
  return read(await fetch(`/pair${query}`, { headers: { accept: 'application/json' }, cache: 'no-store' }));
}

/**
 * What the screen shows. A browser that has a key already gets a new one, and what the old one signed goes with it, so
 * the house rules may have to be signed again. The new key is made here, so that its digits can be compared before the tap.
 * @param {boolean} known Whether this Silas still knows the old key.
 * @returns {Promise<Newcomer>}
 */
export async function pairingScreen(known) {
  const screen = await ask('');
  const device = await generate(screen.installation);
  const shown = { screen, old: null, device, digits: await digits(device) };
  const old = (await devices().catch(() => [])).find(({ installation }) => installation === screen.installation) ?? null;
  if (!old || !known) return shown;
  return { ...shown, screen: await ask(`?replaces=${old.key}`), old };
}

/** @param {string} code @param {Newcomer} newcomer */
export async function pair(code, { screen, old, device }) {
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
    const replaces = old && (await signWithdrawal(old, screen.epoch, { device: old.key }));
    const response = await fetch('/pair', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ public: device.public, name: device.name, proof, house_rules: token, replaces }),
    });
    /** @type {import('../protocol.js').Paired} */
    const paired = await read(response);
    if (paired.certificate.body.key !== device.key || paired.installation !== device.installation) {
      throw new Refused({ code: 'other_key', message: 'Silas answered for another key. Nothing was paired.', todo: 'Reload and try again.' });
    }
    if (paired.access) await remember({ ...device, access: paired.access });
  } catch (problem) {
    // The old key is as good as before.
    await (old ? remember(old) : forget(device));
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
