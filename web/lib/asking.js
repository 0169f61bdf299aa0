// @ts-check
// What the owner asks for besides answering cards: to see something, to save it, to stop it, to take it back.

import { bundleName, download, savePatch } from './download.js';
import { LOST, line, send } from './line.js';
import { NoPasskey, create } from './passkeys.js';
import { go } from './router.js';
import { set, state } from './store.js';
import { count } from './text.js';
import { timestamp } from './time.js';
import * as withdrawals from './withdrawals.js';

/** @typedef {import('../protocol.js').Card} Card */

/** The execution whose patch is saved as soon as it is told. @type {string | null} */
let wantedPatch = null;

/** Asks for the hashes of what this browser has not seen of the log. @param {number} after */
export const askLedger = (after) => send({ type: 'ledger', after });

/** Makes a passkey here and asks for the card that lets it decide. */
export async function addPasskey() {
  try {
    const made = await create(state.device, state.devices);
    set({ sheet: null });
    if (!send({ type: 'passkey_add', ...made })) set({ problem: { code: '', message: LOST, todo: '' } });
  } catch (cause) {
    if (!(cause instanceof NoPasskey)) throw cause;
    set({ sheet: null, problem: { code: '', message: cause.message, todo: '' } });
  }
}

/** A card that was asked for from here is what one wants to see next. @param {Card} card */
export function asked(card) {
  set({ holding: card.id, over: null });
  go('review');
}

/** Who signs what is taken back, and the way there. */
export const way = () => ({ device: line.device, send });

/** Takes a device or a grant back. @param {import('../protocol.js').Withdrawn} what */
export const withdraw = (what) => withdrawals.withdraw(way(), what);

/** Ends all running work, then takes every grant back. */
export function stopAndRevokeAll() {
  if (stop(null)) void withdrawals.withdrawAll(way());
}

/** The next page of something. @param {(send: import('./pages.js').Send) => boolean} page */
export const more = (page) => page(send);

/** How deciding goes. */
export const askMeasures = () => send({ type: 'measures' });

/** Asks for the house rules again; the question comes as a card. */
export const askHouseRules = () => send({ type: 'house_rules' });

/** @param {string} execution */
export const askProof = (execution) => send({ type: 'proof', execution });

/** Asks what stands behind a row of Activity. @param {number} seq */
export const askEvidence = (seq) => send({ type: 'evidence', seq });

/** Asks whether somebody has changed what an undo would put back. @param {string} execution */
export const askLaterEdits = (execution) => send({ type: 'later_edits', execution });

/** Asks for a plan that puts back what this work changed; it comes as a card. @param {string} execution */
export function planWayBack(execution) {
  if (!send({ type: 'way_back', execution })) set({ problem: { code: '', message: LOST, todo: 'Try again when Silas answers.' } });
}

/** Asks for the change as a patch; it is saved when it comes. @param {string} execution */
export function askPatch(execution) {
  wantedPatch = execution;
  if (!askProof(execution)) wantedPatch = null;
}

/** Asks for the proof as a file that anybody can check. @param {string} execution */
export const askBundle = (execution) => send({ type: 'bundle', execution });

/** That file came. @param {string} execution @param {string} bundle */
export const saveBundle = (execution, bundle) => download(bundleName(execution), bundle);

/** Ends what a model is saying; what was said stays. */
export const interrupt = () => send({ type: 'interrupt' });

/** Whether what was asked to stop last was everything. */
let stoppingAll = false;

/** Ends running work, all of it or one; it can only take away and so needs no signature. @param {string | null} execution */
export function stop(execution) {
  stoppingAll = execution === null;
  const sent = send({ type: 'stop', execution });
  if (sent) set({ sheet: null, said: 'Stop was sent.' });
  return sent;
}

/** It was stopped. @param {number} n_works @param {string[]} [models] Those that are not waited for any more. */
export function stopped(n_works, models = []) {
  const tasks = `${count(n_works, 'task')} ${n_works === 1 ? 'is' : 'are'} stopping.`;
  const waited = `${models.join(', ')} ${models.length === 1 ? 'is' : 'are'} not waited for any more.`;
  const said = [n_works > 0 && tasks, models.length > 0 && waited].filter(Boolean).join(' ') || 'Nothing was running.';
  set({ said, ...(stoppingAll && { stopped: { at: timestamp(), n_works, n_grants: 0, models } }) });
}

/** Nobody waits for a patch any more. */
export function forgetPatch() {
  wantedPatch = null;
}

/** A proof came, and perhaps with it the patch that is waited for. @param {import('../protocol.js').ProofView} proof */
export function proved(proof) {
  set({ proofs: { ...state.proofs, [proof.execution]: proof } });
  if (wantedPatch !== proof.execution) return;
  wantedPatch = null;
  savePatch(proof);
}

