// @ts-check
// Asking for a change: chips that say it in a sentence of their own, and free text for whoever wants other words. What is
// sent is made of fixed words and of the owner's own request, which the server keeps apart from whatever a model wrote; it
// is signed as the owner's, so nobody else's word may be in it.

import { useLayoutEffect, useRef } from '../vendor/hooks.js';
import { decide } from '../lib/deciding.js';
import { html } from '../lib/html.js';
import { go } from '../lib/router.js';
import { say } from '../lib/saying.js';
import { set, state } from '../lib/store.js';
import { AddModel } from '../surfaces/stream/welcome.js';

/** @typedef {import('../protocol.js').Card} Card */

/** What is wanted instead, and how that is said before the request. */
const CHIPS = [
  { label: 'Smaller change', sentence: 'Make a smaller change this time' },
  { label: 'Other approach', sentence: 'Take another approach this time' },
  { label: 'Add a test', sentence: 'Add a test that shows it this time' },
];

/** Of a request that is longer than anybody reads, the beginning says which it was. */
const ASKED_CHARS_MAX = 4000;

/** Answers "not like this"; then something is said, unless the answer could not be given. @param {Card} card @param {() => void} then */
async function answer(card, then) {
  if (!await decide(card, 'change')) return;
  set({ holding: null });
  then();
  go('stream');
}

/** @param {{ card: Card, off: boolean }} props */
export function ChangeChips({ card, off }) {
  const group = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => group.current?.querySelector('button')?.focus({ preventScroll: true }), []);
  const asked = card.face.asked ?? '';
  const needsModel = state.no_model !== null;
  const send = (/** @type {string} */ sentence) => answer(card, () => void say(`${sentence}: ${Array.from(asked).slice(0, ASKED_CHARS_MAX).join('')}`));
  return html`<div class="change" role="group" ref=${group} aria-label="Ask for a change">
    ${asked && !needsModel && html`<p class="change-note">What should be different?</p>
      <div class="change-chips">${CHIPS.map(({ label, sentence }) => html`<button type="button" class="change-chip" key=${label} disabled=${off} onClick=${() => send(sentence)}>${label}</button>`)}</div>`}
    ${needsModel && html`<p class="change-note">To plan it differently Silas needs a model. Without one, change your own words.</p><${AddModel} />`}
    <button type="button" class="button outlined" disabled=${off} onClick=${() => answer(card, () => set({ draft: asked }))}>Say it in other words</button>
  </div>`;
}
