// @ts-check
// Messages between "typed" and "in the Stream". They outlive the page, and are signed at the moment they are sent,
// because a signature carries the time.

import { all, put, remove } from './database.js';
import { sign } from './keys.js';
import { serverTime, timestamp } from './time.js';

/** @typedef {import('./store.js').Outgoing} Outgoing */

/** @returns {Promise<Outgoing[]>} */
export async function load() {
  const kept = await all('outbox');
  return kept.sort((a, b) => a.at - b.at);
}

/** @param {string} text @returns {Promise<Outgoing>} */
export async function keep(text) {
  /** @type {Outgoing} */
  const message = { id: crypto.randomUUID(), text, at: Date.now(), state: 'waiting' };
  await put('outbox', message);
  return message;
}

/** @param {import('./keys.js').Device} device @param {string} text @returns {Promise<import('../protocol.js').SignedMessage>} */
export async function signed(device, text) {
  const body = { text, timestamp: timestamp(), nonce: `n-${crypto.randomUUID()}`, installation: device.installation };
  return { body, signature: await sign(device, body) };
}

/** @param {Outgoing[]} outbox @param {string} id */
export const sent = (outbox, id) => outbox.map((kept) => (kept.id === id ? { ...kept, state: /** @type {const} */ ('sent') } : kept));

/** Clocks of two machines are never quite equal. */
const TOLERANCE_MS = 2000;

/**
 * The Stream has it, so it need not be kept. The same words said earlier are another message.
 * @param {Outgoing[]} outbox
 * @param {import('../protocol.js').Entry} entry
 */
export function arrived(outbox, entry) {
  if (entry.sender !== 'owner') return outbox;
  const at = Date.parse(entry.at) + TOLERANCE_MS;
  const found = outbox.find((kept) => kept.text === entry.text && serverTime(kept.at) <= at);
  return found ? dropped(outbox, found.id) : outbox;
}

/** The oldest one under way was not accepted. @param {Outgoing[]} outbox */
export function refused(outbox) {
  const at = outbox.findIndex((kept) => kept.state === 'sent');
  return at < 0 ? outbox : outbox.with(at, { ...outbox[at], state: 'refused' });
}

/** @param {Outgoing[]} outbox @param {string} id */
export function dropped(outbox, id) {
  void remove('outbox', id);
  return outbox.filter((kept) => kept.id !== id);
}
