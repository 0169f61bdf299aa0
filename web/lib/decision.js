// @ts-check
// What a decision signs. Before anything is signed the page recomputes both hashes of the offer from what it renders:
// `shown` from the card's face and `plan_hash` from the payload. If one differs, nothing can be signed.

import { sha256 } from './bytes.js';
import { canonical } from './canonical.js';
import { sign } from './keys.js';

/** @typedef {import('../protocol.js').Face} Face */
/** @typedef {import('../protocol.js').Offer} Offer */
/** @typedef {import('../protocol.js').Token} Token */
/** @typedef {import('../protocol.js').Verdict} Verdict */
/** @typedef {{ face: Face, offer: Offer | null, payload: string | null }} Question */

/** Which kind of approval each card may carry; a report or a conflict carries none. @type {Partial<Record<import('../protocol.js').CardKind, import('../protocol.js').Kind>>} */
const KINDS = { pairing: 'house_rules', house_rules: 'house_rules', root: 'root', model: 'model', budget: 'budget', plan: 'plan', done: 'undo' };

/**
 * Whether a card's offer is about exactly what the card shows.
 * @param {Question} question
 * @param {string} installation
 */
export async function matches({ face, offer, payload }, installation) {
  if (!offer || payload === null) return false;
  try {
    const parsed = JSON.parse(payload);
    // A payload in another spelling could say a key twice; then what is read here is not what was hashed.
    const sameText = canonical(parsed) === payload;
    const sameAuthority = KINDS[face.kind] === offer.kind;
    const sameKind = offer.kind === 'plan' ? parsed.type === 'task' : parsed.kind === offer.kind;
    return sameText && sameAuthority && sameKind
      && offer.installation === installation
      && offer.plan_hash === await sha256(payload)
      && offer.shown === await sha256(canonical(face));
  } catch {
    // Whatever cannot be read cannot be what was shown.
    return false;
  }
}

/**
 * @param {import('./keys.js').Device} device
 * @param {Question} question
 * @param {Verdict} verdict
 * @returns {Promise<Token | null>} `null` when the card and the request differ.
 */
export async function answer(device, question, verdict) {
  if (!(await matches(question, device.installation)) || !question.offer) return null;
  const body = { offer: question.offer, key: device.key, verdict };
  return { body, signature: await sign(device, body) };
}

/** The execution that a card is about, if its payload names one. @param {Question} question */
export function executionOf({ offer, payload }) {
  try {
    const execution = payload === null ? undefined : JSON.parse(payload).execution;
    if (typeof execution === 'string') return execution;
  } catch {
    return null;
  }
  return offer?.work_item_id.startsWith('exec-') ? offer.work_item_id : null;
}
