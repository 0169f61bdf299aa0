// @ts-check
// Risk and proof as shape, word and colour: never one of them alone.

import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { clock } from '../lib/time.js';

/** @typedef {import('../protocol.js').Outcome} Outcome */
/** @typedef {import('../protocol.js').Risk} Risk */

/** @type {Record<Risk, { word: string, short: string }>} */
export const RISKS = {
  low: { word: 'Low risk', short: 'Low' },
  medium: { word: 'Medium risk', short: 'Medium' },
  high: { word: 'High risk', short: 'High' },
  irreversible: { word: 'Cannot be undone', short: 'For good' },
};

/** From the least to the worst. @type {Risk[]} */
export const LADDER = ['low', 'medium', 'high', 'irreversible'];

/** @type {Record<Outcome, { word: string, icon: string }>} */
export const OUTCOMES = {
  proved: { word: 'Proved', icon: 'seal' },
  green_by_exit_code: { word: 'Green by exit code', icon: 'seal-outline' },
  guarded: { word: 'Stayed green', icon: 'seal-outline' },
  unproven: { word: 'Unproven', icon: 'dashed' },
  failed: { word: 'Failed', icon: 'cross' },
};

/** The mark at the top of a card. @param {{ card: import('../protocol.js').Card }} props */
export function Badge({ card }) {
  const { face, state } = card;
  if (state === 'parked') return html`<span class="badge badge-low"><${Icon} name="activity" size=${16} />Parked</span>`;
  if ((face.kind === 'done' || face.kind === 'report') && face.evidence) return html`<${OutcomeBadge} outcome=${face.evidence.outcome} />`;
  if (face.kind === 'secure_input') return html`<span class="badge badge-low"><${Icon} name="lock" size=${16} />Secure input</span>`;
  if (face.kind === 'model_choice') return html`<span class="badge badge-low"><${Icon} name="prompt" size=${16} />Set up</span>`;
  if (face.kind === 'decision') return html`<span class="badge badge-low"><${Icon} name="prompt" size=${16} />A model asks</span>`;
  if (!face.risk) return html`<span class="badge badge-low">For your information</span>`;
  return html`<span class=${`badge badge-${face.risk}`}><${Icon} name=${face.risk} size=${12} />${RISKS[face.risk].word}</span>`;
}

/** @param {{ outcome: Outcome }} props */
export function OutcomeBadge({ outcome }) {
  const { word, icon } = OUTCOMES[outcome];
  return html`<span class=${`badge badge-${outcome}`}><${Icon} name=${icon} size=${16} />${word}</span>`;
}

/** The words at the top right of a card. @param {{ card: import('../protocol.js').Card }} props */
export function CardWhen({ card }) {
  const { face, created_at } = card;
  const since = card.offer?.expires_at ?? card.input?.expires_at ?? created_at;
  const text = card.state === 'parked' ? `Since ${clock(since)}` : face.kind === 'done' ? `${face.state} · ${clock(created_at)}` : face.state;
  return html`<span class="card-state">${text}</span>`;
}
