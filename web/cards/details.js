// @ts-check
// The part of a card that opens: what the runtime lists, the changes, and what would be signed.

import { useLayoutEffect, useState } from '../vendor/hooks.js';
import { used } from '../lib/advanced.js';
import { executionOf } from '../lib/decision.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { FactText, strict } from '../lib/text.js';
import { Counts, Diffs, NoLines } from './diff.js';
import { CheckLines, LINES_MAX } from './evidence.js';
import { SavePatch, inDock } from './patch.js';
import { signedDetails } from './payload.js';
import { Compare } from './versions.js';

/** @typedef {import('../protocol.js').Detail} Detail */

/** Label and text, line by line; what came to how many lines, in the colours of a change. @param {{ facts: import('../protocol.js').Fact[], diffs?: import('../protocol.js').FileDiff[], children?: unknown }} props `diffs`: what the counts are of. `children`: a line before them. */
export function Facts({ facts, diffs = [], children }) {
  return html`<dl class="facts">${children}${facts.map(({ label, text }, at) => html`<div key=${at}><dt>${strict(label)}</dt><dd><${Fact} text=${text} diffs=${diffs} /></dd></div>`)}</dl>`;
}

/** @param {{ text: string, diffs: import('../protocol.js').FileDiff[] }} props */
function Fact({ text, diffs }) {
  const lines = /^(.*) \+(\d+) −(\d+)$/s.exec(text);
  if (!lines) return html`<${FactText} text=${text} />`;
  // A count of nothing would hide that a file becomes executable, or is there from now on.
  if (lines[2] === '0' && lines[3] === '0' && diffs.length > 0) return html`<${FactText} text=${lines[1]} />${' '}<${NoLines} diffs=${diffs} />`;
  return html`<${FactText} text=${lines[1]} />${' '}<${Counts} diff=${{ added: Number(lines[2]), removed: Number(lines[3]) }} />`;
}

/** What fits the two columns of facts is read fastest there. */
const ROW_TITLE_CHARS_MAX = 11;
const ROW_LINE_CHARS_MAX = 30;

/** @param {Detail} detail */
const isRow = ({ title, lines }) => lines.length === 1 && title.length <= ROW_TITLE_CHARS_MAX && lines[0].length <= ROW_LINE_CHARS_MAX && !/[\n\t]| {2}/.test(lines[0]);

/** Short ones that follow each other as rows, the others as lists, in their order. @param {{ details: Detail[] }} props */
function RowsAndLists({ details }) {
  /** @type {Detail[][]} */
  const runs = [];
  for (const detail of details) {
    const last = runs.at(-1);
    if (last && isRow(last[0]) && isRow(detail)) last.push(detail);
    else runs.push([detail]);
  }
  return runs.map((run, at) => (isRow(run[0])
    ? html`<${Facts} key=${at} facts=${run.map(({ title, lines }) => ({ label: title, text: lines[0] }))} />`
    : html`<${DetailLists} key=${at} details=${run} />`));
}

/** @param {{ details: Detail[] }} props */
export function DetailLists({ details }) {
  return details.map(({ title, lines }, at) => html`<section class="detail" key=${`${title}${at}`}>
    <h3>${strict(title)}</h3>
    <ul>${lines.map((line, n) => html`<li key=${n}><${FactText} text=${line} /></li>`)}</ul>
  </section>`);
}

/** @param {import('../protocol.js').Card} card @param {import('../protocol.js').Fact[]} moved */
export function hasDetails({ face, offer, payload, instead, state }, moved) {
  return face.details.length + face.diffs.length + moved.length > 0 || state === 'parked'
    || signedDetails(/** @type {any} */ ({ offer, payload, instead })).length > 0 || checkCount(face) > LINES_MAX || (face.evidence?.caveats ?? []).length > 0;
}

/** @param {import('../protocol.js').Face} face */
export const checkCount = ({ evidence }) => Math.max(evidence?.before.length ?? 0, evidence?.after.length ?? 0);

/**
 * @param {{ card: import('../protocol.js').Card, startsOpen: boolean, moved: import('../protocol.js').Fact[], checksListed: boolean, children?: unknown }} props
 *   `moved`: facts that did not fit above; `checksListed`: nor did the checks, or not whole. `children`: whatever else moved here.
 */
export function Details({ card, startsOpen, moved, checksListed, children }) {
  const { face } = card;
  const [open, setOpen] = useState(startsOpen);
  useLayoutEffect(() => setOpen(startsOpen), [startsOpen, card.id]);
  const signed = signedDetails(card);
  const execution = executionOf(card);
  const toggled = (/** @type {boolean} */ isOpen) => {
    // What opened by itself was looked for by nobody.
    if (isOpen === open) return;
    setOpen(isOpen);
    if (isOpen && face.diffs.length > 0 && execution !== null) used('patch');
  };
  // Of a result the change comes before whatever there is to say about it.
  const isResult = face.kind === 'rehearsed' || face.kind === 'done' || face.kind === 'report';
  const title = card.state === 'parked' ? (face.kind === 'plan' ? 'The plan as it was' : 'As it was') : face.details_title || 'Details';
  return html`<details class="details" open=${open} onToggle=${(/** @type {any} */ event) => toggled(event.currentTarget.open)}>
    <summary><span>${strict(title)}</span><${Icon} name=${open ? 'up' : 'down'} size=${20} /></summary>
    <div class="details-body">
      <${Compare} compare=${face.versions?.compare} />
      ${isResult && html`<${Change} card=${card} execution=${execution} />`}
      ${children}
      ${moved.length > 0 && html`<${Facts} facts=${moved} diffs=${face.diffs} />`}
      <${RowsAndLists} details=${face.details} />
      ${face.evidence && (checksListed || checkCount(face) > LINES_MAX) && html`<section class="detail"><h3>All checks</h3><${CheckLines} before=${face.evidence.before} after=${face.evidence.after} /></section>`}
      ${!isResult && html`<${Change} card=${card} execution=${execution} />`}
      ${signed.length > 0 && html`<div class="signed"><h3>Exactly what you sign</h3><${DetailLists} details=${signed} /></div>`}
    </div>
  </details>`;
}

/** The change, line by line, and a way to take it along. @param {{ card: import('../protocol.js').Card, execution: string | null }} props */
function Change({ card, execution }) {
  const { diffs } = card.face;
  return html`<${Diffs} diffs=${diffs} />
    ${diffs.length > 0 && execution && !inDock(card) && html`<${SavePatch} execution=${execution} />`}`;
}
