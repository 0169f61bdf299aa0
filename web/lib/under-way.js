// @ts-check
// What is being done about a message before anything has come of it: from the first second on somebody can see that it was
// heard, what is done with it, and for how long. Only what is known is told, and nothing for longer than it is likely.

import { clock, serverNow, useNow } from './time.js';

/** @typedef {import('./store.js').State} State */
/** @typedef {import('../protocol.js').Entry} Entry */

/** Reading a message takes a moment. What nobody has answered after this long waits for something else, and that has a line of its own. */
const READ_MS = 60_000;

/** The owner's last message, if nothing was said about it yet. @param {Entry[]} entries @returns {Entry | null} */
function unanswered(entries) {
  const at = entries.findLastIndex(({ sender }) => sender === 'owner');
  const own = entries[at];
  const isAnswered = entries.slice(at + 1).some(({ sender, answers }) => sender === 'silas' && (!answers || answers.message === own?.id));
  return own && !isAnswered ? own : null;
}

/** @typedef {{ key: string, does: string, model: string, since: string, about: string }} Doing */

/** What is under way for messages; what is done for work has its own block. @param {State} state @returns {{ now: number, doing: Doing[] }} */
export function useUnderWay({ entries, waiting_for, answering, work, link }) {
  const own = link.status === 'open' ? unanswered(entries) : null;
  const asked = link.status === 'open' ? waiting_for.filter(({ for_work, role }) => !for_work && !(answering && role === 'proxy')) : [];
  const isFresh = own !== null && serverNow() - Date.parse(own.at) < READ_MS && !answering && !work.some(({ running, started_at }) => running && started_at > own.at);
  const now = useNow(asked.length > 0 || isFresh);
  const about = (/** @type {string | undefined} */ id) => (id ? entries.find((entry) => entry.id === id) : own)?.text ?? '';
  const doing = asked.map(({ model, role, since, message, waits_until }) => ({ key: `${model} ${role} ${since}`, does: waits_until ? `Waiting for the provider until ${clock(waits_until)}` : role === 'planner' ? 'Planning…' : role === 'proxy' ? 'Thinking…' : 'Looking…', model, since, about: about(message) }));
  if (doing.length > 0 || !isFresh || !own) return { now, doing };
  return { now, doing: [{ key: own.id, does: 'Reading…', model: '', since: own.at, about: own.text }] };
}
