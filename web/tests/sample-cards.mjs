// Cards of every kind, some with the longest texts that the contract allows, and offers whose hashes are right.

import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { canonical } from '../lib/canonical.js';

export const INSTALLATION = 'inst-0b5c3a52-77aa-4a63-9a55-6a4a4bb4f2aa';

export const sha256 = (text) => createHash('sha256').update(text).digest('hex');
export const at = (ms) => new Date(ms).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z');

const SCOPES = { plan: 'full_plan', house_rules: 'standing', rehearsal: 'full_plan', apply: 'single_step', undo: 'single_step', root: 'tool_type', device: 'connection_manage', model: 'connection_manage', step: 'single_step' };

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

export const ASKED = 'Tide times are an hour off since the clocks changed. Fix it in tidepool.';

const blank = { risk: null, facts: [], evidence: null, rationale: '', details_title: '', details: [], diffs: [], ctas: [] };
const check = (name, passed, reason) => ({ name, passed, reason, output: '', exit_code: passed ? 0 : 1, took_ms: 210, protected: true, tests: { runner: 'pytest', passed: 5, failed: passed ? 0 : 2, skipped: 0 } });

export const EVIDENCE = {
  outcome: 'proved', claim: 'Proved: red before, green after', caveats: ['Not ruled out: a forged test runner.'],
  before: [check('Clock-change tests', false, 'Exit code 1, expected 0'), check('All other tests', true, 'Exit code 0, expected 0')],
  after: [check('Clock-change tests', true, 'Exit code 0, expected 0'), check('All other tests', true, 'Exit code 0, expected 0')],
};

export const DIFFS = [
  { path: 'tides/parse.py', added: 4, removed: 1, lines: [
    { same: 'from datetime import datetime' }, { added: 'from zoneinfo import ZoneInfo' }, { same: '' }, { gap: 12 }, { same: 'def parse_time(text, zone):' },
    { removed: '    return datetime.fromisoformat(text)' }, { added: '    when = datetime.fromisoformat(text)' }, { added: '    zone = ZoneInfo(zone)' }, { added: '    return when.replace(tzinfo=zone)' },
  ] },
  { path: 'tides/report.py', added: 1, removed: 1, lines: [{ removed: 'start = when.strftime("%H:%M")' }, { added: 'start = local(when, zone, HM)' }] },
];

export function planPayload() {
  return canonical({
    id: 'task-4c1d', type: 'task', title: 'Fix the one-hour shift in tidepool', parent: null, spawned_by: null, follow_up_of: null, domain: null, agent: 'ephemeral',
    budget: { max_tokens: 200_000, max_cost_microusd: 200_000, max_wall_time_seconds: 600, max_attempts: 1, max_planner_calls: 0 },
    body: '', interaction_mode: 'confirm_only_when_required', input_artifacts_from: [], steps: [{ run: 'sh fix.sh', cwd: null }],
    verify: [{ name: 'Clock-change tests', run: 'sh check.sh', expect: { exit_code: 0 }, timeout: 300, network: false }],
    gates: [], skills: [], access_levels: {}, escalation: {}, schedule: null, on_failure: 'report', on_stuck: 'report', failure_context: null, tasks: [], depends_on: [],
    sandbox: { directories: [{ path: '/home/mira/code/tidepool', access: 'write', device: '2049', inode: '1311' }], hosts: [], toolchains: [] }, flows: [],
  });
}

export function planCard(options) {
  const face = { ...blank, kind: 'plan', risk: 'medium', state: 'Plan', intent: 'Change up to 4 files in tidepool',
    facts: [
      { label: 'May change', text: '~/code/tidepool, not `.git`' }, { label: 'May reach', text: 'nothing' },
      { label: 'Done when', text: '1 check passes' }, { label: 'Stops at', text: '10 minutes or $0.20' },
    ],
    rationale: ASKED, details_title: 'Steps, checks and limits',
    details: [{ title: 'Steps', lines: ['`sh fix.sh`'] }, { title: 'Checks', lines: ['Clock-change tests: `sh check.sh` ends with code 0'] }],
    ctas: [
      { press: 'approve', label: 'Do it, apply when green', consequence: 'Changes up to 4 files when the checks are green.' },
      { press: 'rehearse', label: 'Do it, show me first', consequence: 'Runs it in a private copy. Nothing is applied before you have seen it.' },
      { press: 'decline', label: 'Decline', consequence: '' },
    ] };
  const plan = card('plan', face, planPayload(), options);
  return { ...plan, show_first: { ...plan.offer, kind: 'rehearsal', nonce: `n-${randomUUID()}` } };
}

export function rootCard(options) {
  const face = { ...blank, kind: 'root', risk: 'medium', state: 'Directory', intent: 'Let plans work in tidepool',
    facts: [{ label: 'May change', text: 'only after a plan’s own yes' }, { label: 'Stays', text: 'until you take it back' }, { label: 'Goes to', text: '1 directory, listed below' }],
    rationale: 'Silas has not worked in this directory before.', details_title: 'Which directory', details: [{ title: 'Goes to', lines: ['/home/mira/code/tidepool'] }],
    ctas: [{ press: 'approve', label: 'Allow plans here', consequence: 'Plans may ask to work in tidepool.' }, { press: 'decline', label: 'Not now', consequence: '' }] };
  const payload = canonical({ kind: 'root', place: { path: '/home/mira/code/tidepool', device: '2049', inode: '1311' } });
  return card('root', face, payload, options);
}

export function modelCard(options) {
  const face = { ...blank, kind: 'model', risk: 'medium', state: 'Step 2 of 3', intent: 'Send your requests to openrouter.ai',
    facts: [{ label: 'Leaves', text: 'What you say, files in plans' }, { label: 'Stays', text: 'Other files, keys, the log' }, { label: 'Goes to', text: 'openrouter.ai' }, { label: 'Uses', text: 'anthropic/claude-haiku-4-5' }, { label: 'Cap', text: 'Your caps, checked each call' }],
    rationale: 'Open questions need a model. It only proposes: plans still ask you.', details_title: 'An example of what is sent',
    details: [{ title: 'For example', lines: ['You write: Tide times are an hour off. Fix it in tidepool.'] }, { title: 'Sent', lines: ['What you write, and the last things said in the Stream'] }],
    ctas: [{ press: 'approve', label: 'Agree, make 1 test call', consequence: 'What you say goes to openrouter.ai from now on.' }, { press: 'change', label: 'Choose another', consequence: '' }, { press: 'decline', label: 'Stay without', consequence: '' }] };
  const payload = canonical({ kind: 'model', model: 'openrouter:anthropic/claude-haiku-4-5', roles: ['proxy', 'planner'], key: 'env:OPENROUTER_API_KEY', price: null, policy_version: 1 });
  return card('model', face, payload, options);
}

/** A card that wants something entered: nothing to sign, and a time after which nothing is taken. */
function inputCard(face, input, options = {}) {
  const made = card(null, face, null, options);
  return { ...made, input: { ...input, expires_at: at(Date.parse(made.created_at) + 300_000) } };
}

export function secretCard(options = {}) {
  const face = { ...blank, kind: 'secure_input', state: 'No decision', intent: 'Paste the key for openrouter.ai',
    rationale: 'Straight into this machine\'s vault. No model sees it, no log keeps it.', details_title: 'How to make one, 3 steps',
    details: [{ title: 'Where it comes from', lines: ['Sign in at the address below', 'Make a new key', 'Copy it and paste it here'] }, { title: 'Where it goes', lines: ['Sealed, into the vault of this machine, under the name openrouter'] }],
    ctas: [{ press: 'store', label: 'Save to vault', consequence: '' }, { press: 'dismiss', label: 'Skip for now', consequence: '' }], ...options.face };
  return inputCard(face, { type: 'secret', ref_id: 'openrouter', label: 'Key', input_hint: 'sk-or-', guidance: { instructions: '', help_url: null }, wanted_by: { type: 'plan', name: 'tidepool' }, ...options.input }, options);
}

/** Every text as long as the server makes it. */
export const longestSecretCard = (options) => secretCard({
  ...options,
  face: { intent: 'Paste the secret some-very-long-name-of-a-secret-of-80', rationale: 'A plan for some-very-long-named-project uses it. It goes straight into this machine\'s vault.' },
  input: { ref_id: `s${'e'.repeat(79)}`, label: `Value of s${'e'.repeat(79)}`, input_hint: null },
});

export function choiceCard(options) {
  const facts = (leaves, to, stays) => [{ label: 'Leaves', text: leaves }, { label: 'Goes to', text: to }, { label: 'Stays', text: stays }];
  const choice = (provider, title, note, model, key, to, takes_url = false) => ({ provider, title, note, model, takes_url, key, facts: to === 'This machine only' ? facts('Nothing', to, 'Everything') : facts('What you say, files in plans', to, 'Other files, keys, the log') });
  const face = { ...blank, kind: 'model_choice', state: 'Step 1 of 3', intent: 'Choose who answers open questions', details_title: 'What comes next',
    details: [{ title: '5 providers to choose from, then', lines: ['The key, if one is needed: straight into the vault', 'Your agreement to what is sent, and to whom'] }],
    ctas: [{ press: 'choose', label: 'Go on with this one', consequence: '' }, { press: 'dismiss', label: 'Stay without', consequence: '' }] };
  return inputCard(face, { type: 'model', choices: [
    choice('openrouter', 'OpenRouter', 'Needs a key', 'anthropic/claude-haiku-4-5', 'needed', 'openrouter.ai'), choice('openai', 'OpenAI', 'Needs a key', 'gpt-5-mini', 'needed', 'api.openai.com'),
    choice('anthropic', 'Anthropic', 'Key saved', 'claude-haiku-4-5', 'kept', 'api.anthropic.com'), choice('ollama', 'Ollama', 'Nothing leaves', 'llama3.2', 'none', 'This machine only'),
    choice('compatible', 'Other address', 'You name it', '', 'needed', 'The address that you name', true),
  ] }, options);
}

export function rehearsedCard(options = {}) {
  const { evidence = EVIDENCE, diffs = DIFFS } = options;
  const proved = evidence.outcome === 'proved';
  const face = { ...blank, kind: 'rehearsed', risk: proved ? 'low' : 'medium', state: 'Rehearsed, not applied', intent: 'Apply 2 changed files to tidepool',
    facts: [{ label: 'Changes', text: 'parse.py, report.py +5 −2' }, { label: 'Undo', text: 'One tap, for 5 minutes' }],
    evidence, rationale: ASKED, details_title: 'Read the 2 changes', diffs,
    details: [{ title: 'Until you decide', lines: ['The copy is kept for 24 hours, then discarded. Your files are as they were.'] }],
    ctas: [
      { press: 'approve', label: proved ? 'Apply 2 files' : 'Apply 2 files, unproven', consequence: `Changes 2 files in tidepool${proved ? '' : ', unproven'}.` },
      { press: 'change', label: 'Ask for a change', consequence: '' }, { press: 'decline', label: 'Discard the copy', consequence: '' },
    ] };
  const findings = sha256(canonical({ before: evidence.before, after: evidence.after, diffs }));
  const payload = canonical({ kind: 'apply', execution: 'exec-00aa11bb22cc33dd44ee55ff66007788', plan_hash: sha256(planPayload()), changeset: sha256('changes'), findings });
  return card('apply', face, payload, options);
}

export const UNPROVEN = { outcome: 'unproven', claim: 'Unproven: there was no check', before: [], after: [] };

export function doneCard(options = {}) {
  const execution = 'exec-00aa11bb22cc33dd44ee55ff66007788';
  const face = { ...blank, kind: 'done', risk: 'low', state: 'Applied', intent: '2 files changed in tidepool',
    facts: [{ label: 'Checks', text: '1 red turned green, 1 stayed' }, { label: 'Kept', text: 'The old versions, until 07:24' }, { label: 'Took', text: '2 min 10 s' }],
    evidence: { ...EVIDENCE, claim: 'Proved: red before, green after, checks not protected', caveats: ['The commands could change their own checks.'] }, rationale: ASKED, details_title: 'Read the 2 changes', details: [], diffs: DIFFS,
    ctas: [
      { press: 'approve', label: 'Undo, put 2 files back', consequence: 'Puts 2 files back as they were.' },
      { press: 'proof', label: 'See the proof', consequence: '' }, { press: 'dismiss', label: 'Done', consequence: '' },
    ] };
  const payload = canonical({ kind: 'undo', execution, changeset: sha256('changes') });
  return card('undo', face, payload, { ...options, workItem: execution });
}

export function lowCard(options) {
  const face = { ...blank, kind: 'plan', risk: 'low', state: 'Plan', intent: 'Check 2 files in tidepool',
    facts: [{ label: 'May change', text: 'nothing' }, { label: 'Done when', text: '1 check passes' }, { label: 'Undo', text: 'Nothing to undo' }],
    rationale: ASKED, details_title: 'Steps, checks and limits', details: [{ title: 'Steps', lines: ['`sh fix.sh`'] }],
    ctas: [{ press: 'approve', label: 'Check 2 files', consequence: '' }, { press: 'decline', label: 'Not now', consequence: '' }] };
  return card('plan', face, planPayload(), options);
}

export function highCard(options) {
  const face = { ...blank, kind: 'plan', risk: 'high', state: 'Outside this machine', intent: 'Push 1 commit to main on github.com',
    facts: [{ label: 'May reach', text: 'github.com, nothing else' }, { label: 'Uses', text: 'First use of your deploy key' }, { label: 'Undo', text: 'Only by a second commit' }],
    rationale: 'The nightly build still uses the old reader.', details_title: 'What will be pushed', details: [{ title: 'Commit', lines: ['Keep the zone when reading'] }, { title: 'Files', lines: ['2 changed, +5 −2, proved'] }, { title: 'From', lines: ['`main` on this machine, 1 ahead'] }, { title: 'To', lines: ['`github.com/mira-h/tidepool`'] }],
    ctas: [{ press: 'approve', label: 'Push 1 commit', consequence: 'Pushes 1 commit to main.' }, { press: 'decline', label: 'Decline', consequence: '' }] };
  return card('plan', face, planPayload(), options);
}

export function irreversibleCard(options) {
  const face = { ...blank, kind: 'plan', risk: 'irreversible', state: 'Plan', intent: 'Run 1 command in tidepool',
    facts: [{ label: 'May change', text: '~/code/tidepool, not .git' }, { label: 'May reach', text: 'github.com:443' }, { label: 'May use', text: '1 secret, listed below' }, { label: 'Done when', text: '1 check passes' }, { label: 'Undo', text: 'None for what it sends' }],
    rationale: ASKED, details_title: 'Steps, checks and limits', details: [{ title: 'Steps', lines: ['`sh release.sh`'] }, { title: 'May use the secret', lines: ['github'] }],
    ctas: [{ press: 'approve', label: 'Do it, apply when green', consequence: 'Changes files in tidepool when the checks turn green.' }, { press: 'change', label: 'Ask for a change', consequence: '' }, { press: 'decline', label: 'Send nothing', consequence: '' }] };
  return card('plan', face, planPayload(), options);
}

/** Silas was interrupted while a command may have acted outside. */
export function unknownCard(options) {
  const face = { ...blank, kind: 'unknown_effect', risk: 'high', state: 'Interrupted', intent: 'It was cut short. Did it happen?',
    facts: [{ label: 'Wanted', text: 'sh release.sh' }, { label: 'May reach', text: 'releases.example.org:443' }, { label: 'Stays', text: 'Your files are untouched' }],
    rationale: ASKED, details_title: 'Where to look',
    details: [{ title: 'What is known', lines: ['Something had begun that may reach the hosts named here, and ended before its result was seen: Silas was interrupted, or you stopped it.', 'Nobody knows what it did there. Look there, or in Activity, which lists every connection.', 'Nothing was applied, and it is not begun again by itself.'] }, { title: 'Steps', lines: ['sh release.sh'] }],
    ctas: [{ press: 'approve', label: 'No, do it again', consequence: 'Runs the whole plan again. If it did happen, it happens twice.' }, { press: 'look', label: 'Look in Activity', consequence: '' }, { press: 'decline', label: 'Yes, leave it', consequence: '' }] };
  return card('plan', face, planPayload(), options);
}

export function budgetCard(options) {
  const face = { ...blank, kind: 'budget', risk: 'medium', state: 'Spending cap', intent: 'Allow $1.00 more for models today',
    facts: [{ label: 'Cap', text: '$2.00 a day, $2.00 spent' }, { label: 'Stays', text: 'Nothing is lost meanwhile' }],
    rationale: 'The cap of this day is used up, as far as the next question could cost. It was not sent. What needs a model is paused, nothing is lost.', details_title: 'What it counts for', details: [{ title: 'Counts for', lines: ['2026-11-16'] }],
    ctas: [{ press: 'approve', label: 'Allow $1.00 more', consequence: 'Adds $1.00 for 2026-11-16.' }, { press: 'decline', label: 'Go on without a model', consequence: '' }] };
  return card('budget', face, canonical({ kind: 'budget', period: '2026-11-16', microusd: 1_000_000 }), options);
}

/** Faces and payloads as the runtime makes them; a test over there keeps the file true. */
const REAL = JSON.parse(readFileSync(new URL('real-cards.json', import.meta.url), 'utf8'));

export const REAL_CARDS = Object.keys(REAL);

export function realCard(name, options) {
  const { kind, face, payload } = REAL[name];
  const made = card(kind, face, payload, options);
  return face.kind === 'plan' ? { ...made, show_first: { ...made.offer, kind: 'rehearsal', nonce: `n-${randomUUID()}` } } : made;
}

/** @param {{ name?: string, public: string, site: { rp_id: string, credential: string } }} passkey */
export function passkeyCard({ name = 'Passkey of Chromium on Linux', public: key, site }, options) {
  const face = { ...blank, kind: 'passkey', risk: 'high', state: 'Device', intent: 'Sign what cannot be undone with a passkey',
    facts: [{ label: 'Needs only', text: 'Your finger, face or PIN' }, { label: 'Uses', text: name }, { label: 'Stays', text: `On ${site.rp_id}` }],
    rationale: 'From then on no other key is enough for that, this browser’s and the terminal’s included. The terminal can take the passkey back.',
    details_title: 'Exactly which passkey', details: [{ title: 'Passkey', lines: [name, `Counts on pages of ${site.rp_id}`] }],
    ctas: [{ press: 'approve', label: 'Register this passkey', consequence: 'From now on it alone signs what cannot be undone.' }, { press: 'decline', label: 'Not now', consequence: '' }] };
  return card('device', face, canonical({ kind: 'device', name, public: key, site }), options);
}

export const SITE = { rp_id: 'localhost', credential: 'AAECAwQFBgcICQoLDA0ODw' };
const POINT = Buffer.from([4, ...Array(64).fill(7)]).toString('base64url');
export const somePasskeyCard = (options) => passkeyCard({ public: POINT, site: SITE }, options);

/** Every text as long as the contract allows. */
export function longestCard(options) {
  const fact = (label) => ({ label, text: 'Wide words make mighty lines 30' });
  const face = { ...blank, kind: 'plan', risk: 'medium', state: 'Plan, three words', intent: 'Change up to 4000 files in some-very-long-named-project-here',
    facts: ['May change', 'May reach', 'Done when', 'Stops at', 'Needs only'].map(fact),
    rationale: '“Every morning the tide table shows times that are an hour off since the clocks changed in the night, and I would like it to be repaired.”',
    details_title: 'Steps, checks and limits', details: [{ title: 'Steps', lines: ['`sh fix.sh`'] }],
    ctas: [
      { press: 'approve', label: 'Do it and apply it when everything is green', consequence: 'Changes up to 4000 files in some-very-long-named-project-here when the checks are green.' },
      { press: 'decline', label: 'Leave everything as it is', consequence: '' },
    ] };
  return card('plan', face, planPayload(), options);
}

export function reportCard(options) {
  const face = { ...blank, kind: 'report', state: 'Nothing applied', intent: 'The check is still red',
    facts: [{ label: 'Stays', text: 'Your files are untouched' }],
    evidence: { outcome: 'failed', claim: 'Not done: a check is red', before: EVIDENCE.before, after: EVIDENCE.before },
    ctas: [{ press: 'dismiss', label: 'Done', consequence: '' }] };
  return card(null, face, null, options);
}

/** Work that ended with a red check; its change was not applied and can still be had. */
export const failedCard = (options) => {
  const made = reportCard(options);
  const face = { ...made.face, rationale: ASKED, details_title: 'Read the 2 changes', diffs: DIFFS };
  return { ...made, face, execution: 'exec-00aa11bb22cc33dd44ee55ff66007788' };
};

export function conflictCard(options) {
  const face = { ...blank, kind: 'conflict', state: 'Nothing applied', intent: 'You changed 1 file meanwhile',
    facts: [{ label: 'Checks', text: '1 red turned green' }, { label: 'Stays', text: 'Your version, untouched' }], evidence: EVIDENCE, rationale: ASKED,
    details_title: 'Read the 2 changes', details: [{ title: 'Changed by you while Silas worked', lines: ['tides/report.py'] }], diffs: DIFFS,
    ctas: [{ press: 'dismiss', label: 'Drop Silas’s change', consequence: '' }] };
  return card(null, face, null, options);
}

export function houseRules() {
  const face = { ...blank, kind: 'pairing', risk: 'low', state: 'Pairing', intent: 'Pair this browser with Silas',
    rationale: 'Nothing reaches your files before you said yes to it. By itself Silas may only do this:', details_title: 'What Silas may do by itself',
    details: [{ title: 'House rules', lines: ['Begin a task again if it was interrupted, in a fresh copy and within its time limit', 'Drop the old versions of changed files when their undo time is over', 'Try out what you ask for in a private copy of a directory you allowed, without network or secrets, and show you the result; at most 100 times a day, 10 minutes each. Nothing is applied without your yes'] }],
    ctas: [{ press: 'approve', label: 'Pair this browser', consequence: 'This browser can approve work from now on.' }] };
  const payload = canonical({ kind: 'house_rules', rules: ['resume_interrupted', 'drop_old_versions', { rehearse: { per_day: 100, max_wall_time_seconds: 600 } }] });
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
  ['shield', 'Plans may work in ~/code/tidepool', 'Each plan still asks', 'decision'],
  ['cross', '1 check red', 'On the untouched copy: Clock-change tests'], ['pen', 'You approved a plan', 'Signed on Chromium on Linux', 'decision'], ['tick', 'Started: Fix the one-hour shift', 'In a private copy'],
];

export const ACTIVITY = {
  earlier: null, summary: '8 things so far, 1 proved, 1 refused, 1 undone.', away: { from: at(Date.now() - 9 * 3_600_000), to: at(Date.now() - 600_000), text: 'While you were away, 22:48 to 07:12 UTC (8 h 24 min): 2 pieces of work begun.', microusd: 310_000 },
  spent: { period: '2026-11-16', microusd: 420_000, cap_microusd: 2_000_000 }, n_entries: 1284, head: null, epoch: 1, verified: true,
  rows: ROWS.map(([icon, text, note, ...topics], n) => ({ seq: 1284 - n, at: at(Date.now() - n * 900_000), icon, text, note, topics })),
};

export const GRANTS = [
  { token: 'tok-rules', title: 'House rules', text: 'Begin an approved task again if it was interrupted. Drop the old versions of changed files.', uses: { left: 700, of: 1000 }, since: at(Date.now() - 4 * 86_400_000), until: at(Date.now() + 3 * 86_400_000), signed_on: 'Chromium on Linux' },
  { token: 'tok-root', title: 'Work in tidepool', text: 'Plans may be offered for `/home/mira/code/tidepool`. Each one still asks you.', uses: null, since: at(Date.now() - 3 * 86_400_000), until: null, signed_on: 'Chromium on Linux' },
];

export const DEVICES = [
  { key: 'key-terminal', name: 'mira’s terminal', kind: 'terminal', since: at(Date.now() - 9 * 86_400_000), is_revoked: false, n_grants: 0, site: null },
  { key: 'key-phone', name: 'Safari on iPhone', kind: 'browser', since: at(Date.now() - 4 * 86_400_000), is_revoked: false, n_grants: 2, site: null },
  { key: 'key-lost', name: 'Firefox on a lost laptop', kind: 'browser', since: at(Date.now() - 5 * 86_400_000), is_revoked: true, n_grants: 0, site: null },
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
    installation: INSTALLATION, now: at(Date.now()), entries: [], seq: 0, cards: [], n_more_cards: 0, work: [], activity: ACTIVITY, grants: GRANTS, n_more_grants: 0, devices: DEVICES, epoch: 3,
    understood: UNDERSTOOD, no_model: NO_MODEL, ...change,
  };
}

export const entry = (sender, text, ago = 120_000) => ({ id: `msg-${randomUUID()}`, sender, text, at: at(Date.now() - ago) });
