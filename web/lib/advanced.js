// @ts-check
// Controls for experts, and the one rule for all of them: each is shown from the moment on at which what it belongs to was of
// use once. Until then it is reached by "Show everything" in More, and nowhere else. This hides and shows; it allows nothing.
//
// What was of use follows from what the server tells wherever it can, so that it is the same on all of the owner's devices.
// The rest is what somebody did in this browser. Once shown, a control stays.

import { all, put } from './database.js';
import { passkeys } from './passkeys.js';
import { set, state, watch } from './store.js';

/** @typedef {import('./store.js').State} State */
/** @typedef {{ name: 'uses', seen: string[], everything: boolean }} Uses */
/** @typedef {keyof typeof ADVANCED} Control */

/** So many decisions make a habit that can be looked at. */
const DECISIONS_MIN = 5;

/** What each is called where it is listed, and the fact by which it was of use. Those without one are marked where they are used. */
export const ADVANCED = {
  works: { title: 'All work', was: (/** @type {State} */ { work }) => work.length > 0 },
  measures: { title: 'How deciding goes', was: (/** @type {State} */ { activity }) => activity.rows.filter(({ topics }) => topics.includes('decision')).length >= DECISIONS_MIN },
  passkeys: { title: 'Passkeys', was: (/** @type {State} */ { cards, devices }) => passkeys(devices).known.length > 0 || cards.some(({ face }) => face.risk === 'high' || face.risk === 'irreversible') },
  patch: { title: 'Save as a patch, beside a result', was: null },
  proof_file: { title: 'The file of a proof, beside its row', was: null },
  keys: { title: 'Keys', was: null },
  programs: { title: 'For programs', was: null },
};

const CONTROLS = /** @type {Control[]} */ (Object.keys(ADVANCED));

/** @param {State} shown @param {Control} control */
export const shows = ({ uses }, control) => uses.everything || uses.seen.includes(control);

/** What is not shown yet, by its name. @param {State} shown */
export const notShown = (shown) => CONTROLS.filter((control) => !shown.uses.seen.includes(control)).map((control) => ADVANCED[control].title);

let isFollowing = false;

export async function load() {
  const kept = (await all('choices').catch(() => [])).find(({ name }) => name === 'uses');
  if (Array.isArray(kept?.seen)) set({ uses: { name: 'uses', seen: kept.seen, everything: kept.everything === true } });
  if (isFollowing) return;
  isFollowing = true;
  watch((shown) => CONTROLS.filter((control) => ADVANCED[control].was?.(shown)).forEach(used));
}

/** @param {Partial<Uses>} change */
function keep(change) {
  const uses = { ...state.uses, ...change };
  set({ uses });
  void put('choices', uses).catch(() => {}); // Private browsing: it lasts as long as the page.
}

/** It was of use. @param {Control} control */
export function used(control) {
  if (!state.uses.seen.includes(control)) keep({ seen: [...state.uses.seen, control] });
}

/** @param {boolean} everything */
export const showEverything = (everything) => keep({ everything });
