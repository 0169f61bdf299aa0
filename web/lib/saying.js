// @ts-check
// What the owner says: kept until it has arrived, signed when it is sent, and taken back into the composer if it was not
// accepted.

import { line, send } from './line.js';
import * as outbox from './outbox.js';
import { set, state } from './store.js';

/** @param {string} text */
export async function say(text) {
  const message = await outbox.keep(text);
  set({ outbox: [...state.outbox, message], problem: null, stopped: null });
  await post(message);
}

/** What is typed from here on is the next message, however long this one takes; if it cannot be kept, it is back. @param {string} text */
export async function sayTyped(text) {
  set({ draft: '' });
  try {
    await say(text);
  } catch (cause) {
    if (state.draft === '') set({ draft: text });
    throw cause;
  }
}

/** @param {import('./store.js').Outgoing} message */
async function post(message) {
  if (!line.device || state.link.status !== 'open') return;
  const signed = await outbox.signed(line.device, message);
  if (send({ type: 'message', message: signed })) set({ outbox: outbox.sent(state.outbox, message.id) });
}

/** What was said while there was no connection, or was on its way when it broke. */
export async function postAll() {
  for (const message of state.outbox.filter((kept) => kept.state !== 'refused')) await post(message);
}

/** Takes a message that was not accepted back into the composer. @param {import('./store.js').Outgoing} message */
export function edit(message) {
  set({ outbox: outbox.dropped(state.outbox, message.id), draft: message.text, problem: null });
}
