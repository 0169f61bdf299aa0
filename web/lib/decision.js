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
/** @typedef {{ face: Face, offer: Offer | null, show_first?: Offer, payload: string | null }} Question */

/** What stands at the top of a card that asks for a rehearsal and for nothing else. */
const REHEARSAL = 'Rehearsal';

/** Which kind of approval each card may carry; a report or a conflict carries none. @type {Partial<Record<import('../protocol.js').CardKind, import('../protocol.js').Kind>>} */
const KINDS = { pairing: 'house_rules', house_rules: 'house_rules', root: 'root', model: 'model', budget: 'budget', passkey: 'device', plan: 'plan', step: 'step', refusal: 'plan', unknown_effect: 'plan', rehearsed: 'apply', done: 'undo' };

/**
 * Whether a card's offers are about exactly what the card shows. "Show me first" has an offer of its own, about the same
 * plan.
 * @param {Question} question
 * @param {string} installation
 */
export async function matches({ face, offer, show_first, payload }, installation) {
  if (!offer || payload === null) return false;
  try {
    const parsed = JSON.parse(payload);
    // A payload in another spelling could say a key twice; then what is read here is not what was hashed.
    const sameText = canonical(parsed) === payload;
    // What was to be shown first is asked about again in the same way, and a parked plan may ask for a rehearsal instead:
    // then its card says so, and no other may.
    const again = offer.kind === 'rehearsal' && (face.kind === 'unknown_effect' || face.kind === 'refusal' || (face.kind === 'plan' && face.state === REHEARSAL && !show_first));
    if (face.kind === 'plan' && (face.state === REHEARSAL) !== again) return false;
    const sameAuthority = (KINDS[face.kind] === offer.kind || again) && (!show_first || (face.kind === 'plan' && show_first.kind === 'rehearsal'));
    const sameKind = offer.kind === 'plan' || again ? parsed.type === 'task' : parsed.kind === offer.kind;
    const sameFindings = offer.kind !== 'apply' || parsed.findings === await findings(face);
    const [plan, shown] = [await sha256(payload), await sha256(canonical(face))];
    const same = (/** @type {Offer} */ one) => one.installation === installation && one.plan_hash === plan && one.shown === shown;
    return sameText && sameAuthority && sameKind && sameFindings && same(offer) && (!show_first || same(show_first));
  } catch {
    // Whatever cannot be read cannot be what was shown.
    return false;
  }
}

/** What the checks and the changes on a card come to; the launcher compares it with what it found itself. @param {Face} face */
async function findings({ evidence, diffs }) {
  if (!evidence) return null;
  const { before, after } = evidence;
  const isProved = after.length > 0 && after.length === before.length && after.every(({ passed }) => passed)
    && before.some(({ name, passed }, n) => !passed && after[n].name === name);
  if (isProved !== (evidence.outcome === 'proved')) return null;
  return sha256(canonical({ after, before, diffs }));
}

/**
 * @param {import('./keys.js').Device} device
 * @param {Question} question
 * @param {Verdict} verdict
 * @param {boolean} [showFirst] Whether the other offer is meant: do it, and show me before anything is applied.
 * @param {{ key: string, sign: (body: object) => Promise<import('../protocol.js').Signature> }} [signer] Another key than this browser's.
 * @returns {Promise<Token | null>} `null` when the card and the request differ.
 */
export async function answer(device, question, verdict, showFirst = false, signer = { key: device.key, sign: (body) => sign(device, body) }) {
  const offer = showFirst ? question.show_first : question.offer;
  if (!(await matches(question, device.installation)) || !offer) return null;
  const body = { offer, key: signer.key, verdict };
  return { body, signature: await signer.sign(body) };
}

/** The execution that a card is about, if it tells a result or its payload names one. @param {Question & { execution?: string }} question */
export function executionOf({ execution: told, offer, payload }) {
  if (told) return told;
  try {
    const execution = payload === null ? undefined : JSON.parse(payload).execution;
    if (typeof execution === 'string') return execution;
  } catch {
    return null;
  }
  return offer?.work_item_id.startsWith('exec-') ? offer.work_item_id : null;
}
