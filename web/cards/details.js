// @ts-check
// The part of a card that opens: what the runtime lists, the changes, and what would be signed.

import { useEffect, useState } from '../vendor/hooks.js';
import { executionOf } from '../lib/decision.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { FactText, strict } from '../lib/text.js';
import { Diffs } from './diff.js';
import { CheckLines, LINES_MAX } from './evidence.js';
import { SavePatch } from './patch.js';
import { signedDetails } from './payload.js';
import { Compare } from './versions.js';

/** @typedef {import('../protocol.js').Detail} Detail */

/** @param {{ details: Detail[] }} props */
export function DetailLists({ details }) {
  return details.map(({ title, lines }, at) => html`<section class="detail" key=${`${title}${at}`}>
    <h3>${strict(title)}</h3>
    <ul>${lines.map((line, n) => html`<li key=${n}><${FactText} text=${line} /></li>`)}</ul>
  </section>`);
}

/** @param {import('../protocol.js').Card} card @param {import('../protocol.js').Fact[]} moved */
export function hasDetails({ face, offer, payload, state }, moved) {
  return face.details.length + face.diffs.length + moved.length > 0 || state === 'parked'
    || signedDetails(/** @type {any} */ ({ offer, payload })).length > 0 || checkCount(face) > LINES_MAX;
}

/** @param {import('../protocol.js').Face} face */
export const checkCount = ({ evidence }) => Math.max(evidence?.before.length ?? 0, evidence?.after.length ?? 0);

/**
 * @param {{ card: import('../protocol.js').Card, startsOpen: boolean, moved: import('../protocol.js').Fact[], checksMoved: boolean, children?: unknown }} props
 *   `moved`: facts that did not fit above; `checksMoved`: so did the lines of the checks. `children`: whatever else moved here.
 */
export function Details({ card, startsOpen, moved, checksMoved, children }) {
  const { face } = card;
  const [open, setOpen] = useState(startsOpen);
  useEffect(() => setOpen(startsOpen), [startsOpen, card.id]);
  const signed = signedDetails(card);
  const execution = executionOf(card);
  const title = card.state === 'parked' ? 'As it was' : face.details_title || 'Details';
  return html`<details class="details" open=${open} onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}>
    <summary><span>${strict(title)}</span><${Icon} name=${open ? 'up' : 'down'} size=${20} /></summary>
    <div class="details-body">
      ${children}
      <${Compare} compare=${face.versions?.compare} />
      <${DetailLists} details=${moved.map(({ label, text }) => ({ title: label, lines: [text] }))} />
      <${DetailLists} details=${face.details} />
      ${face.evidence && (checksMoved || checkCount(face) > LINES_MAX) && html`<section class="detail"><h3>All checks</h3><${CheckLines} before=${face.evidence.before} after=${face.evidence.after} /></section>`}
      <${Diffs} diffs=${face.diffs} />
      ${face.diffs.length > 0 && execution && html`<${SavePatch} execution=${execution} />`}
      ${signed.length > 0 && html`<div class="signed"><h3>Exactly what you sign</h3><${DetailLists} details=${signed} /></div>`}
    </div>
  </details>`;
}
