// @ts-check
// What a model said, set as text: paragraphs, lists and blocks of code. Nothing else of its marks means anything here, so it
// links nowhere, loads nothing and looks like nothing of Silas's; `code` within a line keeps its marks, as everywhere.

import { html } from './html.js';
import { Said, strict } from './text.js';

/** @typedef {{ kind: 'text', text: string } | { kind: 'code', text: string } | { kind: 'bullets' | 'numbers', start: number, items: string[] }} Block */

const FENCE = /^ {0,3}(`{3,}|~{3,})[\w+.#-]*\s*$/;
const BULLET = /^\s{0,8}[-*•]\s+(\S.*)$/;
const NUMBER = /^\s{0,8}(\d{1,4})[.)]\s+(\S.*)$/;

/** Its blocks, in their order; every word is in one of them. A block of code that is not closed goes on to the end. @param {string} text @returns {Block[]} */
export function blocksOf(text) {
  /** @type {Block[]} */
  const blocks = [];
  /** What the next line may go on with. @type {Block | null} */
  let open = null;
  const lines = text.split('\n');
  for (let n = 0; n < lines.length; n += 1) {
    const line = lines[n];
    const fence = FENCE.exec(line)?.[1];
    const bullet = BULLET.exec(line);
    const number = NUMBER.exec(line);
    if (fence) {
      const end = lines.findIndex((later, at) => at > n && later.trim().startsWith(fence) && later.trim().replaceAll(fence[0], '') === '');
      const last = end < 0 ? lines.length : end;
      blocks.push({ kind: 'code', text: lines.slice(n + 1, last).join('\n') });
      [open, n] = [null, last];
    } else if (line.trim() === '') {
      open = null;
    } else if (bullet || number) {
      const kind = bullet ? 'bullets' : 'numbers';
      const item = bullet ? bullet[1] : /** @type {RegExpExecArray} */ (number)[2];
      const before = blocks.at(-1);
      // Items with an empty line between them are one list.
      const goesOn = before?.kind === kind && (bullet || Number(number?.[1]) === before.start + before.items.length);
      if (goesOn && 'items' in before) before.items.push(item);
      else blocks.push({ kind, start: Number(number?.[1] ?? 1), items: [item] });
      open = blocks.at(-1) ?? null;
    } else if (open?.kind === 'text') {
      open.text += `\n${line}`;
    } else if (open && 'items' in open && /^\s/.test(line)) {
      open.items[open.items.length - 1] += `\n${line.trim()}`;
    } else {
      open = { kind: 'text', text: line };
      blocks.push(open);
    }
  }
  return blocks;
}

/** @param {{ text: string, isGrowing?: boolean }} props `isGrowing`: more of it comes. */
export function Prose({ text, isGrowing = false }) {
  const blocks = blocksOf(text);
  const cursor = isGrowing && html`<span class="cursor" aria-hidden="true"></span>`;
  return html`<div class="turn-text prose">
    ${blocks.map((block, at) => html`<${Part} key=${at} block=${block} end=${at === blocks.length - 1 && cursor} />`)}
    ${blocks.length === 0 && cursor}
  </div>`;
}

/** @param {{ block: Block, end: unknown }} props `end`: what stands after its last word. */
function Part({ block, end }) {
  if (block.kind === 'code') return html`<pre class="prose-code" dir="ltr"><code>${strict(block.text)}</code>${end}</pre>`;
  if (block.kind === 'text') return html`<p dir="auto"><${Said} text=${block.text} />${end}</p>`;
  const items = block.items.map((item, at) => html`<li key=${at} dir="auto"><${Said} text=${item} />${at === block.items.length - 1 && end}</li>`);
  return block.kind === 'bullets' ? html`<ul>${items}</ul>` : html`<ol start=${block.start}>${items}</ol>`;
}
