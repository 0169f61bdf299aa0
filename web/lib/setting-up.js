// @ts-check
// Setting up a model: its cards, in their order, come before whatever else waits.

import { mark } from './deciding.js';
import { LOST, send } from './line.js';
import { go } from './router.js';
import { say } from './saying.js';
import { set, state } from './store.js';

/** @typedef {import('../protocol.js').Card} Card */

/** The cards of setting up a model, in their order. */
const SETTING_UP = ['model_choice', 'secure_input', 'model', 'report'];

/** Asks for the choice of a model. Its cards come first until it is set up, whatever else waits. */
export function addModel() {
  const asked = state.cards.find(({ face, state: s }) => face.kind === 'model_choice' && s === 'open');
  set({ settingUp: true, holding: asked?.id ?? state.holding });
  void say('add a model');
  go('review');
}

/** The next card of it, if that has just come. @param {Card[]} fresh */
export function nextOfSettingUp(fresh) {
  const next = state.settingUp ? fresh.find(({ face }) => SETTING_UP.includes(face.kind)) : undefined;
  return next && { holding: next.id, settingUp: next.face.kind !== 'report' };
}

/** Says which model; the next card asks for its key or for the agreement. @param {Card} card @param {string} model @param {import('../protocol.js').KeyWanted} key @param {import('../protocol.js').Price | null} price What the owner says that it costs. */
export function choose(card, model, key, price) {
  if (['sent', 'recorded'].includes(state.decisions[card.id]?.phase)) return;
  const sent = send({ type: 'model_choose', request_id: card.id, model, key, price });
  mark(card, 'choose', sent ? 'sent' : 'failed', sent ? '' : LOST);
}

/** After a test that failed: the same question once more, or another model. Needs no signature; the agreement was given. @param {Card} card @param {'again' | 'another'} press */
export function testAgain(card, press) {
  if (['sent', 'recorded'].includes(state.decisions[card.id]?.phase)) return;
  set({ settingUp: true });
  const sent = send({ type: `model_${press}`, request_id: card.id });
  mark(card, press, sent ? 'sent' : 'failed', sent ? '' : LOST);
}
