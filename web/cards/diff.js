// @ts-check
// Changed files, line by line. Signs and words say what the colours say.

import { html } from '../lib/html.js';
import { count, strict } from '../lib/text.js';

/** @typedef {import('../protocol.js').FileDiff} FileDiff */

/** @param {{ diff: { added: number, removed: number } }} props */
export function Counts({ diff }) {
  return html`<span class="counts">
    <span class="plus" aria-label=${`${count(diff.added, 'line')} added`}>+${diff.added}</span>${' '}
    <span class="minus" aria-label=${`${count(diff.removed, 'line')} removed`}>−${diff.removed}</span>
  </span>`;
}

/** @param {{ line: import('../protocol.js').DiffLine }} props */
function Line({ line }) {
  if ('gap' in line) return html`<li class="diff-gap">${count(line.gap, 'line')} unchanged</li>`;
  const [kind, text] = Object.entries(line)[0];
  const sign = { added: '+', removed: '−', same: '' }[kind];
  return html`<li class=${`diff-${kind}`}>
    <span class="sign" aria-hidden="true">${sign}</span>
    ${kind !== 'same' && html`<span class="hidden">${kind}: </span>`}
    <span class="code">${strict(text)}</span>
  </li>`;
}

/** The path, with its directory where a plan changes several, and from where it moved. @param {FileDiff} diff */
const named = (diff) => strict(`${diff.renamed_from ? `${diff.renamed_from} → ` : ''}${diff.directory ? `${diff.directory}/` : ''}${diff.path}`);

/** @param {{ diffs: FileDiff[] }} props */
export function Diffs({ diffs }) {
  return diffs.map((diff) => html`<figure class="diff" key=${named(diff)} dir="ltr">
    <figcaption><span class="path">${named(diff)}</span><${Counts} diff=${diff} /></figcaption>
    ${diff.lines === null
      ? html`<p class="diff-none">Not text, or too large to show.</p>`
      : diff.renamed_from && diff.added + diff.removed === 0
      ? html`<p class="diff-none">Moved, unchanged.</p>`
      : html`<ol>${diff.lines.map((line, at) => html`<${Line} key=${at} line=${line} />`)}</ol>`}
  </figure>`);
}

/** Files on the card itself; more are counted there, and the details have all of them. */
export const FILES_MAX = 4;

/** One line per file. @param {{ diffs: FileDiff[] }} props */
export function FileList({ diffs }) {
  const shown = diffs.slice(0, FILES_MAX);
  return html`<ul class="files" dir="ltr">
    ${shown.map((diff) => html`<li key=${named(diff)}><span class="path">${named(diff)}</span><${Counts} diff=${diff} /></li>`)}
    ${diffs.length > shown.length && html`<li>${count(diffs.length - shown.length, 'more file')}, listed below</li>`}
  </ul>`;
}
