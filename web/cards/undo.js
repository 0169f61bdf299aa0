// @ts-check
// The undo button of a done card: outlined, with the time that is left as ring and text. Greyed, with the reason, when
// somebody has changed the files since; when the time is over it asks for a plan instead.

import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { executionOf } from '../lib/decision.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { askLaterEdits, planWayBack } from '../lib/asking.js';
import { announce } from '../lib/store.js';
import { count, strict } from '../lib/text.js';
import { countdown, useNow } from '../lib/time.js';
import { Sheet } from '../surfaces/frame/sheet.js';
import { Diffs } from './diff.js';

/** @typedef {import('../protocol.js').Card} Card */
/** @typedef {import('../protocol.js').FileDiff} FileDiff */

/** Milliseconds until the window closes; 0 for every other card. @param {Card} card */
export function useUndoLeft(card) {
  const runs = card.face.kind === 'done' && card.offer !== null;
  const now = useNow(runs);
  return runs && card.offer ? Math.max(0, Date.parse(card.offer.expires_at) - now) : 0;
}

/** When a listener is told: minutes 4, 2, 1, and ten seconds. */
const SAID_AT_SECONDS = [240, 120, 60, 10];

/** Says the next mark that was passed, also if no second fell exactly on it. @param {number} seconds */
function useCountdownSaid(seconds) {
  const before = useRef(seconds + 1);
  useEffect(() => {
    const passed = SAID_AT_SECONDS.filter((mark) => seconds <= mark && mark < before.current).at(-1);
    before.current = seconds;
    if (passed && seconds > 0) announce(passed >= 60 ? `${passed / 60} min left to undo` : `${passed} seconds left to undo`);
  }, [seconds]);
}

/** How often it is looked whether the files were changed, while somebody looks at the card. */
const LOOK_EVERY_MS = 15_000;

/** @param {string | null} execution @param {boolean} wanted */
function useLaterEdits(execution, wanted) {
  useEffect(() => {
    if (!execution || !wanted) return undefined;
    const look = () => void (document.visibilityState === 'visible' && askLaterEdits(execution));
    look();
    const timer = setInterval(look, LOOK_EVERY_MS);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [execution, wanted]);
}

/** @param {{ label: string, left: number, card: Card, edits: FileDiff[], linked: boolean, disabled: boolean, onClick: () => void }} props */
export function Undo({ label, left, card, edits, linked, disabled, onClick }) {
  const execution = executionOf(card);
  useCountdownSaid(Math.ceil(left / 1000));
  useLaterEdits(execution, linked && left > 0);
  if (left === 0) return html`<${WayBack} execution=${execution} disabled=${!linked} />`;
  const whole = card.offer ? Date.parse(card.offer.expires_at) - Date.parse(card.offer.issued_at) : left;
  const edited = edits.length > 0;
  return html`<button type="button" class="button outlined undo" disabled=${disabled || edited} aria-describedby=${edited ? 'later-edit' : undefined} onClick=${onClick}>
    <${Icon} name="undo" size=${20} /><span class="undo-label">${label}</span>
    ${' '}<span class="undo-time">${countdown(left)}<span class="hidden"> left</span></span><${Ring} part=${left / whole} />
  </button>
  ${edited && html`<${LaterEdit} edits=${edits} />`}`;
}

/** The time for undoing is over: what was replaced is still kept, and a plan can put it back. @param {{ execution: string | null, disabled: boolean }} props */
export function WayBack({ execution, disabled }) {
  return html`<button type="button" class="button outlined" disabled=${disabled || !execution} onClick=${() => execution && planWayBack(execution)}><${Icon} name="undo" size=${20} />Plan a way back</button>`;
}

/** @param {FileDiff[]} edits */
function changed(edits) {
  const first = strict(edits[0].path.split('/').at(-1) ?? '');
  return edits.length === 1 ? `${first} was changed since. Undo would overwrite it.` : `${first} and ${count(edits.length - 1, 'other file')} were changed since. Undo would overwrite them.`;
}

/** @param {{ edits: FileDiff[] }} props */
function LaterEdit({ edits }) {
  const [open, setOpen] = useState(false);
  return html`<p class="dock-note later-edit"><span id="later-edit" role="status">${changed(edits)}</span> <button type="button" class="link-button" aria-haspopup="dialog" onClick=${() => setOpen(true)}>Compare</button></p>
    ${open && html`<${Sheet} label="Compare" onClose=${() => setOpen(false)}>
      <h2 class="sheet-title" tabindex="-1">Your version and the old one</h2>
      <p class="sheet-text">Lines with − are yours now and would go. Lines with + are what Undo would put there.</p>
      <div class="compare" role="region" aria-label="Both versions" tabindex="0"><${Diffs} diffs=${edits} /></div>
      <div class="dock-row"><button type="button" class="button plain last" onClick=${() => setOpen(false)}>Close</button></div>
    <//>`}`;
}

const RADIUS = 14;
const ROUND = 2 * Math.PI * RADIUS;

/** @param {{ part: number }} props */
function Ring({ part }) {
  return html`<svg class="ring" width="2.125rem" height="2.125rem" viewBox="0 0 34 34" fill="none" stroke="currentColor" stroke-width="3.5" stroke-linecap="round" aria-hidden="true">
    <circle cx="17" cy="17" r=${RADIUS} stroke-dasharray=${ROUND} stroke-dashoffset=${ROUND * (1 - Math.min(1, part))} transform="rotate(-90 17 17)" />
  </svg>`;
}
