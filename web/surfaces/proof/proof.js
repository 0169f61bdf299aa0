// @ts-check
// The proof of one execution: each line is backed by the log. Shows, and decides nothing.

import { useEffect, useLayoutEffect, useRef } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { used } from '../../lib/advanced.js';
import { executionOf } from '../../lib/decision.js';
import { bundleName } from '../../lib/download.js';
import { askBundle, askProof } from '../../lib/asking.js';
import { Words, strict, visible } from '../../lib/text.js';
import { Diffs } from '../../cards/diff.js';
import { SavePatch } from '../../cards/patch.js';
import { Caveats, CheckCommand, CheckLines, isUnprotected } from '../../cards/evidence.js';
import { WayBack } from '../../cards/undo.js';
import { OUTCOMES } from '../../cards/risk.js';

/** @typedef {import('../../protocol.js').ProofView} ProofView */

/** @param {{ state: import('../../lib/store.js').State, execution: string, onBack: () => void }} props */
export function Proof({ state, execution, onBack }) {
  const linked = state.link.status === 'open';
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  // Asked for anew each time: an undo adds to the story.
  useEffect(() => void (linked && askProof(execution)), [execution, linked]);
  useLayoutEffect(() => title.current?.focus(), []);
  const proof = state.proofs[execution];
  useLayoutEffect(() => void (proof && !proof.no_bundle && used('proof_file')), [proof]);
  return html`<section class="proof" aria-label="Proof">
    <div class="proof-top"><button type="button" class="proof-back" aria-label="Back" onClick=${onBack}><${Icon} name="back" size=${22} /></button><h1 ref=${title} tabindex="-1">Proof</h1>
      ${proof && !proof.no_bundle && html`<button type="button" class="proof-save" disabled=${!linked} onClick=${() => askBundle(execution)}><${Icon} name="save" size=${20} />Save file</button>`}</div>
    ${proof ? html`<${Story} proof=${proof} linked=${linked} canUndo=${state.cards.some((card) => card.face.kind === 'done' && executionOf(card) === execution)} />` : html`<p class="proof-wait">${linked ? 'Reading the log …' : 'The proof can be read as soon as Silas answers.'}</p>`}
  </section>`;
}

/** @param {{ proof: ProofView, linked: boolean, canUndo: boolean }} props */
function Story({ proof, linked, canUndo }) {
  const { word, icon } = OUTCOMES[proof.outcome];
  return html`<div class=${`proof-head proof-${proof.outcome}`}>
      <${Icon} name=${icon} size=${40} />
      <h2>${word}</h2>
    </div>
    <p class="proof-title" dir="auto">${visible(proof.title)}</p>
    ${(proof.outcome !== 'proved' || isUnprotected(proof.claim)) && proof.claim && html`<p class="proof-claim">${strict(proof.claim)}</p>`}
    <ol class="proof-steps">${proof.steps.map((step, at) => html`<li key=${at}><${Icon} name="tick" size=${18} /><div><h3><${Words} text=${step.title} /></h3><p><${Words} text=${step.note} /></p></div></li>`)}</ol>
    ${proof.after.length > 0 && html`<section class="proof-part"><h2>Checks, before and after</h2><div class="proof-checks"><${CheckLines} before=${proof.before} after=${proof.after} /></div>
      <ul class="proof-reasons">${proof.after.map((result) => html`<li key=${result.name}><${CheckCommand} result=${result} />: ${strict(result.reason)}</li>`)}</ul>
      <${Caveats} caveats=${proof.caveats} /></section>`}
    ${proof.diffs.length > 0 && html`<section class="proof-part"><h2>What changed</h2><${Diffs} diffs=${proof.diffs} /><${SavePatch} execution=${proof.execution} disabled=${!linked} /></section>`}
    ${proof.state === 'applied' && !canUndo && html`<section class="proof-part proof-back-plan"><h2>Put it back</h2><p>What was replaced is kept for a month, unless it was too large or committed. A plan puts it back, unless you changed it since.</p><${WayBack} execution=${proof.execution} disabled=${!linked} /></section>`}
    <${Elsewhere} proof=${proof} />`;
}

/** The same facts as a file, for whoever need not believe this page. @param {{ proof: ProofView }} props */
function Elsewhere({ proof }) {
  if (proof.no_bundle) return html`<p class="proof-file">There is no file of this proof. ${strict(proof.no_bundle)}</p>`;
  return html`<p class="proof-file">Anyone with your public root key can check the file, without Silas running. It holds what the checks printed and how the changed files read.
    <code>silas verify ${bundleName(proof.execution)} --key ROOTKEY</code> In place of ROOTKEY goes the key that this prints on the machine where Silas runs: <code>silas key root</code></p>`;
}
