// @ts-check
// Text for people: characters that hide or turn others are shown by their number, and code between backticks looks
// like code. The result is always text and elements, never markup.

import { oneLine, strict, visible } from './hidden.js';
import { html } from './html.js';

export { oneLine, strict, visible };

/**
 * Text whose `code` is set as code, as all there is in a block with `dir="auto"`, which takes its direction from it. From what
 * is isolated in it no block would.
 * @param {{ text: string }} props
 */
export function Said({ text }) {
  const parts = visible(text).split(/(`[^`\n]+`)/);
  return html`${parts.map((part) => (/^`[^`]+`$/.test(part) ? html`<code dir="ltr">${part.slice(1, -1)}</code>` : part))}`;
}

/** The same within a line: isolated from the direction around it. @param {{ text: string }} props */
export function Words({ text }) {
  return html`<bdi><${Said} text=${text} /></bdi>`;
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
