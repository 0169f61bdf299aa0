// @ts-check
// Text for people: characters that hide or turn others are shown by their number, and code between backticks looks
// like code. The result is always text and elements, never markup.

import { html } from './html.js';

// Control characters, direction marks and overrides, invisible spaces and joiners, tags. Line breaks and tabs stay.
const HIDDEN = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|[\u{E0000}-\u{E007F}]/gu;
// Joiners are part of emoji and of several scripts, but in a path they make two names look the same.
const JOINERS = /[\u200C\u200D]/gu;

/** @param {string} character */
const byNumber = (character) => `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** What somebody said, with hidden characters shown. @param {string} text */
export const visible = (text) => text.replace(HIDDEN, byNumber);

/** The same for what a decision is about. @param {string} text */
export const strict = (text) => visible(text).replace(JOINERS, byNumber);

/** Text whose `code` is set as code, isolated from the direction around it. @param {{ text: string }} props */
export function Words({ text }) {
  const parts = visible(text).split(/(`[^`\n]+`)/);
  return html`<bdi>${parts.map((part) => (/^`[^`]+`$/.test(part) ? html`<code dir="ltr">${part.slice(1, -1)}</code>` : part))}</bdi>`;
}

/** A computed fact: paths and `code` look like code, nothing is hidden. @param {{ text: string }} props */
export function FactText({ text }) {
  // A line that is nothing but a path is one, also with spaces in it.
  if (/^(?:~\/|\/)[^,;:`\n]+$/.test(text)) return html`<bdi><code dir="ltr">${strict(text)}</code></bdi>`;
  const parts = strict(text).split(/(`[^`\n]+`|(?<=^|\s)(?:~\/|\/)[^\s,;]+)/);
  const isCode = (/** @type {string} */ part) => /^(`.+`|~\/.+|\/.+)$/.test(part);
  return html`<bdi>${parts.map((part) => (isCode(part) ? html`<code dir="ltr">${part.replace(/^`|`$/g, '')}</code>` : part))}</bdi>`;
}

/** "$0.31", in the words of the server. @param {number} microusd */
export const dollars = (microusd) => (microusd > 0 && microusd < 10_000 ? 'less than 1 cent' : `$${(Math.floor(microusd / 10_000) / 100).toFixed(2)}`);

/** "1 file", "3 files". @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
