// @ts-check
// One state, replaced and never changed in place, so that what was checked is what is shown. No secret enters it.

import { useEffect, useState } from '../vendor/hooks.js';

/**
 * @typedef {import('../protocol.js').Card} Card
 * @typedef {{ status: 'connecting' | 'open' | 'waiting', retryAt: number, lastSeen: number | null }} Link
 * @typedef {{ phase: 'signing' | 'sent' | 'recorded' | 'failed', press: string, message: string }} Decision
 * @typedef {{ id: string, text: string, at: number, state: 'waiting' | 'sent' | 'refused' }} Outgoing
 *
 * @typedef {object} State
 * @property {'starting' | 'pairing' | 'paired'} phase
 * @property {string} pairingNote Why pairing is asked for again.
 * @property {Link} link
 * @property {string} device
 * @property {string} installation
 * @property {boolean} loaded Whether there is something to show: a snapshot, or a copy of an earlier one.
 * @property {number | null} asOf When what is shown was true, if it is a copy from before this page was loaded.
 * @property {import('../protocol.js').Entry[]} entries
 * @property {import('../protocol.js').DraftView | null} answering What a model has said so far; its entry takes its place.
 * @property {import('../protocol.js').AskedModelView[]} waiting_for The models that were asked and have not answered, longest first.
 * @property {import('../protocol.js').LookView[]} looking What was looked at for answers that are being made.
 * @property {import('../protocol.js').SinceView | null} since What came while this device was away.
 * @property {Card[]} cards
 * @property {number} n_more_cards How many wait beyond these.
 * @property {import('../protocol.js').WorkView[]} work
 * @property {import('../protocol.js').OutputView[]} outputs What running work prints; nowhere kept.
 * @property {import('../protocol.js').ActivityView} activity
 * @property {{ rows: import('../protocol.js').Row[], earlier: number | null } | null} older What happened before that, as far as somebody asked.
 * @property {{ list: import('../protocol.js').WorkItemView[], n_more: number } | null} works All work, as far as somebody asked.
 * @property {number} epoch
 * @property {import('../protocol.js').GrantView[]} grants
 * @property {number} n_more_grants How many there are beyond these.
 * @property {import('../protocol.js').DeviceView[]} devices
 * @property {import('../protocol.js').MeasureView[] | null} measures How deciding goes, once it was asked for.
 * @property {string} key The key of this browser.
 * @property {string | null} revoking The grant or device whose end was asked for and not yet answered.
 * @property {string[]} understood
 * @property {string | null} no_model What is answered to an open question while no model is set up.
 * @property {Record<string, Decision>} decisions What was pressed, by card, until the card leaves.
 * @property {string | null} holding The card somebody is in the middle of deciding; it stays active meanwhile.
 * @property {Record<string, import('../protocol.js').ProofView>} proofs
 * @property {Record<number, import('../protocol.js').EvidenceView>} evidence What stands behind the rows that are open, by entry.
 * @property {import('./advanced.js').Uses} uses What was of use in this browser, and so is shown.
 * @property {Outgoing[]} outbox
 * @property {string} draft
 * @property {{ code: string, message: string, todo: string, stays?: boolean } | null} problem `stays`: also over a new connection.
 * @property {import('./witness.js').Doubt | null} doubt That the ledger does not continue what this browser has seen.
 * @property {{ card: Card, words: string } | null} elsewhere A card that was decided on another device, for a moment longer.
 * @property {Card | null} over A done card whose time for undoing ended while it was shown; it makes room for any other.
 * @property {Record<string, import('../protocol.js').FileDiff[]>} edits What was changed since, by execution, where an undo would overwrite it.
 * @property {boolean} quick Whether the last decisions were so quick that it is said.
 * @property {import('./notify.js').Choice} notify
 * @property {'stop' | 'more' | null} sheet
 * @property {boolean} settingUp Whether a model is being set up from here: the next card of that comes first.
 * @property {string | null} stopping The execution that the question before Stop is about; null is all of them.
 * @property {import('../protocol.js').StopView | null} stopped What was stopped and taken back last, while nothing has begun since and nobody has put it away.
 * @property {string} said What the polite live region says.
 */

/** @type {State} */
const EMPTY = {
  phase: 'starting',
  pairingNote: '',
  link: { status: 'connecting', retryAt: 0, lastSeen: null },
  device: '',
  installation: '',
  loaded: false,
  asOf: null,
  entries: [],
  answering: null,
  waiting_for: [],
  looking: [],
  since: null,
  cards: [],
  n_more_cards: 0,
  work: [],
  outputs: [],
  activity: { summary: '', away: null, spent: { period: '', microusd: 0, cap_microusd: 0 }, rows: [], earlier: null, n_entries: 0, head: null, epoch: 0, verified: null },
  older: null,
  works: null,
  epoch: 0,
  grants: [],
  n_more_grants: 0,
  devices: [],
  measures: null,
  key: '',
  revoking: null,
  understood: [],
  no_model: null,
  decisions: {},
  holding: null,
  proofs: {},
  evidence: {},
  uses: { name: 'uses', seen: [], everything: false },
  outbox: [],
  draft: '',
  problem: null,
  doubt: null,
  elsewhere: null,
  over: null,
  edits: {},
  quick: false,
  notify: { name: 'notifications', wanted: null, missed: false },
  sheet: null,
  settingUp: false,
  stopping: null,
  stopped: null,
  said: '',
};

export let state = EMPTY;

/** @type {Set<(state: State) => void>} */
const watchers = new Set();

/** Calls back with every new state, for as long as the page is open. @param {(state: State) => void} watcher */
export const watch = (watcher) => void watchers.add(watcher);

/** @param {Partial<State>} change */
export function set(change) {
  state = { ...state, ...change };
  watchers.forEach((watch) => watch(state));
}

/** Whoever looks from here on is not known: nothing of what was shown stays. What was chosen for this browser does. @param {Partial<State>} change */
export const forget = (change) => set({ ...EMPTY, notify: state.notify, uses: state.uses, ...change });

/** Says something to people who listen instead of looking. @param {string} said */
export const announce = (said) => set({ said });

/** @returns {State} */
export function useStore() {
  const [current, setCurrent] = useState(state);
  useEffect(() => {
    watchers.add(setCurrent);
    setCurrent(state);
    return () => void watchers.delete(setCurrent);
  }, []);
  return current;
}

/** Replaces the item with the same key, or appends. @template T @param {T[]} items @param {T} item @param {(item: T) => string} key */
export function upsert(items, item, key) {
  const at = items.findIndex((other) => key(other) === key(item));
  return at < 0 ? [...items, item] : items.with(at, item);
}

/** The cards that need the owner; a done card or a report only informs. @param {Card[]} cards */
export const needingReview = (cards) => cards.filter(({ face }) => face.kind !== 'done' && face.kind !== 'report');

/** @param {State} s */
export function activeCard({ cards, holding, elsewhere, over }) {
  return elsewhere?.card ?? cards.find(({ id }) => id === holding) ?? cards[0] ?? over;
}
