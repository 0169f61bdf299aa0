// @ts-check
// What decides, always in the same place: recommended, alternative, decline. Risk decides the friction, and the server
// decided the risk.

import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { executionOf, matches } from '../lib/decision.js';
import { go } from '../lib/router.js';
import { DIFFERS, decide, handle } from '../lib/session.js';
import { set } from '../lib/store.js';
import { strict } from '../lib/text.js';
import { formOf } from './secure-input.js';
import { Slide } from './slide.js';
import { Undo, useUndoLeft } from './undo.js';

/** @typedef {import('../protocol.js').Card} Card */
/** @typedef {import('../protocol.js').Cta} Cta */

/** The second tap of a double tap decides nothing: neither the chip nor a card that has just come up under the thumb. */
const DOUBLE_TAP_MS = 350;

/** @param {{ card: Card, decision: import('../lib/store.js').Decision | undefined, linked: boolean, installation: string }} props */
export function Dock({ card, decision, linked, installation }) {
  const [stage, setStage] = useState(/** @type {'ask' | 'confirm' | 'slide'} */ ('ask'));
  /** Which of the buttons is being confirmed. */
  const [asked, setAsked] = useState(0);
  const since = useRef(0);
  const verified = useVerified(card, installation);
  const undoLeft = useUndoLeft(card);
  const main = useRef(/** @type {HTMLElement | null} */ (null));

  const enter = (/** @type {'ask' | 'confirm' | 'slide'} */ next) => {
    since.current = performance.now();
    setStage(next);
    set({ holding: next === 'ask' ? null : card.id });
  };
  useEffect(() => {
    since.current = performance.now();
    setStage('ask');
  }, [card.id, card.offer?.nonce]);
  useEffect(() => {
    if (stage !== 'ask') main.current?.focus();
  }, [stage]);

  if (verified === false) return html`<footer class="dock" aria-label="Decision"><p class="dock-differs" role="alert">${DIFFERS}</p></footer>`;

  const busy = decision !== undefined && decision.phase !== 'failed';
  const off = !linked || busy || (card.offer !== null && verified === null);
  const tooSoon = () => performance.now() - since.current < DOUBLE_TAP_MS;
  const buttons = card.state === 'parked' ? parkedButtons(card) : card.face.ctas.map((cta) => ({ ...cta, act: () => press(card, cta) }));
  const [first, ...rest] = buttons;
  const steps = first?.press === 'approve' ? ladder(card) : 'tap';
  const meant = buttons[asked] ?? first;

  const onPress = (/** @type {number} */ n) => {
    if (tooSoon()) return;
    // What runs something takes the same steps, whichever of the two ways it is.
    const runs = buttons[n].press === 'approve' || buttons[n].press === 'rehearse';
    if (!runs || steps === 'tap') return void buttons[n].act();
    if (off || steps === 'terminal') return;
    setAsked(n);
    enter(steps);
  };
  const onFirst = () => off || onPress(0);
  const onConfirm = () => {
    if (off || tooSoon()) return;
    meant.act();
    setStage('ask');
  };
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    // A key held down must not run through both halves of a decision.
    if (event.repeat && event.key === 'Enter') event.preventDefault();
    if (event.key === 'Escape' && stage !== 'ask') enter('ask');
  };
  // What is entered is sent by the form that it was entered in; the button only stands here.
  const form = first && (first.press === 'store' || first.press === 'choose') ? formOf(card) : undefined;
  const onForm = (/** @type {Event} */ event) => {
    if (off || tooSoon()) event.preventDefault();
  };
  const label = (/** @type {{ press: string, label: string }} */ cta) => (busy && decision.press === cta.press ? doing(cta) : strict(cta.label));

  return html`<footer class="dock" aria-label="Decision" onKeyDown=${onKey}>
    ${decision?.phase === 'failed' && html`<p class="dock-failed" role="alert">${decision.message}</p>`}
    ${first && stage === 'confirm' && html`<div class="chip">
      <p id="consequence">${strict(meant.consequence || meant.label)}</p>
      <button type="button" class="button filled confirm" ref=${main} disabled=${off} aria-describedby="consequence" onClick=${onConfirm}><${Icon} name="tick" size=${18} />Confirm</button>
    </div>`}
    ${first && stage === 'slide' && html`<${Slide} act=${meant.label} consequence=${meant.consequence || meant.label} disabled=${off} onDone=${onConfirm} thumb=${main} />`}
    ${first && stage === 'ask' && (card.face.kind === 'done' && first.press === 'approve' && card.state === 'open'
      ? html`<${Undo} label=${label(first)} left=${undoLeft} card=${card} disabled=${off} onClick=${onFirst} />`
      : html`<button type=${form ? 'submit' : 'button'} form=${form} class=${`button ${form || first.press === 'approve' || first.press === 'renew' ? 'filled' : 'outlined'}`} disabled=${off || steps === 'terminal'} onClick=${form ? onForm : onFirst}>
          ${steps === 'slide' && html`<${Icon} name="high" size=${16} />`}${label(first)}
        </button>`)}
    ${steps === 'terminal' && html`<p class="dock-note">This cannot be undone, so it is decided in the terminal.</p>`}
    ${!linked && html`<p class="dock-note">You can decide as soon as Silas answers</p>`}
    ${linked && html`<div class="dock-row">
      ${stage !== 'ask' && html`<button type="button" class="button plain" onClick=${() => enter('ask')}>Back</button>`}
      ${(stage === 'ask' ? rest : rest.slice(-1)).map((cta, at, all) => html`<button type="button" key=${cta.label}
        class=${`button plain ${at === all.length - 1 ? 'last' : ''}`} disabled=${cta.press === 'proof' ? busy : off}
        onClick=${() => onPress(buttons.indexOf(cta))}>${label(cta)}</button>`)}
    </div>`}
  </footer>`;
}

/** @param {Card} card @param {Cta} cta */
function press(card, cta) {
  if (cta.press === 'approve' || cta.press === 'rehearse' || cta.press === 'decline') return void decide(card, cta.press);
  if (cta.press === 'change') return change(card);
  if (cta.press === 'dismiss') return handle(card, 'dismiss');
  const execution = executionOf(card);
  return execution ? go(`proof/${execution}`) : set({ problem: NO_PROOF });
}

/** Answers "not like this" and takes the owner's words back into the composer, to be said differently. @param {Card} card */
function change(card) {
  void decide(card, 'change');
  set({ draft: card.face.rationale });
  go('stream');
}

const NO_PROOF = { code: 'no_proof', message: 'The proof of this card was not found.', todo: 'Look in Activity.' };

/** Asking again makes a fresh offer; dropping leaves everything as it is. @param {Card} card */
function parkedButtons(card) {
  const decline = card.face.ctas.find((cta) => cta.press === 'decline' || (card.input && cta.press === 'dismiss'));
  return [
    { press: 'renew', label: 'Ask me again', consequence: '', act: () => handle(card, 'renew') },
    { press: 'dismiss', label: decline?.label ?? 'Drop it', consequence: '', act: () => handle(card, 'dismiss') },
  ];
}

/** @param {Card} card @returns {'tap' | 'confirm' | 'slide' | 'terminal'} */
function ladder({ face, state }) {
  if (state === 'parked') return 'tap';
  if (face.risk === 'medium') return 'confirm';
  if (face.risk === 'high') return 'slide';
  return face.risk === 'irreversible' ? 'terminal' : 'tap';
}

/** `null` while the hashes are being computed. @param {Card} card @param {string} installation */
function useVerified(card, installation) {
  const [result, setResult] = useState(/** @type {{ card: Card | null, ok: boolean }} */ ({ card: null, ok: false }));
  useEffect(() => {
    let current = true;
    // A parked card can only be renewed, and a card without an offer asks nothing: nothing would be signed.
    const nothingToSign = card.offer === null || card.state === 'parked';
    const check = nothingToSign ? Promise.resolve(true) : matches(card, installation);
    void check.then((ok) => current && setResult({ card, ok }));
    return () => void (current = false);
  }, [card, installation]);
  return result.card === card ? result.ok : null;
}

/** "Apply 2 files" while it happens: "Applying 2 files". @param {{ press: string, label: string }} cta */
function doing({ press: pressed, label }) {
  if (pressed === 'decline') return 'Recording your no';
  if (pressed === 'change') return 'Asking for a change';
  if (pressed === 'rehearse') return 'Doing it, to show you';
  if (pressed === 'dismiss') return 'Putting away';
  if (pressed === 'store') return 'Saving to vault';
  if (pressed === 'choose') return 'Going on';
  const [clause] = label.split(',');
  const [verb, ...objects] = clause.split(' ');
  const short = /^[^aeiou]*[aeiou][^aeiouwxy]$/i.test(verb);
  const stem = /[^e]e$/.test(verb) ? verb.slice(0, -1) : short ? verb + verb.at(-1) : verb;
  return strict([`${stem}ing`, ...objects].join(' '));
}
