// @ts-check
// Decisions that were being signed or on their way when the connection broke. What Silas shows after that says whether they arrived; they
// are never sent again by themselves, because what is decided is decided by a hand.

import { state } from './store.js';

/** @typedef {import('../protocol.js').Card} Card */

const UNHEARD = 'Silas did not get your answer. Nothing was done. Decide again.';

/** What was pressed and not answered, by card, with the offer that it was for. @type {Map<string, { press: string, offer: string }>} */
const onTheirWay = new Map();

/** A card that was asked again has another one. @param {Card} card */
const offerOf = (card) => card.offer?.nonce ?? card.input?.expires_at ?? card.state;

/** The connection broke: only what was recorded is known. */
export function interrupted() {
  for (const [id, { phase, press }] of Object.entries(state.decisions)) {
    const card = state.cards.find((shown) => shown.id === id);
    if ((phase === 'signing' || phase === 'sent') && card) onTheirWay.set(id, { press, offer: offerOf(card) });
  }
  return Object.fromEntries(Object.entries(state.decisions).filter(([, { phase }]) => phase === 'recorded'));
}

/** The connection is back, and these are the cards: one that still asks the same was not answered. @param {Card[]} cards */
export function unheard(cards) {
  const same = cards.filter((card) => onTheirWay.get(card.id)?.offer === offerOf(card));
  /** @type {[string, import('./store.js').Decision][]} */
  const decisions = same.map(({ id }) => [id, { phase: 'failed', press: onTheirWay.get(id)?.press ?? '', message: UNHEARD }]);
  onTheirWay.clear();
  return Object.fromEntries(decisions);
}
