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
/** @typedef {{ face: Face, offer: Offer | null, show_first?: Offer, payload: string | null, instead?: import('../protocol.js').Instead }} Question */

/** What stands at the top of a card that asks for a rehearsal and for nothing else. */
const REHEARSAL = 'Rehearsal';

/** Which kind of approval each card may carry; a report carries none. A conflict asks for a plan, or to be shown one first. @type {Partial<Record<import('../protocol.js').CardKind, import('../protocol.js').Kind>>} */
const KINDS = { pairing: 'house_rules', house_rules: 'house_rules', root: 'root', model: 'model', budget: 'budget', passkey: 'device', plan: 'plan', step: 'step', refusal: 'plan', unknown_effect: 'plan', conflict: 'plan', rehearsed: 'apply', done: 'undo' };

/**
 * Whether a card's offers are about exactly what the card shows. "Show me first" has an offer of its own, about the same
 * plan.
 * @param {Question} question
 * @param {string} installation
 */
export async function matches({ face, offer, show_first, payload, instead }, installation) {
  if (!offer || payload === null) return false;
  try {
    if (instead && !(await isConflict({ face, payload, instead }, installation))) return false;
    const parsed = JSON.parse(payload);
    // A payload in another spelling could say a key twice; then what is read here is not what was hashed.
    const sameText = canonical(parsed) === payload;
    // What was to be shown first is asked about again in the same way, and a parked plan may ask for a rehearsal instead:
    // then its card says so, and no other may.
    const asksAgain = ['unknown_effect', 'refusal', 'conflict'].includes(face.kind);
    const again = offer.kind === 'rehearsal' && (asksAgain || (face.kind === 'plan' && face.state === REHEARSAL && !show_first));
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

/**
 * A conflict that can be merged asks about two plans: one that brings both edits together, and the old one again.
 * @param {{ face: Face, payload: string, instead: import('../protocol.js').Instead }} question
 * @param {string} installation
 */
async function isConflict({ face, payload, instead }, installation) {
  const redo = JSON.parse(instead.payload);
  const mergesFirst = Boolean(JSON.parse(payload).sandbox?.merges) && !redo.sandbox?.merges;
  const isPlan = canonical(redo) === instead.payload && redo.type === 'task' && (instead.offer.kind === 'plan' || instead.offer.kind === 'rehearsal');
  return face.kind === 'conflict' && mergesFirst && isPlan && instead.offer.installation === installation
    && instead.offer.plan_hash === await sha256(instead.payload) && instead.offer.shown === await sha256(canonical(face));
}

/** What the checks and the changes on a card come to; the launcher compares it with what it found itself. @param {Face} face */
async function findings({ evidence, diffs }) {
  if (!evidence) return null;
  const { before, after } = evidence;
  const turned = before.flatMap(({ name, passed }, n) => (!passed && after[n]?.name === name ? [after[n]] : []));
  // What an older Silas found says nothing of what it stands on, and counts as it did then.
  const proves = ({ basis }) => !basis || (basis.by === 'tests' && !basis.changed?.length);
  const isProved = after.length > 0 && after.length === before.length && after.every(({ passed }) => passed)
    && turned.length > 0 && turned.every(proves);
  if (isProved !== (evidence.outcome === 'proved')) return null;
  return sha256(canonical({ after, before, diffs }));
}

/**
 * @param {import('./keys.js').Device} device
 * @param {Question} question
 * @param {Verdict} verdict
 * @param {'approve' | 'rehearse' | 'redo'} [press] Which offer is meant: the card's own, the one that shows it first, or the one that does it afresh.
 * @param {{ key: string, sign: (body: object) => Promise<import('../protocol.js').Signature> }} [signer] Another key than this browser's.
 * @returns {Promise<Token | null>} `null` when the card and the request differ.
 */
export async function answer(device, question, verdict, press = 'approve', signer = { key: device.key, sign: (body) => sign(device, body) }) {
  const offer = { approve: question.offer, rehearse: question.show_first, redo: question.instead?.offer }[press];
  if (!(await matches(question, device.installation)) || !offer) return null;
  const body = { offer, key: signer.key, verdict };
  return { body, signature: await signer.sign(body) };
}

/** The execution that a card is about, if it tells a result or its payload names one. @param {Question & { execution?: string }} question */
export function executionOf({ execution: told, face, offer, payload }) {
  if (told || face.versions) return told ?? face.versions?.execution ?? null;
  try {
    const execution = payload === null ? undefined : JSON.parse(payload).execution;
    if (typeof execution === 'string') return execution;
  } catch {
    return null;
  }
  return offer?.work_item_id.startsWith('exec-') ? offer.work_item_id : null;
}
