// @ts-check
// Cards that leave while somebody looks at them: decided on another device, or over. They stay for as long as it takes to
// see why, and never in the way of the next one.

import { activeCard, announce, set, state } from './store.js';
import { strict } from './text.js';
import { clock, serverNow } from './time.js';

/** @typedef {import('../protocol.js').Card} Card */

/** Long enough to read one line. */
const SHOWN_MS = 4000;

/** @type {Partial<Record<import('../protocol.js').CardKind, string>>} */
const APPROVED = { rehearsed: 'Applied', done: 'Undone', root: 'Allowed', model: 'Agreed', budget: 'Allowed', passkey: 'Registered', house_rules: 'Signed', unknown_effect: 'Answered' };
/** @type {Partial<Record<import('../protocol.js').CardKind, string>>} */
const DECLINED = { rehearsed: 'Discarded', unknown_effect: 'Answered' };

/** @param {Card} card @param {import('../protocol.js').Verdict} verdict */
function verb({ face: { kind } }, verdict) {
  if (verdict === 'approved') return APPROVED[kind] ?? 'Approved';
  return verdict === 'declined' ? DECLINED[kind] ?? 'Declined' : 'Sent back';
}

/** @param {import('../protocol.js').AnsweredView} answered */
export function answeredElsewhere({ card: id, verdict, device, at }) {
  const card = activeCard(state);
  // What was decided here is told by the button itself; what nobody looks at need not be told.
  if (card?.id !== id || state.decisions[id]) return;
  const words = `${verb(card, verdict)} on ${strict(device)}, ${clock(at)}`;
  const elsewhere = { card, words };
  set({ elsewhere, holding: null });
  announce(words);
  setTimeout(() => void (state.elsewhere === elsewhere && set({ elsewhere: null })), SHOWN_MS);
}

/** The clocks of two machines, and the second in which the server looks. */
const SLACK_MS = 2000;

/**
 * The done card that somebody looks at when its time for undoing ends, as long as nothing else waits.
 * @param {import('./store.js').State} shown
 * @param {Card[]} cards What is open from now on.
 * @returns {Card | null}
 */
export function leftBehind(shown, cards) {
  if (cards.length > 0) return null;
  const card = activeCard(shown);
  if (!card || card === shown.over) return shown.over;
  const isOver = card.face.kind === 'done' && card.offer !== null && Date.parse(card.offer.expires_at) <= serverNow() + SLACK_MS;
  return isOver && !shown.decisions[card.id] && !shown.elsewhere ? card : shown.over;
}
