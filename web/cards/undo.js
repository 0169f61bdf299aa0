// @ts-check
// The undo button of a done card: outlined, with the time that is left as ring and text.

import { useEffect } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { announce } from '../lib/store.js';
import { countdown, useNow } from '../lib/time.js';

/** @typedef {import('../protocol.js').Card} Card */

/** Milliseconds until the window closes; 0 for every other card. @param {Card} card */
export function useUndoLeft(card) {
  const runs = card.face.kind === 'done' && card.offer !== null;
  const now = useNow(runs);
  return runs && card.offer ? Math.max(0, Date.parse(card.offer.expires_at) - now) : 0;
}

/** When a listener is told: minutes 4, 2, 1, and ten seconds. */
const SAID_AT_SECONDS = [240, 120, 60, 10];

/** @param {{ label: string, left: number, card: Card, disabled: boolean, onClick: () => void }} props */
export function Undo({ label, left, card, disabled, onClick }) {
  const seconds = Math.ceil(left / 1000);
  useEffect(() => {
    if (SAID_AT_SECONDS.includes(seconds)) announce(seconds >= 60 ? `${seconds / 60} min left to undo` : `${seconds} seconds left to undo`);
  }, [seconds]);
  if (left === 0) return html`<button type="button" class="button outlined undo" disabled>The undo window is over</button>`;
  const whole = card.offer ? Date.parse(card.offer.expires_at) - Date.parse(card.offer.issued_at) : left;
  return html`<button type="button" class="button outlined undo" disabled=${disabled} onClick=${onClick}>
    <${Icon} name="undo" size=${20} /><span class="undo-label">${label}</span>
    <span class="undo-time"><span class="hidden">, time left </span>${countdown(left)}</span><${Ring} part=${left / whole} />
  </button>`;
}

const RADIUS = 14;
const ROUND = 2 * Math.PI * RADIUS;

/** @param {{ part: number }} props */
function Ring({ part }) {
  return html`<svg class="ring" width="2.125rem" height="2.125rem" viewBox="0 0 34 34" fill="none" stroke="currentColor" stroke-width="3.5" stroke-linecap="round" aria-hidden="true">
    <circle cx="17" cy="17" r=${RADIUS} stroke-dasharray=${ROUND} stroke-dashoffset=${ROUND * (1 - Math.min(1, part))} transform="rotate(-90 17 17)" />
  </svg>`;
}
