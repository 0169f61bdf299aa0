// @ts-check
// What decides, always in the same place: recommended, alternative, decline. Risk decides the friction, and the server
// decided the risk.

import { useLayoutEffect, useRef, useState } from '../vendor/hooks.js';
import { DIFFERS, decide, dismiss, renew } from '../lib/deciding.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { executionOf, matches } from '../lib/decision.js';
import { cameUp } from '../lib/pace.js';
import { go } from '../lib/router.js';
import { testAgain } from '../lib/setting-up.js';
import { set } from '../lib/store.js';
import { Words, strict } from '../lib/text.js';
import { OwnWords } from './answers.js';
import { ChangeChips } from './change.js';
import { PasskeySheet, Rungs, asksPasskey } from './passkey.js';
import { withPatch } from './patch.js';
import { formOf } from './secure-input.js';
import { DOUBLE_TAP_MS, Slide } from './slide.js';
import { Undo, useUndoLeft } from './undo.js';

/** @typedef {import('../protocol.js').Card} Card */
/** @typedef {import('../protocol.js').Cta} Cta */

/** What can be wanted differently, in words. Elsewhere "not like this" already says what is meant: another model, without that host. */
const REWORDED = ['plan', 'rehearsed'];

/** What is only looked at or saved needs no check of what would be signed. */
const READS = ['proof', 'look', 'patch'];

/** @param {{ card: Card, edits?: import('../protocol.js').FileDiff[], isOver?: boolean, decision: import('../lib/store.js').Decision | undefined, linked: boolean, installation: string, devices: import('../protocol.js').DeviceView[], device: string }} props */
export function Dock({ card, edits = [], isOver = false, decision, linked, installation, devices, device }) {
  const [stage, setStage] = useState(/** @type {'ask' | 'confirm' | 'slide' | 'passkey' | 'change' | 'words'} */ ('ask'));
  /** Which of the buttons is being confirmed. */
  const [asked, setAsked] = useState(0);
  const since = useRef(0);
  const verified = useVerified(card, installation);
  const undoLeft = useUndoLeft(card);
  const main = useRef(/** @type {HTMLElement | null} */ (null));

  const enter = (/** @type {'ask' | 'confirm' | 'slide' | 'passkey' | 'change' | 'words'} */ next) => {
    since.current = performance.now();
    setStage(next);
    set({ holding: next === 'ask' ? null : card.id });
  };
  // With the drawing, not after it: whoever presses or goes elsewhere in between is not taken back.
  useLayoutEffect(() => {
    since.current = performance.now();
    cameUp(card.id, since.current);
    setStage('ask');
    // What is parked cannot be confirmed any more, however far somebody was.
  }, [card.id, card.offer?.nonce, card.state]);
  const keptFocus = useKeptFocus(card, linked);
  useLayoutEffect(() => {
    if (stage === 'confirm' || stage === 'slide') main.current?.focus({ preventScroll: true });
  }, [stage]);

  if (verified === false) return html`<footer class="dock" aria-label="Decision"><p class="dock-differs" role="alert">${DIFFERS}</p></footer>`;

  const busy = decision !== undefined && decision.phase !== 'failed';
  const off = !linked || busy || (card.offer !== null && verified === null);
  const tooSoon = () => performance.now() - since.current < DOUBLE_TAP_MS;
  const buttons = card.state === 'parked' ? parkedButtons(card) : withPatch(card, card.face.ctas.map((cta) => ({ ...cta, act: (/** @type {import('../protocol.js').DeviceView | null} */ passkey = null) => (isOver && cta.press === 'dismiss' ? set({ over: null }) : press(card, cta, passkey)) })));
  const [first, ...rest] = buttons;
  const steps = first?.press === 'approve' ? ladder(card, 'approve') : 'tap';
  const meant = buttons[asked] ?? first;
  const rungs = asksPasskey(card, devices);

  // Beside the slide the way out of it stays; where there is none that needs no slide itself, Back stands there.
  const staysBeside = stage === 'slide' && rest.length > 1 && rest[0].press !== 'rehearse';

  const onPress = (/** @type {number} */ n) => {
    if (tooSoon()) return;
    if (buttons[n].press === 'answer') return void (off || enter('words'));
    if (buttons[n].press === 'change' && REWORDED.includes(card.face.kind)) return void (off || enter('change'));
    const { press: pressed } = buttons[n];
    const its = first.press === 'approve' && (pressed === 'approve' || pressed === 'rehearse' || pressed === 'redo') ? ladder(card, pressed) : 'tap';
    if (its === 'tap') return void buttons[n].act();
    if (off) return;
    setAsked(n);
    enter(its);
  };
  const onFirst = () => off || onPress(0);
  const onConfirm = () => {
    if (off || tooSoon()) return;
    if (rungs) return enter('passkey');
    meant.act();
    setStage('ask');
  };
  const onSign = (/** @type {import('../protocol.js').DeviceView | null} */ passkey) => {
    if (off || tooSoon()) return;
    meant.act(passkey);
    enter('ask');
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

  return html`<footer class="dock" aria-label="Decision" onKeyDown=${onKey} ...${keptFocus}>
    ${decision?.phase === 'failed' && html`<p class="dock-failed" role="alert"><${Words} text=${decision.message} /></p>`}
    ${first && stage === 'confirm' && html`<div class="chip">
      <p id="consequence">${strict(meant.consequence || meant.label)}</p>
      <button type="button" class="button filled confirm" ref=${main} disabled=${off} aria-describedby="consequence" onClick=${onConfirm}><${Icon} name="tick" size=${18} />Confirm</button>
    </div>`}
    ${first && stage === 'passkey' && html`<${PasskeySheet} card=${card} cta=${meant} devices=${devices} device=${device} off=${off} onSign=${onSign} onClose=${() => enter('ask')}
      alternatives=${rest.filter((cta) => !['rehearse', 'redo', 'look'].includes(cta.press)).map((cta) => ({ label: cta.label, act: () => cta.act() }))} />`}
    ${first && stage === 'change' && html`<${ChangeChips} card=${card} off=${off} />`}
    ${first && stage === 'words' && html`<${OwnWords} card=${card} off=${off} />`}
    ${first && stage === 'slide' && rungs && html`<${Rungs} at=${2} devices=${devices} />`}
    ${first && stage === 'slide' && html`<${Slide} risk=${card.face.risk ?? 'high'} act=${meant.label} consequence=${meant.consequence || meant.label} disabled=${off} onDone=${onConfirm} thumb=${main} />`}
    ${first && (stage === 'ask' || stage === 'passkey') && (card.face.kind === 'done' && first.press === 'approve' && card.state === 'open'
      ? html`<${Undo} label=${label(first)} left=${undoLeft} card=${card} edits=${edits} linked=${linked} disabled=${off} onClick=${onFirst} />`
      : html`<button type=${form ? 'submit' : 'button'} form=${form} class=${`button ${form || isRecommended(card, first) ? 'filled' : 'outlined'}`} disabled=${off} onClick=${form ? onForm : onFirst}>
          ${steps === 'slide' && html`<${Icon} name=${card.face.risk === 'irreversible' ? 'irreversible' : 'high'} size=${16} />`}${label(first)}
        </button>`)}
    ${!linked && html`<p class="dock-note">You can decide as soon as Silas answers</p>`}
    ${linked && html`<div class="dock-row">
      ${stage !== 'ask' && stage !== 'passkey' && !staysBeside && html`<button type="button" class="button plain" onClick=${() => enter('ask')}>Back</button>`}
      ${(stage === 'ask' || stage === 'passkey' || staysBeside ? rest : rest.slice(-1)).map((cta, at, all) => html`<button type="button" key=${cta.label}
        class=${`button plain ${at === all.length - 1 ? 'last' : ''}`} disabled=${READS.includes(cta.press) ? busy : off}
        onClick=${() => onPress(buttons.indexOf(cta))}>${label(cta)}</button>`)}
    </div>`}
  </footer>`;
}

/** @param {Card} card @param {Cta} cta @param {import('../protocol.js').DeviceView | null} passkey */
function press(card, cta, passkey) {
  if (cta.press === 'approve' || cta.press === 'rehearse' || cta.press === 'redo') return void decide(card, cta.press, passkey);
  if (cta.press === 'decline') return void decide(card, cta.press);
  if (cta.press === 'look') return go('activity');
  // Another model is chosen in the next card, not said; other changes have chips.
  if (cta.press === 'change') return void decide(card, cta.press);
  if (cta.press === 'dismiss') return dismiss(card);
  if (cta.press === 'again' || cta.press === 'another') return testAgain(card, cta.press);
  const execution = executionOf(card);
  return execution ? go(`proof/${execution}`) : set({ problem: NO_PROOF });
}

const NO_PROOF = { code: 'no_proof', message: 'The proof of this card was not found.', todo: 'Look in Activity.' };

/** Asking again makes a fresh offer, of the same or of its rehearsal; dropping leaves everything as it is. @param {Card} card */
function parkedButtons(card) {
  return [
    { press: 'renew', label: 'Ask me again', consequence: '', act: () => renew(card, false) },
    ...(card.show_first ? [{ press: 'renew_rehearsal', label: 'Rehearse it instead', consequence: '', act: () => renew(card, true) }] : []),
    { press: 'dismiss', label: 'Drop it', consequence: '', act: () => dismiss(card) },
  ];
}

/** Whether the first button is what Silas would press. Of what may have happened already, nobody can say so: again may be twice. @param {Card} card @param {{ press: string }} first */
function isRecommended({ face }, { press: pressed }) {
  return pressed === 'renew' || pressed === 'again' || (pressed === 'approve' && face.kind !== 'unknown_effect');
}

/** More files than somebody looks through at a glance: putting them in place is asked twice, however well they are proved. */
const FILES_CALM = 10;

/** The steps follow what pressing it does. @param {Card} card @param {'approve' | 'rehearse' | 'redo'} pressed @returns {'tap' | 'confirm' | 'slide'} */
function ladder(card, pressed) {
  const { face, state } = card;
  if (state === 'parked') return 'tap';
  if (face.risk === 'high' || face.risk === 'irreversible') return 'slide';
  if (face.risk === 'medium') return staysInside(card, pressed) ? 'tap' : 'confirm';
  return face.kind === 'rehearsed' && face.diffs.length > FILES_CALM ? 'confirm' : 'tap';
}

/** Whether pressing it runs something in a private copy and does nothing else: nothing is applied, reached, used or sent to a model. @param {Card} card @param {'approve' | 'rehearse' | 'redo'} pressed */
function staysInside({ offer, show_first, payload, instead }, pressed) {
  const asked = { approve: [offer, payload], rehearse: [show_first, payload], redo: [instead?.offer, instead?.payload] }[pressed];
  const [of, about] = /** @type {[import('../protocol.js').Offer | null | undefined, string | null | undefined]} */ (asked);
  if (of?.kind !== 'rehearsal') return false;
  try {
    const { executor, sandbox } = JSON.parse(about ?? '');
    return !executor && sandbox.hosts.length === 0 && (sandbox.secrets ?? []).length === 0;
  } catch {
    return false; // What cannot be read may do anything; the dock says that card and request differ.
  }
}

/**
 * A browser takes focus from a button that is off or gone, as all of them are without a connection. Whoever had it there
 * gets it back with the connection, unless they went elsewhere or the card did.
 * @param {Card} card @param {boolean} linked
 */
function useKeptFocus(card, linked) {
  const dock = useRef(/** @type {HTMLElement | null} */ (null));
  const had = useRef('');
  useLayoutEffect(() => void (had.current = ''), [card.id, card.offer?.nonce, card.state]);
  // The hashes of a card that came anew are computed first, and its buttons are off until then.
  useLayoutEffect(() => {
    if (!linked || !had.current || document.activeElement !== document.body) return;
    const button = [...dock.current?.querySelectorAll('button') ?? []].find((known) => known.textContent === had.current);
    if (button && !button.disabled) button.focus({ preventScroll: true });
  });
  return {
    ref: dock,
    onFocusIn: (/** @type {any} */ { target }) => void (had.current = target.textContent),
    onFocusOut: (/** @type {any} */ { target }) => void (!target.disabled && target.isConnected && linked && (had.current = '')),
  };
}

/** `null` while the hashes are being computed. @param {Card} card @param {string} installation */
function useVerified(card, installation) {
  const [result, setResult] = useState(/** @type {{ card: Card | null, ok: boolean }} */ ({ card: null, ok: false }));
  useLayoutEffect(() => {
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
  if (pressed === 'change') return label.startsWith('Go on') ? label.replace('Go', 'Going') : 'Asking for a change';
  if (pressed === 'renew_rehearsal') return 'Asking for it';
  if (pressed === 'rehearse') return 'Doing it, to show you';
  if (pressed === 'redo') return 'Doing it again';
  if (pressed === 'dismiss') return 'Putting away';
  if (pressed === 'store') return 'Saving to vault';
  if (pressed === 'choose') return 'Going on';
  if (pressed === 'answer') return 'Sending your answer';
  if (pressed === 'again') return 'Asking it again';
  if (pressed === 'another') return 'Asking for it';
  const [clause] = label.split(',');
  const [verb, ...objects] = clause.split(' ');
  const short = /^[^aeiou]*[aeiou][^aeiouwxy]$/i.test(verb);
  const stem = /[^e]e$/.test(verb) ? verb.slice(0, -1) : short ? verb + verb.at(-1) : verb;
  return strict([`${stem}ing`, ...objects].join(' '));
}
