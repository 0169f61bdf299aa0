// @ts-check
// Taking back a device, a grant, or every grant at once under one signature. Nothing is told as done before the server has
// said so.

import { signWithdrawal } from './keys.js';
import { LOST } from './line.js';
import { moreGrants } from './pages.js';
import { NoPasskey, signerOf } from './passkeys.js';
import { set, state } from './store.js';
import { count } from './text.js';
import { timestamp } from './time.js';

/** @typedef {{ device: import('./keys.js').Device | null, send: (message: any) => boolean }} Way Who signs, and how it is sent. */

/** Set while every grant is to be taken back: how many there were when that was signed, or 0 before it was. @type {{ n_all: number } | null} */
let all = null;

/** Signed with this browser's key; a passkey signs its own end. @param {Way} way @param {import('../protocol.js').Withdrawn} what */
export async function withdraw({ device, send }, what) {
  if (!device || state.revoking) return;
  set({ revoking: 'device' in what ? what.device : 'grant' in what ? what.grant : 'all' });
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

/** Every grant that there is: those beyond the first page are asked for before it is signed. @param {Way} way */
export async function withdrawAll(way) {
  if (state.revoking) return;
  all = { n_all: 0 };
  await collected(way);
}

/** A page of grants came, or was there. @param {Way} way */
export async function collected(way) {
  if (!all || state.revoking) return undefined;
  if (state.n_more_grants > 0) {
    if (!moreGrants(way.send)) all = null;
    return undefined;
  }
  const grants = state.grants.map(({ token }) => token).sort();
  if (grants.length > 0) {
    all = { n_all: grants.length };
    return withdraw(way, { grants });
  }
  set({ said: 'Everything is stopped. Nothing is granted any more.' });
  all = null;
  return undefined;
}

/** @param {import('../protocol.js').WithdrawnAnswer} answer */
export function answered({ done, message }) {
  const said = !all ? message : done ? `Everything is stopped. ${count(all.n_all, 'grant')} revoked.` : `Everything is stopped. ${message}`;
  const stopped = all && done ? { at: timestamp(), n_works: state.stopped?.n_works ?? 0, n_grants: all.n_all, models: state.stopped?.models ?? [] } : state.stopped;
  all = null;
  set({ revoking: null, said, stopped, problem: done ? null : { code: '', message: said, todo: '' } });
}

/** There is a connection again: whoever wanted all of them gone still does. @param {Way} way */
export const resumed = (way) => collected(way);

/** The server did not take what was sent, so nobody waits for its answer. @param {import('../protocol.js').ErrorMessage} error */
export function refused(error) {
  const told = all ? { ...error, message: `Nothing was revoked. ${error.message}` } : error;
  all = null;
  return { revoking: null, problem: told };
}
