// @ts-check
// A text as a file of the reader's own: a proof, a patch. Nothing leaves the machine: the address that is opened lives in
// this page.

import { set } from './store.js';
import { count } from './text.js';

/** The browser reads the file after the click; then the address may go. */
const KEPT_MS = 60_000;
/** Names of files in one sentence; of more the number is told. */
const NAMES_MAX = 3;

/** @param {string} name @param {string} text @param {string} [type] */
export function download(name, text, type = 'application/json') {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}

/** @param {string} execution */
const stem = (execution) => `silas-${execution.slice('exec-'.length, 'exec-'.length + 8)}`;

/** What the file of a proof is called. @param {string} execution */
export const bundleName = (execution) => `${stem(execution)}.proof`;

/** Saves the change as a patch, and says what of it is not in there. @param {import('../protocol.js').ProofView} proof */
export function savePatch({ execution, patch }) {
  const { text, left_out, n_hidden } = patch;
  download(`${stem(execution)}.patch`, text, 'text/x-patch');
  const n_missing = left_out.length + n_hidden;
  if (n_missing === 0) return set({ said: 'Saved as a patch.' });
  const names = n_hidden === 0 && left_out.length <= NAMES_MAX ? `: ${left_out.join(', ')}` : '';
  const message = `Saved, but ${count(n_missing, 'changed file')} ${n_missing === 1 ? 'is' : 'are'} not in the patch${names}.`;
  return set({ problem: { code: '', message, todo: 'They are not text, or too large to show.' } });
}
