// @ts-check
// What the owner answers to cards: signed or only said, sent once, and followed until Silas has it. A no to it outlives its
// card. Decides nothing itself.

import { answer } from './decision.js';
import { leftBehind } from './leaving.js';
import { LOST, line, send } from './line.js';
import * as notify from './notify.js';
import * as outbox from './outbox.js';
import * as pace from './pace.js';
import { NoPasskey, signerOf } from './passkeys.js';
import { announce, set, state } from './store.js';

/** @typedef {import('../protocol.js').Card} Card */

/** @param {import('../protocol.js').CardsUpdate} update @param {(fresh: Card[]) => object | undefined} next What follows from the new ones. */
export function cardsCame({ cards: told, n_more_cards }, next) {
  const cards = told.map(asKnown);
  const known = new Set(state.cards.map(({ id }) => id));
  const fresh = cards.filter(({ id, state: s }) => s === 'open' && !known.has(id));
  const kept = Object.entries(state.decisions).filter(([id]) => cards.some((card) => card.id === id && !isNew(card)));
  const holding = cards.some(({ id }) => id === state.holding) ? state.holding : null;
  notify.follow(cards);
  const unseen = Object.entries(state.decisions).find(([id, { phase }]) => phase === 'failed' && !kept.some(([stays]) => stays === id));
  if (unseen) outlive(unseen[1].message, cards.some(({ id }) => id === unseen[0]) ? ANEW : GONE);
  set({ cards, n_more_cards, holding, over: leftBehind(state, cards), decisions: Object.fromEntries(kept), ...next(fresh) });
  if (fresh.length > 0) announce(`New in Review: ${fresh.map(({ face }) => face.intent).join('; ')}`);
}

/** A card that is told again as it was stays the one that is shown, and what was found out about it holds. @param {Card} card */
function asKnown(card) {
  const before = state.cards.find(({ id }) => id === card.id);
  return before && JSON.stringify(before) === JSON.stringify(card) ? before : card;
}

/** Whether a card asks something else than it did, as after "Ask me again". @param {Card} card */
function isNew(card) {
  const before = state.cards.find(({ id }) => id === card.id);
  return before?.offer?.nonce !== card.offer?.nonce || before?.input?.expires_at !== card.input?.expires_at || before?.state !== card.state;
}

const GONE = 'Your answer was not recorded, and its card is gone. If you still want it, say it again in the Stream.';
const ANEW = 'Your answer was not recorded, and its card asks anew. Decide again.';

/** A no to a decision must not go with its card: it stands above everything until somebody closes it. @param {string} message @param {string} [todo] */
const outlive = (message, todo = GONE) => set({ problem: { code: '', message, todo, stays: true } });

/** @param {import('../protocol.js').Decided} answer */
export function decided({ request_id, recorded, message }) {
  const decision = state.decisions[request_id];
  if (!recorded && !state.cards.some(({ id }) => id === request_id)) outlive(message);
  if (!decision) return;
  const phase = recorded ? 'recorded' : 'failed';
  set({ decisions: { ...state.decisions, [request_id]: { ...decision, phase, message } }, holding: recorded ? null : state.holding, said: message });
}

/** What was just sent was not taken: so says every card whose answer is on its way. @param {string} message @returns {import('./store.js').State['decisions']} */
export function notTaken(message) {
  /** @type {[string, import('./store.js').Decision][]} */
  const decisions = Object.entries(state.decisions).map(([id, decision]) => [id, decision.phase === 'sent' ? { ...decision, phase: 'failed', message } : decision]);
  return Object.fromEntries(decisions);
}

/** How far an answer has come. @param {Card} card @param {string} press @param {import('./store.js').Decision['phase']} phase @param {string} [message] */
export function mark(card, press, phase, message = '') {
  if (phase === 'failed' && !state.cards.some(({ id }) => id === card.id)) outlive(message);
  set({ decisions: { ...state.decisions, [card.id]: { phase, press, message } } });
}

export const DIFFERS = 'This card and the request differ. Nothing was signed. Reload, or decide in the terminal.';

/** @type {Record<'approve' | 'rehearse' | 'redo' | 'decline' | 'change', import('../protocol.js').Verdict>} */
const VERDICTS = { approve: 'approved', rehearse: 'approved', redo: 'approved', decline: 'declined', change: 'edit_requested' };

/** Signs the card’s offer and sends it, once; says whether it went out. @param {Card} card @param {'approve' | 'rehearse' | 'redo' | 'decline' | 'change'} press @param {import('../protocol.js').DeviceView | null} [passkey] What signs instead of this browser. */
export async function decide(card, press, passkey = null) {
  if (!line.device || ['signing', 'sent', 'recorded'].includes(state.decisions[card.id]?.phase)) return false;
  mark(card, press, 'signing');
  const { n_lost } = line;
  let token;
  try {
    token = await answer(line.device, card, VERDICTS[press], press === 'rehearse' || press === 'redo' ? press : 'approve', passkey ? signerOf(passkey) : undefined);
  } catch (cause) {
    if (!(cause instanceof NoPasskey)) throw cause;
    mark(card, press, 'failed', cause.message);
    return false;
  }
  if (!token) {
    mark(card, press, 'failed', DIFFERS);
    return false;
  }
  const sent = sendSigned(n_lost, { type: 'approval_response', request_id: card.id, token });
  mark(card, press, sent ? 'sent' : 'failed', sent ? '' : LOST);
  if (sent) void pace.decided(card, performance.now()).then((quick) => set({ quick }));
  return sent;
}

/** Signing takes its time. If the line broke meanwhile, the page has said that nothing was heard, and so it stays. @param {number} n_lost As it was before. @param {object} message */
const sendSigned = (n_lost, message) => line.n_lost === n_lost && send(message);

/** What needs no signature: putting away. @param {Card} card */
export function dismiss(card) {
  const sent = send({ type: 'dismiss', request_id: card.id });
  mark(card, 'dismiss', sent ? 'sent' : 'failed', sent ? '' : LOST);
}

/** Has a parked card asked again, as it was or as a rehearsal; needs no signature, since it only asks. @param {Card} card @param {boolean} rehearse */
export function renew(card, rehearse) {
  const sent = send({ type: 'renew', request_id: card.id, rehearse });
  mark(card, rehearse ? 'renew_rehearsal' : 'renew', sent ? 'sent' : 'failed', sent ? '' : LOST);
}

/** Answers a model's question, in an answer that it proposes or in other words; signed for this card and nothing else. @param {Card} card @param {string} text */
export async function answerQuestion(card, text) {
  if (!line.device || ['signing', 'sent', 'recorded'].includes(state.decisions[card.id]?.phase)) return;
  mark(card, 'answer', 'signing');
  const { n_lost } = line;
  const message = await outbox.signed(line.device, { id: crypto.randomUUID(), text }, `answer:${card.id}`);
  const sent = sendSigned(n_lost, { type: 'decision_response', request_id: card.id, message });
  mark(card, 'answer', sent ? 'sent' : 'failed', sent ? '' : LOST);
}
