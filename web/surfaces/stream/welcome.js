// @ts-check
// The empty Stream teaches: what Silas promises, and the sentences it understands today.

import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { go } from '../../lib/router.js';
import { say } from '../../lib/session.js';
import { set } from '../../lib/store.js';

/** Sentences that deserve better words than themselves; any other is shown as it is. @type {[RegExp, { icon: string, title: string, note: string }][]} */
const ROWS = [
  [/^run /, { icon: 'prompt', title: 'Run a command and check it', note: 'In a private copy first' }],
  [/^what did/, { icon: 'activity', title: 'What did you do?', note: 'Everything is written down' }],
];

/** Puts a sentence into the composer, with its first blank selected. @param {string} sentence */
function fill(sentence) {
  set({ draft: sentence });
  requestAnimationFrame(() => {
    const field = /** @type {HTMLTextAreaElement | null} */ (document.getElementById('composer'));
    const blank = /[A-Z]{3,}/.exec(sentence);
    field?.focus();
    if (blank) field?.setSelectionRange(blank.index, blank.index + blank[0].length);
  });
}

/** Says it for the owner, and goes where the answer will be. */
export function AddModel() {
  const add = () => {
    void say('add a model');
    go('review');
  };
  return html`<button type="button" class="link-button" onClick=${add}>Add a model</button>`;
}

/** Said by its own button below. */
const ADD_MODEL = 'add a model';

/** @param {{ understood: string[], hasModel: boolean }} props */
export function Welcome({ understood, hasModel }) {
  return html`<div class="welcome">
    <h1 class="greeting">Nothing happens without you.</h1>
    <p class="welcome-text">Silas works in a private copy, shows you what changed and whether it works, and waits for your tap.</p>
    <ul class="welcome-rows">${understood.filter((sentence) => sentence !== ADD_MODEL).map((sentence) => {
      const known = ROWS.find(([pattern]) => pattern.test(sentence))?.[1];
      const { icon, title, note } = known ?? { icon: 'chevron', title: sentence, note: '' };
      return html`<li key=${sentence}><button type="button" class="welcome-row" onClick=${() => fill(sentence)}>
        <span class="welcome-icon"><${Icon} name=${icon} size=${20} /></span>
        <span class="welcome-words"><b>${title}</b>${note && html`<span>${note}</span>`}</span>
        <${Icon} name="chevron" size=${18} />
      </button></li>`;
    })}</ul>
    ${!hasModel && html`<div class="welcome-note"><p><b>No model yet.</b> Tasks, commands and checks work without one. Open questions need one.</p><${AddModel} /></div>`}
  </div>`;
}
