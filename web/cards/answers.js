// @ts-check
// Answering a model's question: a chip for each answer that it proposes, and a field for other words. What is proposed is the
// model's own and marked so; a tap sends it as a signed message for this card, which allows nothing.

import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { answerQuestion } from '../lib/session.js';
import { set } from '../lib/store.js';
import { strict } from '../lib/text.js';

/** @typedef {import('../protocol.js').Card} Card */

const ANSWER_CHARS_MAX = 2000;

/**
 * @param {{ card: Card, inquiry: import('../protocol.js').Inquiry, words: string, off: boolean, tooSoon: () => boolean }} props
 *   `words`: what the button for other words says.
 */
export function AnswerChips({ card, inquiry, words, off, tooSoon }) {
  const [typing, setTyping] = useState(false);
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => void (typing && field.current?.focus({ preventScroll: true })), [typing]);
  const turn = (/** @type {boolean} */ on) => {
    setTyping(on);
    set({ holding: on ? card.id : null });
  };
  const send = (/** @type {string} */ text) => void (off || tooSoon() || answerQuestion(card, text));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const text = field.current?.value.trim() ?? '';
    if (text) send(text);
    else field.current?.focus();
  };
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') turn(false);
  };
  if (typing) {
    return html`<form class="change" onSubmit=${submit} onKeyDown=${onKey}>
      <label class="change-note" for=${`${card.id}-answer`}>In your own words</label>
      <div class="entry-box"><textarea class="entry-field answer-field" id=${`${card.id}-answer`} ref=${field} rows="2" dir="auto" maxlength=${ANSWER_CHARS_MAX}></textarea></div>
      <button type="submit" class="button filled" disabled=${off}>Send this answer</button>
      <button type="button" class="button plain" onClick=${() => turn(false)}>Back to the answers</button>
    </form>`;
  }
  return html`<div class="change" role="group" aria-label="Answers that the model proposes">
    <p class="change-note">The model proposes these. An answer allows nothing: the plan asks you.</p>
    <div class="change-chips">${inquiry.options.map((option) => html`<button type="button" class="change-chip answer-chip" key=${option} disabled=${off} onClick=${() => send(option)}><bdi>${strict(option)}</bdi></button>`)}</div>
    <button type="button" class="button outlined" disabled=${off} onClick=${() => tooSoon() || turn(true)}>${strict(words)}</button>
  </div>`;
}
