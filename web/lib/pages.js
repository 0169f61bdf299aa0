// @ts-check
// More than comes by itself: grants, cards, what happened and work beyond the first page of each. Asked for one page at a
// time, by somebody who wants to see it.

import { set, state } from './store.js';

/** @typedef {(message: any) => boolean} Send */
/** @typedef {import('./store.js').State} State */

/** @param {Send} send */
export const moreGrants = (send) => send({ type: 'grants', from: state.grants.length });

/** A page that does not begin where the list ends is about an older list. @param {import('../protocol.js').GrantsAnswer} page */
export function grantsCame({ from, grants, n_more_grants }) {
  if (from === state.grants.length) set({ grants: [...state.grants, ...grants], n_more_grants });
}

/** @param {Send} send */
export const moreCards = (send) => send({ type: 'cards', from: state.cards.length });

/** @param {import('../protocol.js').CardsAnswer} page */
export function cardsCame({ from, cards, n_more_cards }) {
  if (from === state.cards.length) set({ cards: [...state.cards, ...cards], n_more_cards });
}

/** Before which entry there is more to tell. @param {State} state */
export const earliest = ({ activity, older }) => (older ? older.earlier : activity.earlier);

/** @param {Send} send */
export function moreActivity(send) {
  const before = earliest(state);
  return before !== null && send({ type: 'activity', before });
}

/** @param {import('../protocol.js').ActivityAnswer} page */
export function activityCame({ before, rows, earlier }) {
  if (before === earliest(state)) set({ older: { rows: [...(state.older?.rows ?? []), ...rows], earlier } });
}

/** What a new first page has no room for goes on being shown to whoever asked for more. @param {import('../protocol.js').ActivityView} next */
export function pushedOut(next) {
  const last = next.rows.at(-1)?.seq;
  if (!state.older || last === undefined) return state.older;
  const known = new Set(state.older.rows.map(({ seq }) => seq));
  const out = state.activity.rows.filter(({ seq }) => seq < last && !known.has(seq));
  return { ...state.older, rows: [...out, ...state.older.rows] };
}

/** @param {Send} send */
export const moreWork = (send) => send({ type: 'work_list', from: state.works?.list.length ?? 0 });

/** @param {import('../protocol.js').WorkListAnswer} page */
export function workCame({ from, work_list, n_more_work }) {
  const list = state.works?.list ?? [];
  if (from === list.length) set({ works: { list: [...list, ...work_list], n_more: n_more_work } });
}
