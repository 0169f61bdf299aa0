// @ts-check
// What this browser has seen of the ledger. It keeps the last head, computes for itself that every later one extends it,
// and says so loudly when one does not. It believes no answer of the server about that, only hashes.
//
// What it cannot show: what happened since it was last connected, and anything to whoever changed this page itself.

import { sha256 } from './bytes.js';
import { canonical } from './canonical.js';
import { all, put } from './database.js';
import { announce, set, state } from './store.js';

/**
 * @typedef {import('../protocol.js').ActivityView} ActivityView
 * @typedef {import('../protocol.js').Link} Link
 * @typedef {{ installation: string, epoch: number, seq: number, hash: string, seenAt: number }} Known
 * @typedef {{ kind: 'cut' | 'other' | 'restored', seq: number, seenAt: number, head: { seq: number, hash: string } | null, epoch: number }} Doubt
 * @typedef {(after: number) => boolean} Ask
 */

/** How often the server is asked for new entries at most; a busy ledger must not use up the messages of a minute. */
const PAUSE_MS = 10_000;

/** @type {Known | null} */
let known = null;
let installation = '';
/** @type {ActivityView | null} */
let latest = null;
let asking = false;
let askedAt = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** A session has begun. @param {string} whose @param {ActivityView} activity @param {Ask} ask */
export async function meet(whose, activity, ask) {
  installation = whose;
  asking = false;
  askedAt = 0;
  known = (await all('heads')).find((head) => head.installation === whose) ?? null;
  await see(activity, ask);
}

/** The server shows its head. @param {ActivityView} activity @param {Ask} ask */
export async function see(activity, ask) {
  latest = activity;
  const { head, epoch } = activity;
  if (!installation || state.doubt) return;
  if (!known) return head ? keep(head, epoch) : undefined;
  if (!head || head.seq < known.seq) return doubt('cut');
  if (head.seq === known.seq) return head.hash === known.hash ? undefined : doubt('other');
  const wait = askedAt + PAUSE_MS - Date.now();
  clearTimeout(timer);
  if (asking) return;
  if (wait > 0) {
    timer = setTimeout(() => latest && void see(latest, ask), wait);
    return;
  }
  askedAt = Date.now();
  asking = ask(known.seq);
}

/** The entries after the one that is known. @param {import('../protocol.js').LedgerPart} part @param {Ask} ask */
export async function read({ after, links, head }, ask) {
  asking = false;
  if (!known || after !== known.seq || state.doubt) return;
  const reached = await follow({ seq: known.seq, hash: known.hash }, links);
  if (!reached || links.length === 0 || !head || head.seq < reached.seq) return doubt('other');
  if (head.seq === reached.seq && head.hash !== reached.hash) return doubt('other');
  await keep(reached, latest?.epoch ?? known.epoch);
  if (head.seq > reached.seq) asking = ask(reached.seq);
}

/**
 * Where a chain leads from an entry, or nothing if it does not follow it.
 * @param {{ seq: number, hash: string }} from
 * @param {Link[]} links
 */
export async function follow(from, links) {
  let reached = from;
  for (const { seq, at, body, prev, hash } of links) {
    if (seq !== reached.seq + 1 || prev !== reached.hash) return null;
    if ((await sha256(canonical(['v1', 'ledger', seq, at, body, prev]))) !== hash) return null;
    reached = { seq, hash };
  }
  return reached;
}

/** @param {{ seq: number, hash: string }} head @param {number} epoch */
async function keep({ seq, hash }, epoch) {
  known = { installation, epoch, seq, hash, seenAt: Date.now() };
  await put('heads', known);
}

/** @param {'cut' | 'other'} kind */
function doubt(kind) {
  if (!known || !latest) return;
  const { seq, seenAt } = known;
  const { head, epoch } = latest;
  set({ doubt: { kind: epoch > known.epoch ? 'restored' : kind, seq, seenAt, head, epoch } });
  announce('The log does not continue what this browser has seen.');
}

/** The owner says that the restore was theirs: from here on the new line counts. */
export async function acceptRestore() {
  const { doubt: doubted } = state;
  if (doubted?.kind !== 'restored') return;
  if (doubted.head) await keep(doubted.head, doubted.epoch);
  set({ doubt: null });
}
