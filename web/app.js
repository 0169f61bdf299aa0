// @ts-check
// Starts the page: reads the pairing code, looks for a key of this browser, and shows either pairing or everything.

import { render } from './vendor/preact.js';
import { html } from './lib/html.js';
import { devices } from './lib/keys.js';
import { takeCode } from './lib/pairing.js';
import { start } from './lib/session.js';
import { set, useStore } from './lib/store.js';
import { Frame } from './surfaces/frame/frame.js';
import { Pair } from './surfaces/pair/pair.js';

let code = takeCode();

/** A code is for one pairing; whoever comes to that screen again needs a new one. */
function paired() {
  code = null;
  void start();
}

function App() {
  const state = useStore();
  return html`
    ${state.phase === 'pairing' && html`<${Pair} code=${code} note=${state.pairingNote} onPaired=${paired} />`}
    ${state.phase === 'paired' && html`<${Frame} state=${state} />`}
    <p class="hidden" role="status" aria-live="polite">${state.said}</p>`;
}

render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById('app')));

// A code in the address means that somebody wants to pair, also a browser that has a key already.
if (!code && (await devices().catch(() => [])).length > 0) await start();
else set({ phase: 'pairing' });

// The shell stays readable without a connection. Where workers are refused, the page works all the same.
void navigator.serviceWorker?.register('/sw.js', { type: 'module' }).catch(() => {});
