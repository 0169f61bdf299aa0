// @ts-check
// One session with Silas: lays the line, answers the challenge, and keeps the store equal to what the server says. What the
// owner says, answers and asks for has files of its own.

import * as advanced from './advanced.js';
import { askLedger, asked, forgetPatch, proved, saveBundle, stopped, way } from './asking.js';
import * as deciding from './deciding.js';
import { devices, sign } from './keys.js';
import * as last from './last.js';
import { answeredElsewhere } from './leaving.js';
import { line, send } from './line.js';
import * as notify from './notify.js';
import * as outbox from './outbox.js';
import * as pace from './pace.js';
import * as pages from './pages.js';
import { postAll } from './saying.js';
import { nextOfSettingUp } from './setting-up.js';
import { openSocket } from './socket.js';
import { announce, forget, set, state, upsert } from './store.js';
import { learnServerTime } from './time.js';
import { interrupted, unheard } from './unheard.js';
import * as withdrawals from './withdrawals.js';
import * as witness from './witness.js';

/** @typedef {import('../protocol.js').ServerMessage} ServerMessage */

/** What this page has of the Stream; it goes on from here after a loss. @type {import('../protocol.js').Resume | null} */
let resume = null;
/** The number at which this page is up to date with what was said before it connected. */
let upToDate = 0;
/** When the server was last heard from. */
let heardAt = 0;

export async function start() {
  set({ outbox: await outbox.load(), phase: 'paired' });
  await notify.load();
  await advanced.load();
  set({ quick: await pace.load() });
  notify.listen();
  const copy = await last.whenSilent();
  line.socket = openSocket({
    message: (message, reply) => void receive(message, reply),
    connecting: () => set({ link: { ...state.link, status: 'connecting' } }),
    lost: (retryAt) => {
      const lastSeen = heardAt || state.link.lastSeen;
      line.n_lost += 1;
      set({ link: { status: 'waiting', retryAt, lastSeen }, decisions: interrupted() });
      copy.show();
    },
    // The key stays: after a restored backup it may be known again, and pairing replaces it.
    notKnown: () => leave('Silas does not know this browser any more. Pair it again.'),
  });
}

/** Back to pairing, with nothing of what this page had, neither on it nor behind it, nor kept. @param {string} why */
function leave(why) {
  [resume, heardAt] = [null, 0];
  forgetPatch();
  notify.follow([]);
  forget({ phase: 'pairing', pairingNote: why });
  void last.wipe();
}

export const retry = () => line.socket?.retry();

/** @param {ServerMessage} message @param {(message: import('../protocol.js').ClientMessage) => void} reply */
async function receive(message, reply) {
  heardAt = Date.now();
  switch (message.type) {
    case 'challenge': return open(message, reply);
    case 'welcome': return welcome(message);
    case 'message': {
      const answering = state.answering?.reply === message.entry.id ? null : state.answering;
      set({ answering, entries: upsert(state.entries, message.entry, ({ id }) => id), outbox: outbox.arrived(state.outbox, message.entry) });
      if (message.entry.sender === 'silas') announce(message.entry.text);
      return has(message.seq);
    }
    case 'cards': return deciding.cardsCame(message, nextOfSettingUp);
    case 'answered': return answeredElsewhere(message.answered);
    case 'draft': return set({ answering: message.draft });
    case 'waiting_for': return set({ waiting_for: message.waiting_for });
    case 'looking': return set({ looking: message.looking });
    case 'work': {
      const { work } = message;
      const outputs = work.running ? state.outputs : state.outputs.filter(({ execution }) => execution !== work.execution);
      return set({ work: upsert(state.work, work, ({ execution }) => execution), outputs });
    }
    case 'output': return set({ outputs: upsert(state.outputs, message.output, ({ execution }) => execution) });
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
      return line.socket?.beat();
    }
    case 'stopped': return stopped(message.n_works, message.models);
    case 'withdrawn': return withdrawals.answered(message);
    case 'asked': return asked(message.card);
    case 'decided': return deciding.decided(message);
    case 'proof': return 'proof' in message ? proved(message.proof) : undefined;
    case 'evidence': return set({ evidence: { ...state.evidence, [message.evidence.seq]: message.evidence } });
    case 'bundle': return 'bundle' in message ? saveBundle(message.execution, message.bundle) : undefined;
    case 'later_edits': return 'edits' in message ? set({ edits: { ...state.edits, [message.execution]: message.edits } }) : undefined;
    case 'error': return refused(message);
    default: return undefined;
  }
}

/** @param {import('../protocol.js').Challenge} message @param {(message: import('../protocol.js').ClientMessage) => void} reply */
async function open({ challenge, installation }, reply) {
  // One browser may be paired with several installations at this address, one after the other.
  const device = (await devices()).find((known) => known.installation === installation) ?? null;
  line.device = device;
  if (!device) {
    line.socket?.end();
    line.socket = null;
    leave('This is another Silas than the one this browser was paired with.');
    return;
  }
  /** @type {import('../protocol.js').SessionProof} */
  const proof = { kind: 'session', challenge, installation, key: device.key };
  reply({ type: 'auth', key: device.key, signature: await sign(device, proof), resume, token: device.access ?? null });
}

/** Everything up to here is shown: says so, and once nothing older is missing, sends again what may not have arrived. @param {number} seq */
async function has(seq) {
  if (!resume) return;
  const wasBehind = resume.seen < upToDate;
  resume = { ...resume, seen: Math.max(resume.seen, seq) };
  send({ type: 'ack', seq });
  if (wasBehind && resume.seen >= upToDate) await postAll();
}

/** @param {import('../protocol.js').Welcome} message */
async function welcome({ device: name, session, seq, head, resumed, since, snapshot }) {
  const { now, entries, trouble, ...shown } = snapshot;
  learnServerTime(now);
  line.socket?.settled();
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
    key: line.device?.key ?? '',
    revoking: null,
    loaded: true,
    asOf: null,
    decisions: unheard(snapshot.cards),
    // Whoever is in the middle of a card goes on with it.
    holding: snapshot.cards.some(({ id }) => id === state.holding) ? state.holding : null,
    problem: state.problem?.stays ? state.problem : (trouble ?? null),
    outbox: waiting,
    link: { status: 'open', retryAt: 0, lastSeen: Date.now() },
  });
  send({ type: 'ack', seq });
  await last.follow(state.key);
  await withdrawals.resumed(way());
  // Where the ledger cannot be read, it has no head to be compared.
  if (snapshot.activity.head || !trouble) await witness.meet(snapshot.installation, snapshot.activity, askLedger);
  if (seq >= head) await postAll();
}

/** What was just sent was not accepted, whatever it was. @param {import('../protocol.js').ErrorMessage} error */
function refused(error) {
  const notTaken = error.code.startsWith('E_CHANNEL');
  forgetPatch();
  set({ problem: error, ...(notTaken && { ...withdrawals.refused(error), decisions: deciding.notTaken(error.message) }), outbox: outbox.refused(state.outbox) });
}
