// @ts-check
// What a card is called in a list. Results of one directory have the same intent, so there the files are named, or the one
// command; the same rule as `silas-core/src/card/listed.rs`, which a test compares. The intent is Silas's own, what comes after
// it may be a model's.

import { oneLine, quotation } from './text.js';

/** What an intent has at most, and less of a command than tells anything. */
const INTENT_MAX = 60;
const COMMAND_MIN = 12;

/** @type {Record<string, string>} */
const LEADS = { done: ' by ', rehearsed: ', made by ', report: ': ' };

/** All of it on one line. @param {import('../protocol.js').Face} face */
export function listed(face) {
  const { lead, words } = which(face);
  return `${face.intent}${lead}${words}`;
}

const NONE = { lead: '', words: '' };

/** What tells a result from others with the same intent: the words of others, and how a sentence goes on to them. @param {import('../protocol.js').Face} face */
export function which({ kind, intent, diffs, details }) {
  const lead = LEADS[kind];
  if (lead === undefined) return NONE;
  const room = INTENT_MAX - length(intent);
  const isPlain = kind !== 'report' && diffs.length > 0 && diffs.every(({ renamed_from, directory }) => !renamed_from && !directory);
  const files = isPlain ? fitting(diffs.map(({ path }) => oneLine(path)), room - 2) : null;
  if (files) return { lead: ': ', words: files };
  const commands = details.find(({ title }) => title === 'What was run')?.lines ?? [];
  const left = room - length(lead) - 2;
  if (commands.length !== 1 || left < COMMAND_MIN) return NONE;
  return { lead, words: `‘${shortened(oneLine(commands[0].trim().split(/\s+/).join(' ')), left)}’` };
}

/** @param {string} text */
const length = (text) => [...text].length;

/** @param {string[]} files @param {number} max @returns {string | null} */
function fitting(files, max) {
  const whole = files.map(named).join(', ');
  if (length(whole) <= max) return whole;
  const last = files.length === 1 && named(files[0]) === files[0] && files[0].includes('/') ? files[0].slice(files[0].lastIndexOf('/') + 1) : '';
  return last && length(last) + 2 <= max ? `…/${last}` : null;
}

/** As it is where it can only be read as a name, else as a quotation. @param {string} name */
const named = (name) => (/^[\p{Alphabetic}\p{N}_@%+=/.-]*$/u.test(name) ? name : quotation(name));

/** Without its middle, if it is too long. @param {string} text @param {number} max */
function shortened(text, max) {
  const chars = [...text];
  if (chars.length <= max) return text;
  const head = Math.floor(max / 2);
  return `${chars.slice(0, head).join('').trimEnd()}…${chars.slice(chars.length - (max - head - 1)).join('').trimStart()}`;
}
