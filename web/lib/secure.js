// @ts-check
// How a secret leaves the page: one signed request to the vault's own address. Never over the socket, never into the
// store, a message, a draft or anything that this browser keeps.

import { base64url, sha256, utf8 } from './bytes.js';
import { mark } from './deciding.js';
import { devices, sign } from './keys.js';
import { announce, set, state } from './store.js';
import { timestamp } from './time.js';

/** @typedef {import('../protocol.js').Card} Card */

const UNKNOWN = 'Silas did not answer. If the card stays, nothing was stored: paste it again.';

/**
 * Hands a value to the vault. Whether it is there is what the vault's own record says, in the answer.
 * @param {Card} card @param {import('../protocol.js').SecureInput} wanted @param {string} value
 */
export async function give(card, wanted, value) {
  if (['signing', 'sent', 'recorded'].includes(state.decisions[card.id]?.phase)) return;
  mark(card, 'store', 'sent');
  let response;
  try {
    response = await post(`/secrets/${encodeURIComponent(wanted.ref_id)}`, JSON.stringify({ value }));
  } catch {
    return tell(card, 'failed', UNKNOWN);
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer?.stored === true) return tell(card, 'recorded', 'It is in the vault.');
  return tell(card, 'failed', answer?.message ? `${answer.message} ${answer.todo}` : UNKNOWN);
}

/** @param {string} path @param {string} body */
async function post(path, body) {
  const device = (await devices()).find((known) => known.installation === state.installation);
  if (!device) throw new Error('this browser is not paired');
  const claim = { key: device.key, timestamp: timestamp(), nonce: `n-${crypto.randomUUID()}` };
  /** @type {import('../protocol.js').WriteProof} */
  const proof = { kind: 'write', method: 'POST', path, body: await sha256(body), installation: device.installation, ...claim };
  const credentials = { ...claim, signature: await sign(device, proof), token: device.access ?? null };
  return fetch(path, {
    method: 'POST', body, cache: 'no-store', credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer',
    headers: { 'content-type': 'application/json', authorization: `Silas ${base64url(utf8(JSON.stringify(credentials)))}` },
  });
}

/** Says it on the card, or beside it if the card has left meanwhile. @param {Card} card @param {'recorded' | 'failed'} phase @param {string} message */
function tell(card, phase, message) {
  announce(message);
  if (state.cards.some(({ id }) => id === card.id)) mark(card, 'store', phase, message);
  else if (phase === 'failed') set({ problem: { code: '', message, todo: '' } });
}
