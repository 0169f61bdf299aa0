// @ts-check
// Answering a model's question: each answer that it proposes as a quotation with a button of Silas's own words beside it, and
// a field for other words. What is proposed is the model's own, so no button is named by it; a tap sends it as a signed message for this card, which allows nothing.

import { useLayoutEffect, useRef } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { answerQuestion } from '../lib/deciding.js';
import { oneLine } from '../lib/text.js';
import { DOUBLE_TAP_MS } from './slide.js';

/** @typedef {import('../protocol.js').Card} Card */

const ANSWER_CHARS_MAX = 2000;

/** @param {{ card: Card, inquiry: import('../protocol.js').Inquiry, off: boolean }} props */
export function AnswerChips({ card, inquiry, off }) {
  const since = useRef(performance.now());
  // A tap that was meant for the card before this one answers nothing.
  const send = (/** @type {string} */ option) => void (off || performance.now() - since.current < DOUBLE_TAP_MS || answerQuestion(card, option));
  return html`<div class="answers" role="group" aria-label="Answers that the model proposes">
    <p class="change-note">The model proposes these. An answer allows nothing: what comes of it asks you.</p>
    <ol class="answer-list">${inquiry.options.map((option, n) => html`<li key=${n}><button type="button" class="change-chip answer-chip" aria-describedby=${`${card.id}-option-${n}`} disabled=${off} onClick=${() => send(option)}>Answer ${n + 1}</button><q class="answer-words" id=${`${card.id}-option-${n}`} dir="auto">${oneLine(option)}</q></li>`)}</ol>
  </div>`;
}

/** @param {{ card: Card, off: boolean }} props */
export function OwnWords({ card, off }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const text = field.current?.value.trim() ?? '';
    if (text && !off) void answerQuestion(card, text);
    else field.current?.focus();
  };
  return html`<form class="change" onSubmit=${submit}>
    <label class="change-note" for=${`${card.id}-answer`}>In your own words</label>
    <div class="entry-box"><textarea class="entry-field answer-field" id=${`${card.id}-answer`} ref=${field} rows="2" dir="auto" maxlength=${ANSWER_CHARS_MAX}></textarea></div>
    <button type="submit" class="button filled" disabled=${off}>Send this answer</button>
  </form>`;
}
