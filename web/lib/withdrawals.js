// @ts-check
// Taking back a device, a grant, or every grant. Each is signed by itself and answered by itself; nothing is told as done
// before the server has said so.

import { signWithdrawal } from './keys.js';
import { NoPasskey, signerOf } from './passkeys.js';
import { set, state } from './store.js';
import { count } from './text.js';

/** @typedef {{ device: import('./keys.js').Device | null, send: (message: any) => boolean }} Way Who signs, and how it is sent. */

const LOST = 'The connection broke. Nothing was sent.';

/** Grants that are still to be taken back, while all of them are. @type {{ rest: string[], n_all: number } | null} */
let all = null;

/** Signed with this browser's key; a passkey signs its own end. @param {Way} way @param {import('../protocol.js').Withdrawn} what */
export async function withdraw({ device, send }, what) {
  if (!device || state.revoking) return;
  set({ revoking: 'device' in what ? what.device : what.grant });
  const passkey = 'device' in what ? state.devices.find(({ key, kind }) => kind === 'passkey' && key === what.device) : undefined;
  let withdrawal;
  try {
    withdrawal = await signWithdrawal(device, state.epoch, what, passkey && signerOf(passkey));
  } catch (cause) {
    if (!(cause instanceof NoPasskey)) throw cause;
    return set({ revoking: null, problem: { code: '', message: cause.message, todo: 'If it is lost, revoke it in the terminal: silas device revoke' } });
  }
  if (send({ type: 'withdraw', withdrawal })) return undefined;
  return set({ revoking: null, problem: { code: '', message: LOST, todo: '' } });
}

/** One after the other: each answer asks for the next. @param {Way} way */
export async function withdrawAll(way) {
  if (state.revoking) return;
  all = { rest: state.grants.map(({ token }) => token), n_all: state.grants.length };
  await next(way);
}

/** @param {Way} way */
async function next(way) {
  const [grant] = all?.rest ?? [];
  if (grant !== undefined) return withdraw(way, { grant });
  if (all) set({ said: `Everything is stopped. ${count(all.n_all, 'grant')} revoked.` });
  all = null;
  return undefined;
}

/** @param {Way} way @param {import('../protocol.js').WithdrawnAnswer} answer */
export async function answered(way, { done, message }) {
  if (!all || !done) {
    set({ revoking: null, said: message, problem: done ? null : { code: '', message: some(message), todo: '' } });
    all = null;
    return;
  }
  all = { ...all, rest: all.rest.slice(1) };
  set({ revoking: null });
  await next(way);
}

/** What did not go through, with how far it had come. @param {string} message */
const some = (message) => (all ? `${all.n_all - all.rest.length} of ${count(all.n_all, 'grant')} revoked. ${message}` : message);

/** There is a connection again: whoever wanted all of them gone still does. @param {Way} way */
export async function resumed(way) {
  if (!all) return;
  const { rest, n_all } = all;
  all = { rest: rest.filter((token) => state.grants.some((grant) => grant.token === token)), n_all };
  await next(way);
}

/** The server did not take what was sent, so nobody waits for its answer. @param {import('../protocol.js').ErrorMessage} error */
export function refused(error) {
  const told = state.revoking ? { ...error, message: some(error.message) } : error;
  all = null;
  return { revoking: null, problem: told };
}
