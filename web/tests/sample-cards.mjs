// Cards of every kind as the runtime makes them (`real-cards.json`, which a test over there keeps true), ordinary and with
// the longest texts that there are, and offers whose hashes are right. Only what no runtime would show is made up here.

import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { canonical } from '../lib/canonical.js';

export const INSTALLATION = 'inst-0b5c3a52-77aa-4a63-9a55-6a4a4bb4f2aa';

export const sha256 = (text) => createHash('sha256').update(text).digest('hex');
export const at = (ms) => new Date(ms).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z');

const SCOPES = { plan: 'full_plan', house_rules: 'standing', rehearsal: 'full_plan', apply: 'single_step', undo: 'single_step', root: 'tool_type', device: 'connection_manage', model: 'connection_manage', step: 'single_step', budget: 'tool_type' };

function offer(kind, face, payload, { issued = Date.now(), minutes = 5, workItem = `task-${randomUUID()}` } = {}) {
  return {
    v: 1, kind, scope: SCOPES[kind], installation: INSTALLATION, epoch: 0, work_item_id: workItem,
    plan_hash: sha256(payload), shown: sha256(canonical(face)), nonce: `n-${randomUUID()}`,
    issued_at: at(issued), expires_at: at(issued + minutes * 60_000), max_executions: 1, approval_strength: 'tap', conditions: {},
  };
}

function card(kind, face, payload, options = {}) {
  return {
    id: `card-${randomUUID()}`, state: options.state ?? 'open', created_at: at(options.issued ?? Date.now()), face,
    offer: kind ? offer(kind, face, payload, options) : null, payload: kind ? payload : null,
  };
}

/** Faces, payloads and inputs as the runtime makes them. */
const REAL = JSON.parse(readFileSync(new URL('real-cards.json', import.meta.url), 'utf8'));

/** All but the one that is on the pairing screen. */
export const REAL_CARDS = Object.keys(REAL).filter((name) => name !== 'pairing');

/** @param {string} name @param {{ state?: string, issued?: number, minutes?: number }} [options] */
export function realCard(name, options = {}) {
  const { kind, face, payload, input, test_call, instead } = REAL[name];
  const workItem = kind === 'undo' ? JSON.parse(payload).execution : undefined;
  const made = card(kind, structuredClone(face), payload, { ...options, ...(workItem && { workItem }) });
  if (instead) return { ...made, instead: { offer: offer(instead.kind, face, instead.payload, options), payload: instead.payload } };
  const showFirst = face.ctas.some(({ press }) => press === 'rehearse') && { show_first: { ...made.offer, kind: 'rehearsal', nonce: `n-${randomUUID()}` } };
  const expires = input && { input: { ...structuredClone(input), expires_at: at(Date.parse(made.created_at) + 300_000) } };
  return { ...made, ...showFirst, ...expires, ...(test_call && { test_call }) };
}

const real = (name) => (options) => realCard(name, options);

export const ASKED = REAL.plan.face.asked;
export const EVIDENCE = REAL.done.face.evidence;
export const DIFFS = REAL.done.face.diffs;

export const planCard = real('plan');
export const modelPlanCard = real('model_plan');
export const longestCard = real('plan_longest');
export const rootCard = real('root');
export const longestRootCard = real('root_longest');
export const modelCard = real('model_to_test');
export const choiceCard = real('choice');
export const choiceAgainCard = real('choice_again');
export const failedTestCard = real('tested_failed');
export const rehearsedCard = real('rehearsed');
export const unprovenCard = real('unproven');
export const doneCard = real('done');
/** What takes one tap. */
export const lowCard = rehearsedCard;
export const highCard = real('plan_high');
export const irreversibleCard = real('plan_irreversible');
export const unknownCard = real('unknown');
export const budgetCard = real('budget');
export const reportCard = real('report');
/** Work that ended with a red check; its change was not applied and can still be had. */
export const failedCard = (options) => {
  const made = reportCard(options);
  const face = { ...made.face, details_title: 'Read the 2 changes', diffs: DIFFS };
  return { ...made, face, execution: 'exec-00aa11bb22cc33dd44ee55ff66007788' };
};
export const conflictCard = real('conflict');
export const longestSecretCard = real('secret_longest');

/** The key of a provider, with what a test wants otherwise. */
export function secretCard(options = {}) {
  const made = realCard('key', options);
  return { ...made, input: { ...made.input, ...options.input } };
}

/** For a passkey that a browser has really made. @param {{ name?: string, public: string, site: { rp_id: string, credential: string } }} passkey */
export function passkeyCard({ name = 'Passkey of Chromium on Linux', public: key, site }, options) {
  const face = JSON.parse(JSON.stringify(REAL.passkey.face).replaceAll('Passkey of Chromium on Linux', name).replaceAll('localhost', site.rp_id));
  return card('device', face, canonical({ kind: 'device', name, public: key, site }), options);
}

export const somePasskeyCard = real('passkey');

export function houseRules() {
  const { face, payload } = REAL.pairing;
  return { face, offer: offer('house_rules', face, payload), payload };
}

export function runningWork(started = Date.now() - 60_000) {
  const step = (label, state, took_ms = null) => ({ label, state, took_ms });
  return { execution: 'exec-running', work_item: 'task-1', title: 'Fix the one-hour shift in tidepool', place: 'Rehearsing in a private copy', running: true, started_at: at(started),
    footer: 'Your files are untouched · $0.03 of $0.20', outcome: null, has_proof: false,
    steps: [step('Copied 38 files', 'done', 400), step('Ran the checks first: 1 fails', 'done', 6000), step('Ran `sh fix.sh`', 'done', 41_000), step('Running the checks again', 'running'), step('Apply what is proved', 'waiting'), step('Show you the result', 'waiting')] };
}

export function finishedWork(started = Date.now() - 600_000) {
  return { ...runningWork(started), execution: 'exec-00aa11bb22cc33dd44ee55ff66007788', place: 'Applied', running: false, outcome: 'proved', has_proof: true, steps: [] };
}

const ROWS = [
  ['undo', 'Put 2 files back', 'Exactly as before', 'change'], ['refused', 'Refused to work in `/etc`', 'A system directory cannot be granted. Nothing happened.', 'refusal'],
  ['seal', 'Proved 2 changed files', 'In a private copy, not applied', 'change'], ['tick', 'Asked anthropic/claude-haiku-4-5', 'It cost $0.31', 'spending'],
  ['shield', 'Plans may work in ~/code/tidepool', 'Nothing changes without your yes', 'decision'],
  ['cross', '1 check red', 'On the untouched copy: `python3 -m pytest -q`'], ['pen', 'You approved a plan', 'Signed on Chromium on Linux', 'decision'], ['tick', 'Started “Fix the one-hour shift”', 'In a private copy'],
];

export const ACTIVITY = {
  earlier: null, summary: '8 things so far, 1 proved, 1 refused, 1 undone.', away: { from: at(Date.now() - 9 * 3_600_000), to: at(Date.now() - 600_000), text: 'While you were away, 22:48 to 07:12 UTC (8 h 24 min): 2 pieces of work begun.', microusd: 310_000 },
  spent: { period: '2026-11-16', microusd: 420_000, cap_microusd: 2_000_000 }, n_entries: 1284, head: null, epoch: 1, verified: true,
  rows: ROWS.map(([icon, text, note, ...topics], n) => ({ seq: 1284 - n, at: at(Date.now() - n * 900_000), icon, text, note, topics })),
};

/** The same of an owner who has decided five times. */
export const DECIDED = { ...ACTIVITY, rows: [...ACTIVITY.rows, ...Array.from({ length: 3 }, (_, n) => ({ ...ACTIVITY.rows[6], seq: 1200 - n }))] };

/** What stands behind a row: its entry, with a hash that is right. */
export function evidence(seq, change = {}) {
  const link = { seq, at: at(Date.now() - 900_000), event: 'decision_recorded', body: canonical({ event: 'decision_recorded', verdict: 'approved' }), prev: sha256('before') };
  return {
    seq, text: 'You approved a plan', note: 'Signed on Chromium on Linux', proof: null, holds: true,
    facts: [['Asked', 'Change up to 4 files in tidepool'], ['May change', '~/code/tidepool, not `.git`'], ['Answer', 'Yes'], ['Signed on', 'Chromium on Linux, with its own key'], ['Key', '`key-00112233445566778899aabbccddeeff`'], ['Covers', `\`${sha256('plan')}\``]].map(([label, text]) => ({ label, text })),
    quotes: [{ who: 'You asked', text: ASKED }, { who: 'In the model’s words, anthropic/claude-haiku-4-5', text: 'The reader drops the zone.\nI will keep it.' }],
    link: { ...link, hash: sha256(canonical(['v1', 'ledger', seq, link.at, link.body, link.prev])) }, ...change,
  };
}

export const GRANTS = [
  { token: 'tok-rules', title: 'House rules', text: 'Begin an approved task again if it was interrupted. Drop the old versions of changed files.', directory: null, uses: { left: 700, of: 1000 }, since: at(Date.now() - 4 * 86_400_000), until: at(Date.now() + 3 * 86_400_000), signed_on: 'Chromium on Linux' },
  { token: 'tok-root', title: 'Work in tidepool', text: 'Plans may be offered for `/home/mira/code/tidepool`. Nothing there changes without your yes.', directory: '/home/mira/code/tidepool', uses: null, since: at(Date.now() - 3 * 86_400_000), until: null, signed_on: 'Chromium on Linux' },
];

export const DEVICES = [
  { key: 'key-terminal', name: 'mira’s terminal', kind: 'terminal', since: at(Date.now() - 9 * 86_400_000), is_revoked: false, n_grants: 0, site: null, digits: '204 117' },
  { key: 'key-phone', name: 'Safari on iPhone', kind: 'browser', since: at(Date.now() - 4 * 86_400_000), is_revoked: false, n_grants: 2, site: null, digits: '384 210' },
  { key: 'key-lost', name: 'Firefox on a lost laptop', kind: 'browser', since: at(Date.now() - 5 * 86_400_000), is_revoked: true, n_grants: 0, site: null, digits: '771 002' },
  { key: 'key-passkey', name: 'Passkey of Safari on iPhone', kind: 'passkey', since: at(Date.now() - 2 * 86_400_000), is_revoked: true, n_grants: 0, site: { rp_id: 'localhost', credential: 'AAEC' } },
];

export const PROOF = {
  execution: 'exec-00aa11bb22cc33dd44ee55ff66007788', title: 'Fix the one-hour shift in tidepool', state: 'applied', no_bundle: null, outcome: 'proved', claim: EVIDENCE.claim, caveats: EVIDENCE.caveats, before: EVIDENCE.before, after: EVIDENCE.after, diffs: DIFFS,
  patch: { text: 'diff --git a/tides/parse.py b/tides/parse.py\n', left_out: [], n_hidden: 0 },
  steps: [
    ['You asked', '07:14, signed on Chromium on Linux'], ['Checks ran on the untouched copy', '1 of 2 failed'], ['Silas changed 2 files', '+5 −2 lines, in the private copy only'],
    ['The same checks ran again', '2 pass. The work could not change them.'], ['You approved exactly this plan', '07:15, signed on Chromium on Linux'], ['2 files applied, all or none', 'What landed is what was checked'], ['Written to the log', 'Entries 1,271 to 1,284, chain unbroken'],
  ].map(([title, note]) => ({ title, note })),
};

export const NO_MODEL = 'That needs a model, and none is set up. Say `add a model`.';

/** As the core lists them. */
const UNDERSTOOD = [...readFileSync(new URL('../../crates/silas-core/src/reflex.rs', import.meta.url), 'utf8').match(/UNDERSTOOD: [^=]*= \[([^\]]*)\]/)[1].matchAll(/"([^"]+)"/g)].map(([, sentence]) => sentence);

export function snapshot(change = {}) {
  return {
    installation: INSTALLATION, now: at(Date.now()), entries: [], seq: 0, cards: [], n_more_cards: 0, work: [], outputs: [], answering: null, waiting_for: [], looking: [], activity: ACTIVITY, grants: GRANTS, n_more_grants: 0, devices: DEVICES, epoch: 3,
    understood: UNDERSTOOD, no_model: NO_MODEL, stopped: null, ...change,
  };
}

export const entry = (sender, text, ago = 120_000) => ({ id: `msg-${randomUUID()}`, sender, text, at: at(Date.now() - ago) });
