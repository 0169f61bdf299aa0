// @ts-check
// Messages between "typed" and "in the Stream". They outlive the page, and are signed at the moment they are sent,
// because a signature carries the time.

import { all, put, remove } from './database.js';
import { sign } from './keys.js';
import { timestamp } from './time.js';

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

/**
 * The nonce is the message's own id: sent twice it counts once, and the Stream shows it under that id.
 * @param {import('./keys.js').Device} device @param {{ id: string, text: string }} message @param {string} [scope] The conversation that it is said in. @returns {Promise<import('../protocol.js').SignedMessage>}
 */
export async function signed(device, message, scope = 'owner') {
  const body = { text: message.text, timestamp: timestamp(), nonce: `n-${message.id}`, installation: device.installation, scope };
  return { body, signature: await sign(device, body) };
}

/** @param {Outgoing[]} outbox @param {string} id */
export const sent = (outbox, id) => outbox.map((kept) => (kept.id === id ? { ...kept, state: /** @type {const} */ ('sent') } : kept));

/**
 * The Stream has it, so it need not be kept.
 * @param {Outgoing[]} outbox
 * @param {import('../protocol.js').Entry} entry
 */
export function arrived(outbox, entry) {
  const found = outbox.find((kept) => entry.id === `msg-${kept.id}`);
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
