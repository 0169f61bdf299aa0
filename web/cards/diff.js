// @ts-check
// Changed files, line by line. Signs and words say what the colours say, and what is in no line is said in words: that a
// file becomes executable, a link, or is gone, and that some of its changed lines are not shown.

import { html } from '../lib/html.js';
import { count, oneLine, strict } from '../lib/text.js';

/** @typedef {import('../protocol.js').FileDiff} FileDiff */

/** @param {{ diff: { added: number, removed: number } }} props */
export function Counts({ diff }) {
  return html`<span class="counts">
    <span class="plus" aria-label=${`${count(diff.added, 'line')} added`}>+${diff.added.toLocaleString('en')}</span>${' '}
    <span class="minus" aria-label=${`${count(diff.removed, 'line')} removed`}>−${diff.removed.toLocaleString('en')}</span>
  </span>`;
}

/** Of a line of which only the beginning is shown. */
const IS_CUT = / more characters⟩(⟨no line end⟩)?$/;

/** Changed lines of which not everything is there, counted from those that are: an earlier version called them unchanged. @param {FileDiff} diff */
export function notShown({ added, removed, lines }) {
  if (lines === null) return 0;
  const whole = lines.filter((line) => ('added' in line && !IS_CUT.test(line.added)) || ('removed' in line && !IS_CUT.test(line.removed)));
  return Math.max(0, added + removed - whole.length);
}

/** @param {{ line: import('../protocol.js').DiffLine, isWhole: boolean }} props `isWhole`: everything that changed in the file is shown. */
function Line({ line, isWhole }) {
  if ('gap' in line) return html`<li class="diff-gap">${count(line.gap, 'line')}${isWhole && ' unchanged'}</li>`;
  if ('not_shown' in line) return null;
  const [kind, text] = Object.entries(line)[0];
  const sign = { added: '+', removed: '−', same: '' }[kind];
  return html`<li class=${`diff-${kind}`}>
    <span class="sign" aria-hidden="true">${sign}</span>
    ${kind !== 'same' && html`<span class="hidden">${kind}: </span>`}
    <span class="code">${strict(text)}</span>
  </li>`;
}

/** The path, with its directory where a plan changes several, and from where it moved. @param {FileDiff} diff */
const named = (diff) => oneLine(`${diff.renamed_from ? `${diff.renamed_from} → ` : ''}${diff.directory ? `${diff.directory}/` : ''}${diff.path}`);

/** @param {import('../protocol.js').FileMode | undefined} mode */
const isLink = (mode) => mode === 'link';
/** @param {import('../protocol.js').FileMode | undefined} mode */
const bits = (mode) => (mode === undefined || mode === 'link' ? 0 : mode.file & 0o7777);
/** @param {import('../protocol.js').FileMode | undefined} mode */
const isExecutable = (mode) => (bits(mode) & 0o111) !== 0;

/** What becomes of the file itself, in words; nothing where only its lines change. @param {FileDiff} diff @returns {string} */
export function becomes({ mode_before: before, mode_after: after, renamed_from: from, added, lines }) {
  if (after === undefined) return before === undefined ? '' : 'Is deleted';
  if (isLink(after)) return before === undefined ? 'New, a link' : isLink(before) ? 'A link, leads elsewhere' : 'Becomes a link';
  const may = isExecutable(after) ? 'executable' : '';
  if (before === undefined) return from ? may && `Moved, ${may}` : ['New', Array.isArray(lines) && added === 0 && 'empty', may].filter(Boolean).join(', ');
  if (isLink(before)) return ['Was a link, becomes a file', may].filter(Boolean).join(', ');
  if (isExecutable(before) !== isExecutable(after)) return may ? 'Becomes executable' : 'Is no longer executable';
  return bits(before) === bits(after) ? '' : `Permissions ${bits(before).toString(8)} become ${bits(after).toString(8)}`;
}

/** @param {FileDiff} diff */
const inWords = (diff) => becomes(diff).toLowerCase() || (diff.renamed_from ? 'moved' : diff.lines === null ? 'not text' : 'no line is different');

/** What becomes of files of which no line changes; each thing once. @param {{ diffs: FileDiff[] }} props */
export function NoLines({ diffs }) {
  return html`<span class="counts in-words">${[...new Set(diffs.map(inWords))].join('; ')}</span>`;
}

/** Lines, where they change; what becomes of the file, where none does. @param {{ diff: FileDiff }} props */
function Extent({ diff }) {
  if (diff.lines === null) return null;
  return diff.added + diff.removed > 0 ? html`<${Counts} diff=${diff} />` : html`<${NoLines} diffs=${[diff]} />`;
}

/** Where its lines stand, or why there are none. @param {{ diff: FileDiff }} props */
function Lines({ diff }) {
  const n = notShown(diff);
  if (diff.lines === null) return html`<p class="diff-none">${diff.mode_after === undefined && diff.mode_before !== undefined ? 'It was not text, or too large to show.' : 'Not text, or too large to show.'}</p>`;
  if (diff.added + diff.removed === 0) return diff.renamed_from || !becomes(diff) ? html`<p class="diff-none">${diff.renamed_from ? 'Moved, unchanged.' : 'No line is different.'}</p>` : null;
  return html`<ol>${diff.lines.map((line, at) => html`<${Line} key=${at} line=${line} isWhole=${n === 0} />`)}
    ${n > 0 && html`<li class="diff-gap diff-not-shown">${count(n, 'changed line')} not shown here</li>`}</ol>`;
}

/** @param {{ diffs: FileDiff[] }} props */
export function Diffs({ diffs }) {
  return diffs.map((diff, at) => html`<figure class="diff" key=${at} dir="ltr">
    <figcaption><span class="path">${named(diff)}</span>${diff.lines !== null && diff.added + diff.removed > 0 && html`<${Counts} diff=${diff} />`}</figcaption>
    ${becomes(diff) && html`<p class="diff-none diff-becomes">${becomes(diff)}</p>`}
    <${Lines} diff=${diff} />
  </figure>`);
}

/** Files on the card itself; more are counted there, and the details have all of them. */
export const FILES_MAX = 4;

/** One line per file. @param {{ diffs: FileDiff[] }} props */
export function FileList({ diffs }) {
  const shown = diffs.slice(0, FILES_MAX);
  return html`<ul class="files" dir="ltr">
    ${shown.map((diff, at) => html`<li key=${at}><span class="path">${named(diff)}</span><${Extent} diff=${diff} /></li>`)}
    ${diffs.length > shown.length && html`<li>${count(diffs.length - shown.length, 'more file')}, listed below</li>`}
  </ul>`;
}
