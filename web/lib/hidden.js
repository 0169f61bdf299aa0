// @ts-check
// Characters that nobody sees, or that make others look like what they are not, and how they are shown: by their number.
// The lists are those of `silas-core/src/hidden.rs`; a test compares them. Line feeds and tabs stay.

/** @typedef {[number, number]} Range */

/** @type {Range[]} */
export const HIDDEN = [
  [0x0, 0x8],
  [0xb, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x2800, 0x2800],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x13430, 0x1343f],
  [0x16fe4, 0x16fe4],
  [0x1bca0, 0x1bca3],
  [0x1d159, 0x1d159],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

/** After these a joiner is part of honest writing. @type {Range[]} */
export const JOINED = [
  [0x600, 0xdff],
  [0x2600, 0x27bf],
  [0xfe0f, 0xfe0f],
  [0x1f000, 0x1faff],
];

/** After these one selector says that the emoji is meant. @type {Range[]} */
export const EMOJI = [
  [0x2194, 0x21aa],
  [0x231a, 0x23ff],
  [0x25aa, 0x25fe],
  [0x2600, 0x27bf],
  [0x2b05, 0x2b55],
  [0x1f000, 0x1faff],
];

/** @param {Range[]} ranges */
const oneOf = (ranges) => `[${ranges.map(([from, to]) => `\\u{${from.toString(16)}}-\\u{${to.toString(16)}}`).join('')}]`;

const ALL = new RegExp(oneOf(HIDDEN), 'gu');
const ONE = new RegExp(`^${oneOf(HIDDEN)}$`, 'u');
const JOINS = new RegExp(`^${oneOf(JOINED)}$`, 'u');
const TAKES_SELECTOR = new RegExp(`^${oneOf(EMOJI)}$`, 'u');

/** Whether prose needs this hidden character after that one. @param {string} character @param {string} before */
function isNeeded(character, before) {
  if (character === '\u200c' || character === '\u200d') return JOINS.test(before);
  return character === '\ufe0f' && TAKES_SELECTOR.test(before);
}

/** @param {string} character */
const byNumber = (character) => `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** What somebody said, with hidden characters shown. @param {string} text */
export function visible(text) {
  if (text.search(ALL) < 0) return text;
  let [shown, before] = ['', ' '];
  for (const character of text) {
    const isShown = ONE.test(character) && !isNeeded(character, before);
    shown += isShown ? byNumber(character) : character;
    before = isShown ? ' ' : character;
  }
  return shown;
}

/** The same for what a decision is about: joiners and selectors make two names look the same there. @param {string} text */
export const strict = (text) => text.replace(ALL, byNumber);

/** Somebody else's words within a sentence: on one line, between quotation marks that they cannot close. @param {string} text */
export const quotation = (text) => `“${oneLine(text).replace(/[“”„‟«»"]/g, "'")}”`;

/** The same for a name, which has one line. @param {string} text */
export const oneLine = (text) => strict(text).replace(/[\n\t]/g, byNumber);
