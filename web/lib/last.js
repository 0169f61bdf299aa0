// @ts-check
// What this page last showed, kept for a reload that does not reach Silas. Only what is named here is kept, all of it from
// the server: nothing that is typed, no draft, no key. It is bounded in number, size and age, belongs to one device key, and
// goes when that key counts no more. It is shown to be read; nothing can be decided from it.

import { all, putIf, remove } from './database.js';
import { devices } from './keys.js';
import { set, state, watch } from './store.js';

/** @typedef {import('./store.js').State} State */
/** @typedef {{ installation: string, key: string, format: number, at: number, shown: string | null }} Kept `shown` is null once the key was refused; nothing is kept under that key until it opens a session again. */

/** What is in a copy, and how it is read. A copy of another page's making is dropped. */
const FORMAT = 1;
/** The tail of the Stream, the cards and the rows that somebody looks at first. The second line is for a copy that would be too large. */
const SIZES = [
  { entries: 60, cards: 20, work: 20, rows: 100, grants: 100 },
  { entries: 20, cards: 3, work: 5, rows: 30, grants: 20 },
];
/** In characters. What is larger still is not kept at all: half of a card would be worse than none. */
const CHARS_MAX = 512 * 1024;
/** After this, "last known" says nothing any more. */
const AGE_MS_MAX = 30 * 24 * 3_600_000;
/** How often a busy page writes at most, and how often a quiet one that it is still true. */
const EVERY_MS = 2000;
const STILL_TRUE_MS = 60_000;
/** A server that is there answers sooner; whoever waits longer wants to see something. */
const PATIENCE_MS = 1500;

/** What is kept of what is shown. @type {(keyof State)[]} */
const PARTS = ['epoch', 'installation', 'device', 'entries', 'cards', 'n_more_cards', 'work', 'activity', 'grants', 'n_more_grants', 'devices', 'understood', 'no_model'];

/** @param {State} shown @param {typeof SIZES[0]} size */
function copy(shown, size) {
  const { entries, cards, work, activity, grants } = shown;
  return JSON.stringify({
    ...Object.fromEntries(PARTS.map((part) => [part, shown[part]])),
    entries: entries.slice(-size.entries),
    cards: cards.slice(0, size.cards),
    n_more_cards: shown.n_more_cards + Math.max(0, cards.length - size.cards),
    work: work.slice(-size.work),
    activity: { ...activity, rows: activity.rows.slice(0, size.rows) },
    grants: grants.slice(0, size.grants),
    n_more_grants: shown.n_more_grants + Math.max(0, grants.length - size.grants),
  });
}

/** Whose copy is kept now; nobody's before a session is open. @type {string | null} */
let key = null;
let isFollowing = false;
/** @type {State | null} */
let kept = null;
let keptAt = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** A session is open: from here on the copy follows what is shown. @param {string} whose */
export async function follow(whose) {
  key = whose;
  // A key that was refused once, and is known again: after a restored backup.
  const { installation } = state;
  const mark = (await all('last').catch(() => [])).find((found) => found.installation === installation && found.shown === null);
  if (mark) await remove('last', installation).catch(() => {});
  changed(state);
  if (isFollowing) return;
  isFollowing = true;
  watch(changed);
  addEventListener('pagehide', () => void write());
  document.addEventListener('visibilitychange', () => void (document.visibilityState === 'hidden' && write()));
}

/** @param {State} shown */
function changed(shown) {
  if (shown.link.status !== 'open' || timer || (kept && PARTS.every((part) => kept?.[part] === shown[part]))) return;
  timer = setTimeout(() => {
    timer = undefined;
    void write();
  }, EVERY_MS);
}

/** The line says that it is alive, so what is shown is still true. */
export function stillTrue() {
  if (kept && Date.now() - keptAt > STILL_TRUE_MS) void write();
}

/**
 * Whether a copy may take the place of another: of two tabs the one that heard later is right, and a key that was refused
 * keeps nothing. What another key or another page left is nobody's.
 * @param {Kept | undefined} found @param {Kept} mine
 */
export function mayReplace(found, mine) {
  if (!found || found.key !== mine.key || found.format !== mine.format) return true;
  return found.shown !== null && found.at <= mine.at;
}

async function write() {
  if (key === null || state.phase !== 'paired' || state.link.status !== 'open' || state.asOf !== null || !state.installation) return;
  const shown = SIZES.map((size) => copy(state, size)).find((text) => text.length <= CHARS_MAX);
  const { installation } = state;
  const at = Date.now();
  [kept, keptAt] = [state, at];
  // A browser without room, or in private: the page works all the same.
  if (!shown) return void (await remove('last', installation).catch(() => {}));
  /** @type {Kept} */
  const record = { installation, key, format: FORMAT, at, shown };
  await putIf('last', installation, record, (found) => mayReplace(found, record)).catch(() => {});
}

/** The newest copy that is this browser's to show. Whatever else lies there goes. @returns {Promise<Kept | null>} */
async function load() {
  const [copies, known] = await Promise.all([/** @type {Promise<Kept[]>} */ (all('last')), devices()]);
  const isOurs = (/** @type {Kept} */ found) => found.format === FORMAT && known.some((device) => device.installation === found.installation && device.key === found.key);
  const isFresh = (/** @type {Kept} */ found) => found.shown === null || Date.now() - found.at < AGE_MS_MAX;
  const good = copies.filter((found) => isOurs(found) && isFresh(found));
  await Promise.all(copies.filter((found) => !good.includes(found)).map(({ installation }) => remove('last', installation)));
  return good.filter(({ shown }) => shown !== null).sort((a, b) => b.at - a.at)[0] ?? null;
}

/** Shows the copy when Silas does not answer, unless somebody has been told the truth already. */
export async function whenSilent() {
  const found = await load().catch(() => null);
  if (!found?.shown) return { show: () => {} };
  const { at, shown } = found;
  const show = () => {
    if (state.loaded || state.phase !== 'paired') return;
    try {
      const parts = JSON.parse(shown);
      set({ ...Object.fromEntries(PARTS.map((part) => [part, parts[part] ?? state[part]])), key: found.key, loaded: true, asOf: at, link: { ...state.link, lastSeen: at } });
    } catch {
      void remove('last', found.installation).catch(() => {}); // Not ours, whatever it is.
    }
  };
  setTimeout(show, PATIENCE_MS);
  return { show };
}

/** This browser is not known any more: nothing of what it has seen stays, and nothing that another tab still writes. */
export async function wipe() {
  clearTimeout(timer);
  timer = undefined;
  [key, kept] = [null, null];
  const copies = /** @type {Kept[]} */ (await all('last').catch(() => []));
  const known = await devices().catch(() => []);
  await Promise.all(copies.map(({ installation }) => remove('last', installation).catch(() => {})));
  await Promise.all(known.map((device) => putIf('last', device.installation, { installation: device.installation, key: device.key, format: FORMAT, at: Date.now(), shown: null }, () => true).catch(() => {})));
}
