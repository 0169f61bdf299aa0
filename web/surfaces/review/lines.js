// @ts-check
// Lines above the active card. Each can be ignored; none decides or delays anything.

import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { isToBeAsked, want } from '../../lib/notify.js';
import { needingReview } from '../../lib/store.js';

/** @typedef {import('../../lib/store.js').State} State */
/** @typedef {import('../../protocol.js').Card} Card */

/** More decisions of medium risk or higher than this, and a person should know that none of them hurries. */
const QUEUE_CALM = 5;

const isRisky = (/** @type {Card} */ { face }) => face.risk !== null && face.risk !== 'low';

/** What can be decided now and wants to be read first. What is parked asks nothing before it is asked for again, and what is to be entered decides nothing. @param {Card[]} cards */
const needingCare = (cards) => needingReview(cards).filter((card) => card.state === 'open' && !card.input && isRisky(card));

/** One line at a time: first what bears on the decision at hand, at last what can be asked any day. @param {{ state: State, card: Card | null }} props */
export function Lines({ state, card }) {
  const n_careful = needingCare(state.cards).length;
  if (state.quick && card?.state === 'open' && isRisky(card)) return html`<${Quick} card=${card} />`;
  if (n_careful > QUEUE_CALM) return html`<${Many} n_careful=${n_careful} />`;
  return isToBeAsked() ? html`<${Ask} />` : null;
}

/** @param {{ n_careful: number }} props */
function Many({ n_careful }) {
  return html`<div class="notice notice-inside" role="note"><${Icon} name="review" size=${20} />
    <p><b>${n_careful} of these need care.</b> They keep until you are ready. None of them runs before you decide.</p></div>`;
}

/** @param {{ card: Card }} props */
function Quick({ card }) {
  return html`<div class="notice notice-inside" role="note"><${Icon} name="activity" size=${20} />
    <p><b>Most of the last five took less than a second.</b> The next one ${does(card)}.</p></div>`;
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
    <div><p><b>A card was parked because nobody answered it.</b> This browser can tell you when one waits: what it is and how risky, nothing else.</p>
      <p class="notice-choice"><button type="button" class="notice-act" onClick=${() => void want(true)}>Tell me</button><button type="button" class="notice-act notice-no" onClick=${() => void want(false)}>Not now</button></p></div></div>`;
}
