// @ts-check
// Text for people: characters that hide or turn others are shown by their number, and code between backticks looks like
// code. What somebody said keeps them: whoever copies an example must have them, and what was typed stays as typed. The
// result is always text and elements, never markup.

import { oneLine, quotation, strict, visible } from './hidden.js';
import { html } from './html.js';

export { oneLine, quotation, strict, visible };

/** @param {string} text @param {(code: string) => string} shown What is shown of a piece of code. */
const coded = (text, shown) => visible(text).split(/(`[^`\n]+`)/).map((part) => (/^`[^`]+`$/.test(part) ? html`<code dir="ltr">${shown(part)}</code>` : part));

/**
 * What somebody said, with its `code` set as code and the backticks kept, as all there is in a block with `dir="auto"`, which
 * takes its direction from it. From what is isolated in it no block would.
 * @param {{ text: string }} props
 */
export function Said({ text }) {
  return html`${coded(text, (code) => code)}`;
}

/** A sentence of Silas's within a line: its `code` is set as code, without marks, and isolated from the direction around it. @param {{ text: string }} props */
export function Words({ text }) {
  return html`<bdi>${coded(text, (code) => code.slice(1, -1))}</bdi>`;
}

/** A computed fact: paths, names that begin with a dot and `code` look like code, nothing is hidden and nothing left out: in a command backticks mean something. @param {{ text: string }} props */
export function FactText({ text }) {
  // A line that is nothing but a path is one, also with spaces in it.
  if (/^(?:~\/|\/)[^,;:`\n]+$/.test(text)) return html`<bdi><code dir="ltr">${strict(text)}</code></bdi>`;
  const parts = strict(text).split(/(`[^`\n]+`|(?<=^|\s)(?:~\/|\/|\.(?=[a-z]))[^\s,;]+)/);
  const isCode = (/** @type {string} */ part) => /^(`.+`|~\/.+|\/.+|\.[a-z].*)$/.test(part);
  return html`<bdi>${parts.map((part) => (isCode(part) ? html`<code dir="ltr">${part}</code>` : part))}</bdi>`;
}

/** "$0.31", in the words of the server. @param {number} microusd */
export const dollars = (microusd) => (microusd > 0 && microusd < 10_000 ? 'less than 1 cent' : `$${(Math.floor(microusd / 10_000) / 100).toFixed(2)}`);

/** "1 file", "3 files". @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
