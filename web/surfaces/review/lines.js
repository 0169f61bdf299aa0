// @ts-check
// Lines above the active card. Each can be ignored; none decides or delays anything.

import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { isToBeAsked, want } from '../../lib/notify.js';
import { needingReview } from '../../lib/store.js';

/** @typedef {import('../../lib/store.js').State} State */
/** @typedef {import('../../protocol.js').Card} Card */

/** More cards than this, and a person should know that none of them hurries. */
export const QUEUE_CALM = 5;

/** One line at a time. @param {{ state: State, card: Card | null }} props */
export function Lines({ state, card }) {
  const waiting = needingReview(state.cards);
  const isCareful = card !== null && card.state === 'open' && card.face.risk !== null && card.face.risk !== 'low';
  if (state.quick && isCareful) return html`<${Quick} card=${card} />`;
  if (isToBeAsked()) return html`<${Ask} />`;
  return waiting.length > QUEUE_CALM ? html`<${Many} cards=${waiting} />` : null;
}

/** @param {{ cards: Card[] }} props */
function Many({ cards }) {
  const careful = cards.filter(({ face }) => face.risk !== 'low' && face.risk !== null).length;
  return html`<div class="notice notice-inside" role="note"><${Icon} name="review" size=${20} />
    <p><b>${careful > 0 ? `${careful} of these need care.` : `${cards.length} cards wait.`}</b> They keep until you are ready. None of them runs before you decide.</p></div>`;
}

/** @param {{ card: Card }} props */
function Quick({ card }) {
  return html`<div class="notice notice-inside" role="note"><${Icon} name="activity" size=${20} />
    <p><b>That was quick, five times in a row.</b> The next one ${does(card)}.</p></div>`;
}

/** What makes this one worth reading. @param {Card} card */
function does({ face, payload }) {
  if (face.risk === 'irreversible') return 'cannot be undone';
  if (hosts(payload) > 0) return 'sends something';
  if (face.kind === 'plan' || face.kind === 'rehearsed') return 'changes files';
  return face.risk === 'high' ? 'is a high risk' : 'allows something';
}

/** @param {string | null} payload */
function hosts(payload) {
  try {
    return JSON.parse(payload ?? '{}').sandbox?.hosts?.length ?? 0;
  } catch {
    return 0; // The dock says that card and request differ.
  }
}

/** After the first card that was missed, and never before. */
function Ask() {
  return html`<div class="notice notice-inside notice-ask" role="note"><${Icon} name="review" size=${20} />
    <div><p><b>A card was parked while nobody looked.</b> This browser can tell you when one waits: what it is and how risky, nothing else.</p>
      <p class="notice-choice"><button type="button" class="notice-act" onClick=${() => void want(true)}>Tell me</button><button type="button" class="notice-act notice-no" onClick=${() => void want(false)}>Not now</button></p></div></div>`;
}
