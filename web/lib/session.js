// @ts-check
// One session with Silas: answers the challenge, keeps the store equal to what the server says, and sends what the
// owner does. Decides nothing itself.

import * as advanced from './advanced.js';
import { answer } from './decision.js';
import { bundleName, download, savePatch } from './download.js';
import { devices, sign } from './keys.js';
import * as last from './last.js';
import * as outbox from './outbox.js';
import { NoPasskey, create, signerOf } from './passkeys.js';
import { answeredElsewhere, leftBehind } from './leaving.js';
import * as notify from './notify.js';
import * as pace from './pace.js';
import { go } from './router.js';
import { openSocket } from './socket.js';
import { announce, forget, set, state, upsert } from './store.js';
import { count } from './text.js';
import { learnServerTime, timestamp } from './time.js';
import { interrupted, unheard } from './unheard.js';
import * as pages from './pages.js';
import * as withdrawals from './withdrawals.js';
import * as witness from './witness.js';

/** @typedef {import('../protocol.js').ServerMessage} ServerMessage */
/** @typedef {import('../protocol.js').Card} Card */

/** @type {ReturnType<typeof openSocket> | null} */
let socket = null;
/** @type {import('./keys.js').Device | null} */
let device = null;
/** What this page has of the Stream; it goes on from here after a loss. @type {import('../protocol.js').Resume | null} */
let resume = null;
/** The number at which this page is up to date with what was said before it connected. */
let upToDate = 0;
/** When the server was last heard from. */
let heardAt = 0;
/** The execution whose patch is saved as soon as it is told. @type {string | null} */
let wantedPatch = null;

export async function start() {
  set({ outbox: await outbox.load(), phase: 'paired' });
  await notify.load();
  await advanced.load();
  set({ quick: await pace.load() });
  notify.listen();
  const copy = await last.whenSilent();
  socket = openSocket({
    message: (message) => void receive(message),
    connecting: () => set({ link: { ...state.link, status: 'connecting' } }),
    lost: (retryAt) => {
      const lastSeen = heardAt || state.link.lastSeen;
      set({ link: { status: 'waiting', retryAt, lastSeen }, decisions: interrupted() });
      copy.show();
    },
    // The key stays: after a restored backup it may be known again, and pairing replaces it.
    notKnown: () => leave('Silas does not know this browser any more. Pair it again.'),
  });
}

/** Back to pairing, with nothing of what this page had, neither on it nor behind it, nor kept. @param {string} why */
function leave(why) {
  [resume, wantedPatch, heardAt] = [null, null, 0];
  notify.follow([]);
  forget({ phase: 'pairing', pairingNote: why });
  void last.wipe();
}

export const retry = () => socket?.retry();

/** @param {ServerMessage} message */
async function receive(message) {
  heardAt = Date.now();
  switch (message.type) {
    case 'challenge': return open(message);
    case 'welcome': return welcome(message);
    case 'message': {
      const answering = state.answering?.reply === message.entry.id ? null : state.answering;
      set({ answering, entries: upsert(state.entries, message.entry, ({ id }) => id), outbox: outbox.arrived(state.outbox, message.entry) });
      if (message.entry.sender === 'silas') announce(message.entry.text);
      return has(message.seq);
    }
    case 'cards': return receiveCards(message);
    case 'answered': return answeredElsewhere(message.answered);
    case 'draft': return set({ answering: message.draft });
    case 'work': return set({ work: upsert(state.work, message.work, ({ execution }) => execution) });
    case 'activity': {
      set({ older: pages.pushedOut(message.activity), activity: message.activity, grants: message.grants, n_more_grants: message.n_more_grants, devices: message.devices, no_model: message.no_model });
      return witness.see(message.activity, askLedger);
    }
    case 'ledger': return witness.read(message.part, askLedger);
    case 'measures': return set({ measures: message.measures });
    case 'cards_page': return pages.cardsCame(message);
    case 'activity_page': return pages.activityCame(message);
    case 'work_list': return pages.workCame(message);
    case 'grants_page': {
      pages.grantsCame(message);
      return withdrawals.collected(way());
    }
    case 'beat': {
      last.stillTrue();
      return socket?.beat();
    }
    case 'stopped': return set({ said: stopping(message.n_works), ...(stoppingAll && { stopped: stoppedNow(message.n_works) }) });
    case 'withdrawn': return withdrawals.answered(message);
    case 'asked': return asked(message.card);
    case 'decided': return decided(message);
    case 'proof': return 'proof' in message ? proved(message.proof) : undefined;
    case 'evidence': return set({ evidence: { ...state.evidence, [message.evidence.seq]: message.evidence } });
    case 'bundle': return 'bundle' in message ? download(bundleName(message.execution), message.bundle) : undefined;
    case 'later_edits': return 'edits' in message ? set({ edits: { ...state.edits, [message.execution]: message.edits } }) : undefined;
    case 'error': return refused(message);
    default: return undefined;
  }
}

/** @param {import('../protocol.js').ProofView} proof */
function proved(proof) {
  set({ proofs: { ...state.proofs, [proof.execution]: proof } });
  if (wantedPatch !== proof.execution) return;
  wantedPatch = null;
  savePatch(proof);
}

/** @param {import('../protocol.js').Challenge} message */
async function open({ challenge, installation }) {
  // One browser may be paired with several installations at this address, one after the other.
  device = (await devices()).find((known) => known.installation === installation) ?? null;
  if (!device) {
    socket?.end();
    socket = null;
    leave('This is another Silas than the one this browser was paired with.');
    return;
  }
  /** @type {import('../protocol.js').SessionProof} */
  const proof = { kind: 'session', challenge, installation, key: device.key };
  socket?.send({ type: 'auth', key: device.key, signature: await sign(device, proof), resume, token: device.access ?? null });
}

/** Everything up to here is shown: says so, and once nothing older is missing, sends again what may not have arrived. @param {number} seq */
async function has(seq) {
  if (!resume) return;
  const wasBehind = resume.seen < upToDate;
  resume = { ...resume, seen: Math.max(resume.seen, seq) };
  socket?.send({ type: 'ack', seq });
  if (wasBehind && resume.seen >= upToDate) await postAll();
}

/** @param {import('../protocol.js').Welcome} message */
async function welcome({ device: name, session, seq, head, resumed, since, snapshot }) {
  const { now, entries, ...shown } = snapshot;
  learnServerTime(now);
  socket?.settled();
  const waiting = entries.reduce(outbox.arrived, state.outbox);
  notify.follow(snapshot.cards);
  resume = { session, seen: seq };
  upToDate = head;
  set({
    ...shown,
    entries: resumed ? state.entries : entries,
    since: since ?? state.since,
    older: null,
    works: null,
    device: name,
    key: device?.key ?? '',
    revoking: null,
    loaded: true,
    asOf: null,
    decisions: unheard(snapshot.cards),
    // Whoever is in the middle of a card goes on with it.
    holding: snapshot.cards.some(({ id }) => id === state.holding) ? state.holding : null,
    problem: state.problem?.stays ? state.problem : null,
    outbox: waiting,
    link: { status: 'open', retryAt: 0, lastSeen: Date.now() },
  });
  socket?.send({ type: 'ack', seq });
  await last.follow(state.key);
  await withdrawals.resumed(way());
  await witness.meet(snapshot.installation, snapshot.activity, askLedger);
  if (seq >= head) await postAll();
}

/** What was said while there was no connection, or was on its way when it broke. */
async function postAll() {
  for (const message of state.outbox.filter((kept) => kept.state !== 'refused')) await post(message);
}

/** @param {import('../protocol.js').CardsUpdate} update */
function receiveCards({ cards, n_more_cards }) {
  const known = new Set(state.cards.map(({ id }) => id));
  const fresh = cards.filter(({ id, state: s }) => s === 'open' && !known.has(id));
  const kept = Object.entries(state.decisions).filter(([id]) => cards.some((card) => card.id === id && !isNew(card)));
  const holding = cards.some(({ id }) => id === state.holding) ? state.holding : null;
  notify.follow(cards);
  const unseen = Object.entries(state.decisions).find(([id, { phase }]) => phase === 'failed' && !kept.some(([stays]) => stays === id));
  if (unseen) outlive(unseen[1].message, cards.some(({ id }) => id === unseen[0]) ? ANEW : GONE);
  set({ cards, n_more_cards, holding, over: leftBehind(state, cards), decisions: Object.fromEntries(kept), ...nextOfSettingUp(fresh) });
  if (fresh.length > 0) announce(`New in Review: ${fresh.map(({ face }) => face.intent).join('; ')}`);
}

/** Whether a card asks something else than it did, as after "Ask me again". @param {Card} card */
function isNew(card) {
  const before = state.cards.find(({ id }) => id === card.id);
  return before?.offer?.nonce !== card.offer?.nonce || before?.input?.expires_at !== card.input?.expires_at || before?.state !== card.state;
}

const GONE = 'Your answer was not recorded, and its card is gone. If you still want it, say it again in the Stream.';
const ANEW = 'Your answer was not recorded, and its card asks anew. Decide again.';

/** A no to a decision must not go with its card: it stands above everything until somebody closes it. @param {string} message @param {string} [todo] */
const outlive = (message, todo = GONE) => set({ problem: { code: '', message, todo, stays: true } });

/** @param {import('../protocol.js').Decided} answer */
function decided({ request_id, recorded, message }) {
  const decision = state.decisions[request_id];
  if (!recorded && !state.cards.some(({ id }) => id === request_id)) outlive(message);
  if (!decision) return;
  const phase = recorded ? 'recorded' : 'failed';
  set({ decisions: { ...state.decisions, [request_id]: { ...decision, phase, message } }, holding: recorded ? null : state.holding, said: message });
}

/** What was just sent was not accepted, whatever it was. @param {import('../protocol.js').ErrorMessage} error */
function refused(error) {
  const notTaken = error.code.startsWith('E_CHANNEL');
  /** @type {[string, import('./store.js').Decision][]} */
  const decisions = Object.entries(state.decisions).map(([id, decision]) => [id, notTaken && decision.phase === 'sent' ? { ...decision, phase: 'failed', message: error.message } : decision]);
  wantedPatch = null;
  set({ problem: error, ...(notTaken && withdrawals.refused(error)), outbox: outbox.refused(state.outbox), decisions: Object.fromEntries(decisions) });
}

/** How far an answer has come. @param {Card} card @param {string} press @param {import('./store.js').Decision['phase']} phase @param {string} [message] */
export function mark(card, press, phase, message = '') {
  if (phase === 'failed' && !state.cards.some(({ id }) => id === card.id)) outlive(message);
  set({ decisions: { ...state.decisions, [card.id]: { phase, press, message } } });
}

const LOST = 'The connection broke. Nothing was sent.';
export const DIFFERS = 'This card and the request differ. Nothing was signed. Reload, or decide in the terminal.';

/** @type {Record<'approve' | 'rehearse' | 'redo' | 'decline' | 'change', import('../protocol.js').Verdict>} */
const VERDICTS = { approve: 'approved', rehearse: 'approved', redo: 'approved', decline: 'declined', change: 'edit_requested' };

/** Signs the card’s offer and sends it, once; says whether it went out. @param {Card} card @param {'approve' | 'rehearse' | 'redo' | 'decline' | 'change'} press @param {import('../protocol.js').DeviceView | null} [passkey] What signs instead of this browser. */
export async function decide(card, press, passkey = null) {
  if (!device || ['signing', 'sent', 'recorded'].includes(state.decisions[card.id]?.phase)) return false;
  mark(card, press, 'signing');
  let token;
  try {
    token = await answer(device, card, VERDICTS[press], press === 'rehearse' || press === 'redo' ? press : 'approve', passkey ? signerOf(passkey) : undefined);
  } catch (cause) {
    if (!(cause instanceof NoPasskey)) throw cause;
    mark(card, press, 'failed', cause.message);
    return false;
  }
  if (!token) {
    mark(card, press, 'failed', DIFFERS);
    return false;
  }
  const sent = socket?.send({ type: 'approval_response', request_id: card.id, token });
  mark(card, press, sent ? 'sent' : 'failed', sent ? '' : LOST);
  if (sent) void pace.decided(card, performance.now()).then((quick) => set({ quick }));
  return sent === true;
}

/** What needs no signature: putting away. @param {Card} card */
export function dismiss(card) {
  const sent = socket?.send({ type: 'dismiss', request_id: card.id });
  mark(card, 'dismiss', sent ? 'sent' : 'failed', sent ? '' : LOST);
}

/** Has a parked card asked again, as it was or as a rehearsal; needs no signature, since it only asks. @param {Card} card @param {boolean} rehearse */
export function renew(card, rehearse) {
  const sent = socket?.send({ type: 'renew', request_id: card.id, rehearse });
  mark(card, rehearse ? 'renew_rehearsal' : 'renew', sent ? 'sent' : 'failed', sent ? '' : LOST);
}

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
function nextOfSettingUp(fresh) {
  const next = state.settingUp ? fresh.find(({ face }) => SETTING_UP.includes(face.kind)) : undefined;
  return next && { holding: next.id, settingUp: next.face.kind !== 'report' };
}

/** Says which model; the next card asks for its key or for the agreement. @param {Card} card @param {string} model @param {import('../protocol.js').KeyWanted} key @param {import('../protocol.js').Price | null} price What the owner says that it costs. */
export function choose(card, model, key, price) {
  if (['sent', 'recorded'].includes(state.decisions[card.id]?.phase)) return;
  const sent = socket?.send({ type: 'model_choose', request_id: card.id, model, key, price });
  mark(card, 'choose', sent ? 'sent' : 'failed', sent ? '' : LOST);
}

/** Answers a model's question, in an answer that it proposes or in other words; signed for this card and nothing else. @param {Card} card @param {string} text */
export async function answerQuestion(card, text) {
  if (!device || ['signing', 'sent', 'recorded'].includes(state.decisions[card.id]?.phase)) return;
  mark(card, 'answer', 'signing');
  const message = await outbox.signed(device, { id: crypto.randomUUID(), text }, `answer:${card.id}`);
  const sent = socket?.send({ type: 'decision_response', request_id: card.id, message });
  mark(card, 'answer', sent ? 'sent' : 'failed', sent ? '' : LOST);
}

/** After a test that failed: the same question once more, or another model. Needs no signature; the agreement was given. @param {Card} card @param {'again' | 'another'} press */
export function testAgain(card, press) {
  if (['sent', 'recorded'].includes(state.decisions[card.id]?.phase)) return;
  set({ settingUp: true });
  const sent = socket?.send({ type: `model_${press}`, request_id: card.id });
  mark(card, press, sent ? 'sent' : 'failed', sent ? '' : LOST);
}

/** @param {number} after */
const askLedger = (after) => socket?.send({ type: 'ledger', after }) ?? false;

/** Makes a passkey here and asks for the card that lets it decide. */
export async function addPasskey() {
  try {
    const made = await create(state.device, state.devices);
    set({ sheet: null });
    if (!socket?.send({ type: 'passkey_add', ...made })) set({ problem: { code: '', message: LOST, todo: '' } });
  } catch (cause) {
    if (!(cause instanceof NoPasskey)) throw cause;
    set({ sheet: null, problem: { code: '', message: cause.message, todo: '' } });
  }
}

/** A card that was asked for from here is what one wants to see next. @param {Card} card */
function asked(card) {
  set({ holding: card.id, over: null });
  go('review');
}

/** Who signs what is taken back, and the way there. */
const way = () => ({ device, send: (/** @type {any} */ message) => socket?.send(message) ?? false });

/** Takes a device or a grant back. @param {import('../protocol.js').Withdrawn} what */
export const withdraw = (what) => withdrawals.withdraw(way(), what);

/** Ends all running work, then takes every grant back. */
export function stopAndRevokeAll() {
  if (stop(null)) void withdrawals.withdrawAll(way());
}

/** The next page of something. @param {(send: import('./pages.js').Send) => boolean} page */
export const more = (page) => page((message) => socket?.send(message) ?? false);

/** How deciding goes. */
export const askMeasures = () => socket?.send({ type: 'measures' });

/** Asks for the house rules again; the question comes as a card. */
export const askHouseRules = () => socket?.send({ type: 'house_rules' });

/** @param {string} execution */
export const askProof = (execution) => socket?.send({ type: 'proof', execution });

/** Asks what stands behind a row of Activity. @param {number} seq */
export const askEvidence = (seq) => socket?.send({ type: 'evidence', seq });

/** Asks whether somebody has changed what an undo would put back. @param {string} execution */
export const askLaterEdits = (execution) => socket?.send({ type: 'later_edits', execution });

/** Asks for a plan that puts back what this work changed; it comes as a card. @param {string} execution */
export function planWayBack(execution) {
  if (!socket?.send({ type: 'way_back', execution })) set({ problem: { code: '', message: LOST, todo: 'Try again when Silas answers.' } });
}

/** Asks for the change as a patch; it is saved when it comes. @param {string} execution */
export function askPatch(execution) {
  wantedPatch = execution;
  if (!askProof(execution)) wantedPatch = null;
}

/** Asks for the proof as a file that anybody can check. @param {string} execution */
export const askBundle = (execution) => socket?.send({ type: 'bundle', execution }) ?? false;
/** Ends what a model is saying; what was said stays. */
export const interrupt = () => socket?.send({ type: 'interrupt' });

/** Whether what was asked to stop last was everything. */
let stoppingAll = false;

/** @param {number} n_works @returns {import('../protocol.js').StopView} */
const stoppedNow = (n_works) => ({ at: timestamp(), n_works, n_grants: 0 });

/** Ends running work, all of it or one; it can only take away and so needs no signature. @param {string | null} execution */
export function stop(execution) {
  stoppingAll = execution === null;
  const sent = socket?.send({ type: 'stop', execution }) ?? false;
  if (sent) set({ sheet: null, said: 'Stop was sent.' });
  return sent;
}

/** @param {number} n_works */
const stopping = (n_works) => (n_works === 0 ? 'Nothing was running.' : `${count(n_works, 'task')} ${n_works === 1 ? 'is' : 'are'} stopping.`);

/** @param {string} text */
export async function say(text) {
  const message = await outbox.keep(text);
  set({ outbox: [...state.outbox, message], draft: '', problem: null, stopped: null });
  await post(message);
}

/** @param {import('./store.js').Outgoing} message */
async function post(message) {
  if (!device || state.link.status !== 'open') return;
  const signed = await outbox.signed(device, message);
  if (socket?.send({ type: 'message', message: signed })) set({ outbox: outbox.sent(state.outbox, message.id) });
}

/** Takes a message that was not accepted back into the composer. @param {import('./store.js').Outgoing} message */
export function edit(message) {
  set({ outbox: outbox.dropped(state.outbox, message.id), draft: message.text, problem: null });
}
