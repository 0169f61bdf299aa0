// @ts-check
// The empty Stream teaches: what Silas promises, what to begin with, and the other sentences it understands today.

import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { say } from '../../lib/saying.js';
import { addModel } from '../../lib/setting-up.js';
import { set } from '../../lib/store.js';
import { Words } from '../../lib/text.js';

/** What to begin with: a sentence that is understood, in better words than itself. `example` takes the place of its blank; what `says` is said with the tap, in the words of its title. @type {{ pattern: RegExp, icon: string, title: string, note: string, example?: string, says?: boolean }[]} */
const STARTERS = [
  { pattern: /^try it on a sample/, icon: 'prompt', title: 'Try it on a sample project', note: 'Fix a bug, undo it. 1 minute.', says: true },
  { pattern: /^run /, icon: 'tick', title: 'Run a command, check it', note: 'In a private copy first' },
  { pattern: /^add task /, icon: 'task', title: 'Add “call the dentist”', note: 'To your tasks, without a model', example: 'call the dentist' },
];

/** Where somebody has to put something of their own. */
export const BLANK = /[A-Z]{3,}/;

/** Puts a sentence into the composer, with its first blank selected or what was put there. @param {string} sentence @param {string} [example] */
export function fill(sentence, example) {
  const blank = BLANK.exec(sentence);
  set({ draft: example ? sentence.replace(BLANK, example) : sentence });
  // As soon as it is drawn, and before anything else can be typed.
  queueMicrotask(() => {
    const field = /** @type {HTMLTextAreaElement | null} */ (document.getElementById('composer'));
    field?.focus();
    if (blank) field?.setSelectionRange(blank.index, blank.index + (example ?? blank[0]).length);
  });
}

/** Says it for the owner, and goes where the answer will be. */
export function AddModel() {
  return html`<button type="button" class="link-button add-model" onClick=${addModel}>Add a model<${Icon} name="chevron" size=${18} /></button>`;
}

/** What was opened is not left behind the composer. @param {Event} event */
function inSight({ currentTarget: more }) {
  if (more instanceof HTMLDetailsElement && more.open) more.scrollIntoView({ block: 'start', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
}

/** Said by its own button below. */
const ADD_MODEL = 'add a model';

/** @param {{ understood: string[], hasModel: boolean }} props */
export function Welcome({ understood, hasModel }) {
  const starters = STARTERS.flatMap((starter) => {
    const sentence = understood.find((known) => starter.pattern.test(known));
    return sentence === undefined ? [] : [{ ...starter, sentence }];
  });
  const others = understood.filter((sentence) => sentence !== ADD_MODEL && !starters.some((starter) => starter.sentence === sentence));
  return html`<div class="welcome">
    <h1 class="greeting">Nothing happens without you.</h1>
    <p class="welcome-text">Silas works in a private copy, shows you what changed and whether it works, and waits for your tap.</p>
    <ul class="welcome-rows">${starters.map(({ sentence, icon, title, note, example, says }) => html`<li key=${sentence}><button type="button" class="welcome-row" onClick=${() => (says ? void say(title) : fill(sentence, example))}>
      <span class="welcome-icon"><${Icon} name=${icon} size=${20} /></span>
      <span class="welcome-words"><b>${title}</b><span>${note}</span></span>
      <${Icon} name="chevron" size=${18} />
    </button></li>`)}</ul>
    ${!hasModel && html`<div class="welcome-note"><p><b>No model yet.</b> Tasks, commands and checks work without one. Open questions need one.</p><${AddModel} /></div>`}
    ${others.length > 0 && html`<details class="welcome-more" onToggle=${inSight}><summary>What else you can say<${Icon} name="down" size=${18} /></summary>
      <ul>${others.map((sentence) => html`<li key=${sentence}><button type="button" class="welcome-sentence" onClick=${() => fill(sentence)}><${Words} text=${sentence} /></button></li>`)}</ul>
    </details>`}
  </div>`;
}
