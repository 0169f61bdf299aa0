// @ts-check
// Tells the owner of a decision that came while nobody looked at this page: what it is and how risky, never what is in
// it. Nothing is sent anywhere for that, and nothing is decided in a notification; tapping it leads to the card.

import { RISKS } from '../cards/risk.js';
import { all, put } from './database.js';
import { go } from './router.js';
import { needingReview, set, state } from './store.js';
import { strict } from './text.js';

/** @typedef {import('../protocol.js').Card} Card */
/** @typedef {{ name: 'notifications', wanted: boolean | null, missed: boolean }} Choice `missed`: that a card was parked while nobody looked. */

/** Whether this browser can tell at all, and has not refused to. */
export const canTell = () => 'Notification' in window && 'serviceWorker' in navigator && Notification.permission !== 'denied';

/** Whether it does. */
export const tells = () => state.notify.wanted === true && canTell() && Notification.permission === 'granted';

/** Whether it is time to ask: a card was missed, and nobody has said yes or no. */
export const isToBeAsked = () => state.notify.missed && state.notify.wanted === null && canTell();

export async function load() {
  const kept = (await all('choices').catch(() => [])).find(({ name }) => name === 'notifications');
  if (kept) set({ notify: kept });
}

/** @param {Partial<Choice>} change */
function keep(change) {
  const notify = { ...state.notify, ...change };
  set({ notify });
  void put('choices', notify).catch(() => {}); // Private browsing: the choice lasts as long as the page.
}

/** The owner's tap; only it may lead to the browser's own question. @param {boolean} wanted */
export async function want(wanted) {
  keep({ wanted: wanted && (await Notification.requestPermission()) === 'granted' });
}

/** What waits, by what the card is about. @type {Partial<Record<import('../protocol.js').CardKind, string>>} */
const WAITS = { plan: 'a plan waits for you', rehearsed: 'the result waits for you', root: 'a directory waits for you', conflict: 'both versions wait for you', unknown_effect: 'an answer is missing', budget: 'the work waits for you', step: 'the work waits for you', decision: 'your wish waits for an answer' };

/** One task has one notification: a later decision takes the place of the one before. @param {Card} card */
const tagOf = (card) => `silas-${card.offer?.work_item_id || card.id}`;

/**
 * Compares what is open now with what was. Called before the store has the new cards.
 * @param {Card[]} cards
 */
export function follow(cards) {
  const before = new Map(state.cards.map((card) => [card.id, card]));
  const away = document.visibilityState === 'hidden' || !state.loaded || state.asOf !== null;
  const parked = cards.some((card) => card.state === 'parked' && before.get(card.id)?.state !== 'parked');
  if (away && parked && !state.notify.missed) keep({ missed: true });
  const waiting = needingReview(cards).filter((card) => card.state === 'open');
  const fresh = waiting.filter((card) => before.get(card.id)?.state !== 'open');
  const gone = state.cards.filter((card) => !waiting.some((other) => tagOf(other) === tagOf(card)));
  if (!tells()) return;
  void navigator.serviceWorker.ready.then((worker) => {
    if (document.visibilityState === 'hidden') fresh.forEach((card) => void tell(worker, card));
    gone.forEach((card) => void takeBack(worker, tagOf(card)));
  });
}

/** @param {ServiceWorkerRegistration} worker @param {Card} card */
function tell(worker, card) {
  const { kind, risk, intent } = card.face;
  const body = `${risk ? RISKS[risk].word : 'Wanted'} · ${WAITS[kind] ?? 'it waits for you'}`;
  const options = { body, tag: tagOf(card), renotify: true, icon: '/icons/silas.svg', data: { card: card.id } };
  return worker.showNotification(strict(intent), options).catch(() => {}); // The permission was taken back meanwhile.
}

/** @param {ServiceWorkerRegistration} worker @param {string} tag */
async function takeBack(worker, tag) {
  (await worker.getNotifications({ tag })).forEach((shown) => shown.close());
}

/** Leads to a card; one that is gone leads to Review. @param {string} id */
export function show(id) {
  if (state.cards.some((card) => card.id === id)) set({ holding: id });
  go('review');
}

/** Taps that reached the worker while this page is open. */
export function listen() {
  navigator.serviceWorker?.addEventListener('message', ({ data }) => void (typeof data?.show === 'string' && show(data.show)));
}
