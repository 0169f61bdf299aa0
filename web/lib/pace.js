// @ts-check
// How quickly the last decisions of medium and higher risk were taken in this browser, also over a reload and in its other
// tabs. It only tells; nothing ever waits for it. Of a decision it keeps how long it took and when, not what it was.
//
// Activity counts from the ledger how often it was so, by the same rule (`silas-runtime/src/hub/measures/pace.rs`); both are
// held against `tests/pace.json`.

import { all, put } from './database.js';

/** @typedef {{ ms: number, at: number }} Took How long, and when by the clock. */

/** So many decisions make a habit. */
const RECENT = 5;
/** Less than this, and nobody has read the card. */
const QUICK_MS = 1000;
/** How somebody decided before a night's sleep says nothing of them now. */
const AGE_MS_MAX = 8 * 3_600_000;

/** @type {{ id: string, at: number }} */
let shown = { id: '', at: 0 };
/** The last few, oldest first; what counts where nothing can be kept, as in private browsing. @type {Took[]} */
let times = [];
/** One after the other, so that none is lost. @type {Promise<unknown>} */
let turn = Promise.resolve();

/** A card came up. @param {string} id @param {number} now */
export function cameUp(id, now) {
  if (shown.id !== id) shown = { id, at: now };
}

/** @param {any} took @returns {took is Took} */
const counts = (took) => Number.isFinite(took?.ms) && Math.abs(Date.now() - took?.at) < AGE_MS_MAX;

/** What this browser has kept, by whichever tab. */
async function look() {
  const kept = (await all('choices').catch(() => [])).find(({ name }) => name === 'pace')?.times;
  times = (Array.isArray(kept) ? kept : times).filter(counts).slice(-RECENT);
}

function isQuick() {
  const sorted = times.map(({ ms }) => ms).sort((a, b) => a - b);
  return sorted.length === RECENT && sorted[Math.floor(RECENT / 2)] < QUICK_MS;
}

/** @returns {Promise<boolean>} Whether the last five were quick, by their median. */
export async function load() {
  await look();
  return isQuick();
}

/**
 * A card was decided.
 * @param {{ id: string, face: { risk: import('../protocol.js').Risk | null } }} card @param {number} now
 * @returns {Promise<boolean>} The same, with this one.
 */
export async function decided({ id, face: { risk } }, now) {
  const took = { ms: now - shown.at, at: Date.now() };
  const isOne = shown.id === id && risk !== null && risk !== 'low';
  const mine = turn.then(async () => {
    await look();
    if (!isOne) return;
    times = [...times, took].slice(-RECENT);
    await put('choices', { name: 'pace', times }).catch(() => {});
  });
  turn = mine;
  await mine;
  return isQuick();
}
