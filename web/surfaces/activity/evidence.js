// @ts-check
// What stands behind a row of Activity, opened in place. Facts are the runtime's; words of others stand apart, each with
// whose they are. The hash of the entry is computed here, so that nobody has to be believed about it.

import { useEffect, useState } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { shows } from '../../lib/advanced.js';
import { askBundle, askEvidence } from '../../lib/asking.js';
import { set, state as store } from '../../lib/store.js';
import { Said, strict } from '../../lib/text.js';
import { clock, day } from '../../lib/time.js';
import { follow } from '../../lib/witness.js';
import { Facts } from '../../cards/details.js';

/** @typedef {import('../../lib/store.js').State} State */
/** @typedef {import('../../protocol.js').EvidenceView} EvidenceView */

/** @param {number} seq */
export const idOf = (seq) => `evidence-${seq}`;

/** @param {{ state: State, seq: number }} props */
export function Evidence({ state, seq }) {
  const linked = state.link.status === 'open';
  const evidence = state.evidence[seq];
  // Asked for anew each time: what was forgotten meanwhile is not shown again.
  useEffect(() => void (linked && askEvidence(seq)), [seq, linked]);
  useEffect(() => () => {
    const { [seq]: closed, ...open } = store.evidence;
    set({ evidence: open });
  }, [seq]);
  if (!evidence) return html`<div class="row-evidence" id=${idOf(seq)}><p class="row-note" role="status">${linked ? 'Reading the log …' : 'This can be read as soon as Silas answers.'}</p></div>`;
  const { facts, quotes, proof, link } = evidence;
  return html`<div class="row-evidence" id=${idOf(seq)}>
    ${facts.length > 0 && html`<${Facts} facts=${facts} />`}
    ${quotes.map(({ who, text }, at) => html`<blockquote class="quote" key=${at}><p class="quote-label">${strict(who)}</p><p class="row-quote" dir="auto"><${Said} text=${text} /></p></blockquote>`)}
    ${proof && html`<p class="row-links"><a class="link-button" href=${`#proof/${proof}`}>See the proof</a>
      ${shows(state, 'proof_file') && html`<button type="button" class="link-button" disabled=${!linked} onClick=${() => askBundle(proof)}>Save its file</button>`}</p>`}
    <${Entry} link=${link} holds=${evidence.holds} />
  </div>`;
}

/** The entry itself: its number, its hash, and whether that is right. @param {{ link: EvidenceView['link'], holds: boolean }} props */
function Entry({ link, holds }) {
  const [fits, setFits] = useState(/** @type {boolean | null} */ (null));
  useEffect(() => {
    let current = true;
    void follow({ seq: link.seq - 1, hash: link.prev }, [link]).then((reached) => current && setFits(reached !== null && holds));
    return () => void (current = false);
  }, [link]);
  const number = `Entry ${link.seq.toLocaleString('en')}`;
  if (fits === false) {
    return html`<p class="row-entry row-altered" role="alert"><${Icon} name="broken" size=${16} /><span><b>${number} was altered.</b> Its hash does not fit its content. Approve nothing. On its machine: <code dir="ltr">silas audit verify</code></span></p>`;
  }
  return html`<p class="row-entry"><${Icon} name="link" size=${16} /><span>${number} of the log, <code dir="ltr">${link.event}</code>, ${day(link.at)} ${clock(link.at)}. ${fits ? 'Computed here, its hash is' : 'Its hash is'} <code class="row-hash" dir="ltr">${link.hash}</code></span></p>`;
}
