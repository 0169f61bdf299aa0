// The rules of the house for this folder: one spelling of the protocol, one list of files, nothing that turns text into
// markup, canonical bytes equal to those of the core.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canonical } from '../lib/canonical.js';
import { POLICY } from './fake-server.mjs';

const WEB = fileURLToPath(new URL('..', import.meta.url));
const CRATES = join(WEB, '../crates');
const text = (path) => readFileSync(path, 'utf8');
const snake = (name) => name.replace(/(?<!^)([A-Z])/g, '_$1').toLowerCase();

function files(directory = WEB) {
  return readdirSync(directory).filter((name) => name !== 'tests' && name !== 'node_modules').flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}
const own = files().filter((path) => path.endsWith('.js') && !path.includes('/vendor/'));

test('every script says what it is and is checked, and none makes markup of text', () => {
  for (const path of own) {
    const source = text(path);
    assert.match(source, /^\/\/ @ts-check\n\/\/ [A-Z]/, relative(WEB, path));
    assert.doesNotMatch(source.replace(/\/\/.*$/gm, ''), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, relative(WEB, path));
  }
  assert.doesNotMatch(text(join(WEB, 'index.html')), /<style|style=|\son\w+=|<script(?![^>]*src=)/);
});

test('nothing comes from elsewhere', () => {
  for (const path of [...own, join(WEB, 'index.html'), ...files().filter((path) => path.endsWith('.css'))]) {
    assert.doesNotMatch(text(path), /(https?:)?\/\/[a-z0-9-]+\.[a-z]{2,}/i, relative(WEB, path));
  }
});

test('the worker keeps every file of the page that is loaded, and no other', () => {
  const listed = [...text(join(WEB, 'sw.js')).matchAll(/^ {2}'(\/[^']*)',$/gm)].map(([, path]) => path);
  const loaded = files().map((path) => `/${relative(WEB, path)}`)
    .filter((path) => /\.(js|css|svg|webmanifest)$/.test(path) && !['/sw.js', '/protocol.js'].includes(path));
  assert.deepEqual([...listed].sort(), ['/', ...loaded].sort());
});

test('the stage has the policy of the real one, which lets nothing in from elsewhere', () => {
  const parts = POLICY.split('; ').map((part) => part.split(' '));
  assert.deepEqual(parts[0], ['default-src', "'none'"]);
  assert.ok(parts.length > 5 && parts.every(([name]) => /^[a-z]+(-[a-z]+)+$|^default-src$/.test(name)), POLICY);
  // Only a source that is nothing, this very server, or a picture written out in place.
  assert.deepEqual(parts.flatMap(([, ...sources]) => sources).filter((source) => !["'none'", "'self'", 'data:'].includes(source)), []);
  assert.deepEqual(parts.filter(([, ...sources]) => sources.includes('data:')).map(([name]) => name), ['img-src']);
});

/** The variants of a Rust enum or the fields of a struct, in order. */
function rust(source, name) {
  const body = new RegExp(`pub (?:enum|struct) ${name}(?:<[^>]*>)? \\{\\n([\\s\\S]*?)\\n\\}`).exec(source)?.[1];
  assert.ok(body, `${name} was not found`);
  return [...body.matchAll(/^ {4}(?:pub )?(\w+)(?:,| \{|\(|:)/gm)].map(([, part]) => part);
}

/** The same from a typedef: the strings of a union, or the keys of an object. */
function js(name) {
  const source = text(join(WEB, 'protocol.js'));
  const body = new RegExp(`@typedef \\{(.*)\\} ${name}$`, 'm').exec(source)?.[1];
  assert.ok(body, `${name} was not found`);
  if (body.startsWith("'")) return [...body.matchAll(/'(\w+)'/g)].map(([, part]) => part);
  return [...body.replace(/<[^>]*>/g, '').matchAll(/(\w+)\??: /g)].map(([, part]) => part);
}

test('protocol.js names what the Rust types name, in their order', () => {
  const source = text(join(WEB, 'protocol.js'));
  const protocol = text(join(CRATES, 'silas-web/src/protocol.rs'));
  const tags = (name) => {
    const union = new RegExp(`@typedef \\{([\\w| ]+)\\} ${name}$`, 'm').exec(source)[1].split(' | ').filter((part) => part !== 'Update');
    return union.map((part) => new RegExp(`type: '(\\w+)'[^\\n]*\\} ${part}$`, 'm').exec(source)[1]);
  };
  assert.deepEqual(tags('ClientMessage'), rust(protocol, 'ClientMessage').map(snake));
  assert.deepEqual(tags('ServerMessage'), rust(protocol, 'ServerMessage').filter((name) => name !== 'Update').map(snake));

  const parts = readdirSync(join(CRATES, 'silas-runtime/src/view')).map((name) => `view/${name}`);
  const view = ['view.rs', ...parts].map((name) => text(join(CRATES, 'silas-runtime/src', name))).join('\n');
  assert.deepEqual(tags('Update'), rust(view, 'Update').map(snake));
  const core = (name) => text(join(CRATES, `silas-core/src/${name}.rs`));
  const pairs = [
    [protocol, ['SessionProof', 'Credentials', 'ReadProof', 'WriteProof', 'PairingScreen', 'HouseRules', 'PairRequest']],
    [view, ['Snapshot', 'StopView', 'Sender', 'Entry', 'WorkView', 'StepView', 'StepState', 'ActivityView', 'Row', 'EvidenceView', 'Icon', 'GrantView', 'Uses', 'PeriodView', 'DeviceView', 'ProofView', 'PatchView', 'ProofStep', 'LedgerPart', 'LedgerReport', 'SinceView', 'SessionView', 'UndoView', 'LedgerTextView', 'DeadLetterView', 'WorkItemView', 'AnsweredView', 'DraftView', 'ModelView', 'ModelsView', 'Spent']],
    [core('event/topic'), ['Topic']],
    [core('execution'), ['ExecutionState']],
    [text(join(CRATES, 'silas-runtime/src/hub/listeners.rs')), ['Resume']],
    [core('checkpoint'), ['Head']],
    [core('chain'), ['Link']],
    [core('card'), ['Risk', 'CardKind', 'Press', 'Cta', 'Fact', 'Detail', 'EvidenceBlock', 'Quote', 'Face', 'CardState', 'Card']],
    [core('passkey'), ['Site']],
    [core('input'), ['SecureInput', 'Guidance', 'ModelChoice', 'ModelOption', 'KeyState', 'KeyWanted']],
    [core('inquiry'), ['Inquiry']],
    [core('model'), ['Provider', 'Role', 'ModelGrant']],
    [core('model/price'), ['Price']],
    [core('token'), ['Kind', 'Verdict', 'Offer', 'TokenBody', 'Token']],
    [core('signature'), ['Signature']],
    [core('message'), ['MessageBody', 'SignedMessage', 'CameOf', 'Answering']],
    [core('revocation'), ['WithdrawalBody', 'Withdrawal']],
    [core('check'), ['CheckResult', 'Outcome']],
    [core('changeset'), ['FileDiff', 'DiffLine']],
  ];
  for (const [rustSource, names] of pairs) {
    for (const name of names) assert.deepEqual(js(name), rust(rustSource, name).map(snake), name);
  }
});

test('canonical JSON: keys by UTF-16 units, short escapes, integers only', () => {
  const check = (value, expected) => assert.equal(canonical(value), expected);
  check({ b: 1, a: [true, null, 'x'] }, '{"a":[true,null,"x"],"b":1}');
  check({ '\u20ac': 1, '\r': 2, '\ufb33': 3, 1: 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 }, '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}');
  check('\u0000\u001f\b\t\n\f\r"\\/\u007f\u2028', '"\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\/\u007f\u2028"');
  check(-0, '0');
  check(2 ** 53 - 1, '9007199254740991');
  for (const bad of [0.5, 2 ** 53, NaN, undefined, '\ud800', 1n]) assert.throws(() => canonical(bad));
});
