// @ts-check
// The two sheets that belong to no surface: the question before Stop, and More.

import { useLayoutEffect, useRef, useState } from '../../vendor/hooks.js';
import { addPasskey, stop, stopAndRevokeAll } from '../../lib/asking.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { notShown, showEverything, shows } from '../../lib/advanced.js';
import { canTell, tells, want } from '../../lib/notify.js';
import { passkeys, unavailable } from '../../lib/passkeys.js';
import { addModel } from '../../lib/setting-up.js';
import { set } from '../../lib/store.js';
import { count, visible } from '../../lib/text.js';
import { Sheet } from './sheet.js';

/** @typedef {import('../../lib/store.js').State} State */

/** Within this a second tap belongs to the first. */
const DOUBLE_TAP_MS = 350;

const close = () => set({ sheet: null });

const setUpModel = () => {
  close();
  addModel();
};

/** @param {{ state: State }} props */
export function Sheets({ state }) {
  if (state.sheet === 'stop') return html`<${StopSheet} state=${state} />`;
  if (state.sheet === 'more') return html`<${MoreSheet} state=${state} />`;
  return null;
}

/** @param {{ state: State }} props */
function StopSheet({ state }) {
  const [revokes, setRevokes] = useState(false);
  const turned = useRef(0);
  /** The second tap of a double tap neither confirms nor goes back. @param {() => void} act */
  const deliberately = (act) => () => void (performance.now() - turned.current < DOUBLE_TAP_MS || act());
  const turn = (/** @type {boolean} */ on) => {
    turned.current = performance.now();
    setRevokes(on);
  };
  const one = state.work.find(({ execution, running }) => running && execution === state.stopping);
  const n_running = state.work.filter((work) => work.running).length;
  const { grants, cards } = state;
  const n_grants = grants.length + state.n_more_grants;
  const kept = [n_grants > 0 && !revokes && count(n_grants, 'grant'), cards.length > 0 && `${count(cards.length, 'card')} in Review`, 'the log'].filter(Boolean);
  if (state.link.status !== 'open') {
    return html`<${Sheet} label="Stop everything" onClose=${close}>
      <h2 class="sheet-title" tabindex="-1">This page cannot reach Silas</h2>
      <p class="sheet-text">On its machine: <code dir="ltr">silas stop --all</code></p>
      <div class="dock-row"><button type="button" class="button plain last" onClick=${close}>Close</button></div>
    <//>`;
  }
  if (one) {
    return html`<${Sheet} label="Stop this task" onClose=${close}>
      <h2 class="sheet-title" tabindex="-1">Stop this task?</h2>
      <p class="sheet-text" dir="auto">${visible(one.title)}</p>
      <ul class="sheet-list">
        <li class="ends"><${Icon} name="cross" size=${18} /><p><b>It ends now.</b> What is only in its private copy is thrown away.</p></li>
        ${n_running > 1 && html`<li class="kept"><${Icon} name="tick" size=${18} /><p><b>Goes on:</b> ${count(n_running - 1, 'other task')}.</p></li>`}
      </ul>
      <button type="button" class="button stop" onClick=${() => stop(one.execution)}><${Icon} name="stop" size=${22} />Stop this task</button>
      <div class="dock-row"><button type="button" class="button plain last" onClick=${close}>Keep going</button></div>
    <//>`;
  }
  // A question about one task never becomes one about all of them under somebody's thumb.
  if (state.stopping !== null) {
    const ended = state.work.find(({ execution }) => execution === state.stopping);
    return html`<${Sheet} label="Stop this task" onClose=${close}>
      <h2 class="sheet-title" tabindex="-1">This task has ended</h2>
      ${ended && html`<p class="sheet-text" dir="auto">${visible(ended.title)}</p>`}
      <p class="sheet-text" role="status">There is nothing of it left to stop.</p>
      <div class="dock-row"><button type="button" class="button plain last" onClick=${close}>Close</button></div>
    <//>`;
  }
  return html`<${Sheet} label="Stop everything" onClose=${close}>
    <h2 class="sheet-title" tabindex="-1">Stop everything?</h2>
    <ul class="sheet-list">
      ${n_running > 0
        ? html`<li class="ends"><${Icon} name="cross" size=${18} /><p><b>${count(n_running, 'task')} ${n_running === 1 ? 'ends' : 'end'} now.</b> What is only in a private copy is thrown away.</p></li>`
        : html`<li><${Icon} name="activity" size=${18} /><p><b>Nothing is running</b> as far as this page knows.</p></li>`}
      <li class="kept"><${Icon} name="tick" size=${18} /><p><b>Kept:</b> ${kept.join(', ')}.</p></li>
    </ul>
    ${revokes
      ? html`<${ConfirmRevoking} n_grants=${n_grants} off=${state.revoking !== null} onConfirm=${deliberately(stopAndRevokeAll)} />`
      : html`<button type="button" class="button stop" onClick=${() => stop(null)}><${Icon} name="stop" size=${22} />Stop everything</button>`}
    <div class="dock-row">
      ${grants.length > 0 && (revokes
        ? html`<button type="button" class="button plain" onClick=${deliberately(() => turn(false))}>Back</button>`
        : html`<button type="button" class="button plain" disabled=${state.revoking !== null} onClick=${() => turn(true)}>Stop and revoke all</button>`)}
      <button type="button" class="button plain last" onClick=${close}>Keep going</button>
    </div>
  <//>`;
}

/** What cannot be brought back with one tap is not gone with one. @param {{ n_grants: number, off: boolean, onConfirm: () => void }} props */
function ConfirmRevoking({ n_grants, off, onConfirm }) {
  const confirm = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => confirm.current?.focus({ preventScroll: true }), []);
  return html`<div class="chip">
    <p id="revokes">Stops everything and revokes ${count(n_grants, 'grant')}. Directories, models and house rules ask you again.</p>
    <button type="button" class="button filled confirm" ref=${confirm} disabled=${off} aria-describedby="revokes" onClick=${onConfirm}><${Icon} name="tick" size=${18} />Confirm</button>
  </div>`;
}

const KEYS = [['/', 'Write to Silas'], ['R', 'Review'], ['A', 'Activity'], ['.', 'Stop everything, asks first'], ['?', 'This list']];

/** @param {State} state */
function passkeyWords({ devices }) {
  const { known } = passkeys(devices);
  if (known.length > 0) return 'What cannot be undone is signed with it, and with no other key.';
  return unavailable() ?? 'Let what cannot be undone ask for your finger, face or PIN.';
}

/** The one place from which what was of no use yet can be reached. @param {{ state: State }} props */
function Everything({ state }) {
  const { everything } = state.uses;
  const hidden = notShown(state);
  if (hidden.length === 0) return null;
  return html`<h3 class="sheet-label">Shown when it is of use</h3>
    <p class="sheet-text">${hidden.join(' · ')}</p>
    <button type="button" class="link-button" onClick=${() => showEverything(!everything)}>${everything ? 'Show only what was of use' : 'Show everything'}</button>`;
}

/** @param {{ state: State }} props */
function MoreSheet({ state }) {
  return html`<${Sheet} label="More" onClose=${close}>
    <h2 class="sheet-title" tabindex="-1">This browser</h2>
    <p class="sheet-text">${state.device ? html`Paired as <b><bdi>${state.device}</bdi></b>. ` : ''}Its key stays here and signs what you decide.</p>
    ${shows(state, 'passkeys') && html`<h3 class="sheet-label">Passkey</h3>
    <p class="sheet-text">${passkeyWords(state)}</p>`}
    ${shows(state, 'passkeys') && !unavailable() && html`<button type="button" class="button outlined" disabled=${state.link.status !== 'open'} onClick=${addPasskey}><${Icon} name="finger" size=${20} />${passkeys(state.devices).known.length > 0 ? 'Add another passkey' : 'Add a passkey'}</button>`}
    <h3 class="sheet-label">Notifications</h3>
    <p class="sheet-text">${tells() ? 'On while this page is open in the background: each decision that waits, what it is and how risky.' : canTell() ? 'Off. You find out what waits when you look at this page.' : 'This browser does not allow them on this page.'}</p>
    ${canTell() && html`<button type="button" class="link-button" onClick=${() => void want(!tells())}>${tells() ? 'Turn them off here' : 'Tell me when a card waits'}</button>`}
    <h3 class="sheet-label">Another device</h3>
    <p class="sheet-text">On the machine where Silas runs: <code dir="ltr">silas pair</code></p>
    <h3 class="sheet-label">Models</h3>
    <p class="sheet-text">${state.no_model === null ? 'A model answers open questions.' : 'Open questions need a model; nothing else does.'}</p>
    <button type="button" class="link-button" onClick=${setUpModel}>${state.no_model === null ? 'Choose another model' : 'Add a model'}</button>
    ${shows(state, 'programs') && html`<h3 class="sheet-label">For programs</h3>
    <p class="sheet-text">What Silas speaks at its doors, and how a request is signed.</p>
    <a class="link-button sheet-link" href="/api.html">Read it</a>`}
    ${shows(state, 'keys') && html`<h3 class="sheet-label">Keys</h3>
    <dl class="keys">${KEYS.map(([key, meaning]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${meaning}</dd></div>`)}</dl>`}
    <${Everything} state=${state} />
    <div class="dock-row"><button type="button" class="button plain last" onClick=${close}>Close</button></div>
  <//>`;
}
