// @ts-check
// Answering a model's question: a chip for each answer that it proposes, under the question, and a field for other words.
// What is proposed is the model's own and marked so; a tap sends it as a signed message for this card, which allows nothing.

import { useLayoutEffect, useRef } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { answerQuestion } from '../lib/deciding.js';
import { strict } from '../lib/text.js';
import { DOUBLE_TAP_MS } from './slide.js';

/** @typedef {import('../protocol.js').Card} Card */

const ANSWER_CHARS_MAX = 2000;

/** @param {{ card: Card, inquiry: import('../protocol.js').Inquiry, off: boolean }} props */
export function AnswerChips({ card, inquiry, off }) {
  const since = useRef(performance.now());
  // A tap that was meant for the card before this one answers nothing.
  const send = (/** @type {string} */ option) => void (off || performance.now() - since.current < DOUBLE_TAP_MS || answerQuestion(card, option));
  return html`<div class="answers" role="group" aria-label="Answers that the model proposes">
    <p class="change-note">The model proposes these. An answer allows nothing: the plan asks you.</p>
    <div class="change-chips">${inquiry.options.map((option) => html`<button type="button" class="change-chip answer-chip" key=${option} dir="auto" disabled=${off} onClick=${() => send(option)}>${strict(option)}</button>`)}</div>
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
