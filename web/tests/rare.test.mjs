// Cards that come rarely, decided in a real browser with a real Silas behind it: two versions of one file, a host that the plan
// does not name, work that was cut short while it may have acted outside, and what cannot be undone. Models are another story.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settle } from './browser.mjs';
import { atBothSizes } from './hands.mjs';
import { startHost } from './local-host.mjs';
import { card, connected, eventually, lost, restarted, show, step, tree } from './owner.mjs';
import { ASKING, counted, parkingAfter } from './real-server.mjs';

/** Long enough to be seen open on a slow machine, and not to be waited for in vain. */
const SECONDS = 6;

/** With a host on this machine that knows one word. */
const withHost = (settings) => async () => {
  const host = await startHost('Vienna');
  return { settings, host, close: host.close };
};

const LINES = Array.from({ length: 9 }, (_, n) => `line ${n + 1}\n`).join('');
const MERGE = 'Merge both, check again';
const REDO = 'Redo on my version';

atBothSizes('an edit under a result that waits', withHost({}), async ({ silas, page, look, press, decide, wish, told }) => {
  const file = join(silas.repo, 'notes.txt');
  const notes = () => readFileSync(file, 'utf8');
  const mark = (line) => `run \`sed -i "${line}s/$/ DONE/" notes.txt\` in \`${silas.repo}\` and check with \`sh done.sh ${line}\``;
  const apply = async () => {
    await card(page, 'Apply 1 changed file to tidepool').waitFor();
    await decide('Apply 1 file');
  };
  /** A result waits, the owner edits, and what waited is to be applied all the same. */
  const met = async (line, mine) => {
    await wish(mark(line));
    if (line === 8) await decide('Allow plans in tidepool', 'confirmed');
    await card(page, 'Apply 1 changed file to tidepool').waitFor();
    writeFileSync(file, mine);
    const edited = tree(silas.repo);
    await apply();
    await card(page, 'The same file was changed meanwhile').waitFor();
    assert.deepEqual(tree(silas.repo), edited, 'the edit stands, and nothing else is there');
  };
  writeFileSync(file, LINES);
  writeFileSync(join(silas.repo, 'done.sh'), counted('grep -q "$1.*DONE" notes.txt'));

  step('lines that do not touch: both versions are compared, saved, and it is done again on the version of the owner');
  const first = LINES.replace('line 2', 'line 2, mine');
  await met(8, first);
  await page.getByText('do not touch. Yours is in place and safe.').waitFor();
  await look('conflict');
  await settle(page);
  await press(page.locator('.details summary'));
  const compared = page.locator('.compared');
  await compared.locator('.diff-removed-yours', { hasText: 'line 2, mine' }).waitFor();
  await compared.locator('.diff-added', { hasText: 'line 8 DONE' }).waitFor();
  await look('conflict-compared');
  const [saved] = await Promise.all([page.waitForEvent('download'), press(page.getByRole('button', { name: 'Save as a patch' }))]);
  assert.match(readFileSync(await saved.path(), 'utf8'), /^-line 8\n\+line 8 DONE$/m);
  await decide(REDO, 'confirmed');
  await card(page, 'Apply 1 changed file to tidepool').waitFor();
  assert.equal(notes(), first, 'doing it again applies nothing');

  step('edited once more, both are merged, checked, shown, applied');
  const second = first.replace('line 5', 'line 5, mine too');
  writeFileSync(file, second);
  await apply();
  await card(page, 'The same file was changed meanwhile').waitFor();
  await decide(MERGE, 'confirmed');
  await page.getByText('Proved: red before, green after').waitFor();
  assert.equal(notes(), second, 'merging applies nothing');
  await look('conflict-merged');
  await apply();
  await card(page, '1 file changed in tidepool').waitFor();
  const third = second.replace('line 8', 'line 8 DONE');
  assert.equal(notes(), third);
  assert.deepEqual(silas.counts('decision_recorded', 'apply_conflicted', 'work_rehearsed', 'work_applied'), [6, 2, 3, 1]);
  await told('Both edits go together; merge them or have it done again');
  await told('1 file changed in tidepool. 1 red turned green.');
  await look('conflict-stream');

  step('the same line: done again, met again, and dropped');
  const fourth = third.replace('line 3', 'line 3, mine');
  await met(3, fourth);
  await page.getByText('Line 3 of notes.txt has two new versions').waitFor();
  await look('conflict-same-line');
  await decide(REDO, 'confirmed');
  await card(page, 'Apply 1 changed file to tidepool').waitFor();
  assert.equal(notes(), fourth);
  const last = fourth.replace('line 3, mine', 'line 3, mine at last');
  writeFileSync(file, last);
  await apply();
  await card(page, 'The same file was changed meanwhile').waitFor();
  await decide("Drop Silas's change");
  await card(page, 'The same file was changed meanwhile').waitFor({ state: 'detached' });
  assert.equal(notes(), last, 'the version of the owner stays');
  assert.deepEqual(silas.counts('decision_recorded', 'apply_conflicted', 'work_rehearsed', 'work_applied'), [10, 4, 5, 1]);
  await look('conflict-dropped');
  await told('It can be done again on your version, in Review.');
});

atBothSizes('a host that the plan does not name', withHost({}), async ({ silas, host, page, look, decide, wish, told }) => {
  const name = `tides.localhost:${host.port}`;
  writeFileSync(join(silas.repo, 'fetch.sh'), 'exec 3<>"/dev/tcp/${1%:*}/${1#*:}" && head -n 1 <&3 > zones.csv\n');
  const original = tree(silas.repo);
  const words = `run \`bash fetch.sh ${name}\` in \`${silas.repo}\` and check with \`grep -q Vienna zones.csv\``;
  const refused = card(page, `Let this task reach ${name}`);

  step('nothing was sent, and the task is stopped');
  await wish(words);
  await decide('Allow plans in tidepool', 'confirmed');
  await refused.waitFor();
  await refused.getByText('Refused, nothing sent').waitFor();
  await refused.getByText('Rehearsals have no network').waitFor();
  await look('refusal');
  await decide('Stop the task');
  await page.getByText('Nothing to decide').waitFor();
  await told('Stopped. What was asked for is not reached, and nothing was applied.');
  await look('refusal-stopped');
  assert.deepEqual([host.visits(), tree(silas.repo)], [0, original]);
  assert.deepEqual(silas.counts('decision_recorded', 'work_started', 'work_applied'), [2, 1, 0]);

  step('nobody answers: that is a no, and the card can be asked again');
  await restarted(page, silas, parkingAfter(SECONDS));
  await wish(words);
  await page.getByText('Parked', { exact: true }).waitFor();
  await refused.getByText(`No answer in ${SECONDS} seconds counts as no`).waitFor();
  await look('refusal-parked');
  assert.deepEqual([host.visits(), silas.count('card_parked')], [0, 1]);
  await restarted(page, silas);
  await decide('Ask me again');

  step('allowed for this task, it is reached once, and the result asks before it is applied');
  await page.getByRole('button', { name: `Allow ${name}, 10 minutes` }).waitFor();
  await look('refusal-again');
  await decide(`Allow ${name}, 10 minutes`, 'slid');
  await card(page, 'Apply 1 changed file to tidepool').waitFor();
  assert.deepEqual([host.visits(), tree(silas.repo)], [1, original]);
  // What `grep` found was not counted, and nobody had said that its file would change.
  await page.getByText('Green by exit code, judges changed').waitFor();
  await page.locator('.card .caveat', { hasText: 'What may have judged it is new or gone: zones.csv (new).' }).waitFor();
  await look('refusal-allowed');
  await decide('Apply 1 file, by exit code', 'confirmed');
  await card(page, '1 file changed in tidepool').waitFor();
  assert.deepEqual(tree(silas.repo), { ...original, 'zones.csv': 'Vienna\n' });
  assert.deepEqual(silas.counts('decision_recorded', 'card_renewed', 'connection_refused', 'connection_made', 'work_applied'), [4, 1, 2, 1, 1]);
  await told('1 file changed in tidepool. 1 red turned green by exit code. What may have judged it is new or gone: zones.csv (new).');
  await look('refusal-done');
});

atBothSizes('work that was cut short outside', withHost(ASKING), async ({ silas, host, page, look, press, decide, wish, told }) => {
  writeFileSync(join(silas.repo, 'send.sh'), `exec 3<>/dev/tcp/127.0.0.1/${host.port} && head -n 1 <&3 > "$1"\n`);
  writeFileSync(join(silas.repo, 'taken.sh'), counted('grep -q Vienna sent.txt'));
  const original = tree(silas.repo);
  const asks = card(page, 'It was cut short. Did it happen?');
  /** Says it, and pulls the plug as soon as the host has a visitor. */
  const cutShort = async () => {
    host.hold();
    const before = host.visits();
    await wish(`run \`bash send.sh sent.txt\` in \`${silas.repo}\` reaching \`127.0.0.1:${host.port}\` and check with \`sh taken.sh\``);
    if (before === 0) await decide('Allow plans in tidepool', 'confirmed');
    await card(page, 'Run 1 command in tidepool').waitFor();
    if (before === 0) await look('unknown-plan');
    await decide(/^Send to 127\.0\.0\.1/, 'slid');
    await eventually('the connection', () => host.visits() === before + 1 && silas.count('connection_made') === before + 1);
    await silas.kill();
    await lost(page);
    await silas.up();
    await connected(page);
    await asks.waitFor();
    assert.deepEqual([host.visits(), tree(silas.repo)], [before + 1, original], 'it is not begun again by itself');
  };

  step('it is asked, looked up, and left alone');
  await cutShort();
  await look('unknown');
  await settle(page);
  await press(page.getByRole('button', { name: 'Look in Activity' }));
  await page.locator('.timeline .row', { hasText: 'Interrupted while it may have acted outside' }).waitFor();
  await look('unknown-activity');
  await show(page, 'review');
  await decide('Yes, leave it');
  await page.getByText('Nothing to decide').waitFor();
  await told('Noted: it happened. It is not done again.');
  await look('unknown-left');
  assert.deepEqual([host.visits(), tree(silas.repo)], [1, original]);
  assert.deepEqual(silas.counts('effect_unknown', 'decision_recorded', 'work_started', 'work_applied'), [1, 3, 1, 0]);

  step('it did not happen, and is done once more, to its end');
  await cutShort();
  host.serve();
  await decide('No, do it again', 'slid');
  await card(page, '1 file changed in tidepool').waitFor();
  assert.deepEqual([host.visits(), tree(silas.repo)], [3, { ...original, 'sent.txt': 'Vienna\n' }]);
  assert.deepEqual(silas.counts('effect_unknown', 'decision_recorded', 'connection_made', 'work_applied'), [2, 5, 3, 1]);
  await told('1 file changed in tidepool. 1 red turned green.');
  assert.deepEqual(await page.locator('.folded .badge').allInnerTexts(), ['Interrupted', 'Interrupted', 'Proved']);
  await look('unknown-done');
});

atBothSizes('what cannot be undone, without a passkey', withHost(ASKING), async ({ silas, host, page, look, press, decide, wish, told }) => {
  silas.command('secret', 'set', 'mail', { input: 'a value that stays' });
  writeFileSync(join(silas.repo, 'taken.sh'), counted('grep -q Vienna sent.txt'));
  const original = tree(silas.repo);
  const plan = `---\nid: task-send\ntitle: Send it\ntype: task\nchanges: [sent.txt]\nsteps:\n  - run: "bash -c 'silas-secret get mail > /dev/null && exec 3<>/dev/tcp/127.0.0.1/${host.port} && head -n 1 <&3' > sent.txt"\nverify:\n  - name: it was taken\n    run: sh taken.sh\n    expect: { exit_code: 0 }\nsandbox:\n  directories:\n    - { path: ${silas.repo}, access: write }\n  hosts: ["127.0.0.1:${host.port}"]\n  secrets: [mail]\n---\nSend it.\n`;
  const sheet = page.getByRole('dialog', { name: 'Sign for good' });

  step('a no is one press, and nothing is sent');
  await wish(plan);
  await decide('Allow plans in tidepool', 'confirmed');
  await card(page, 'Run 1 command in tidepool').waitFor();
  await look('irreversible');
  await decide('Send nothing');
  await page.getByText('Nothing to decide').waitFor();
  await told('Declined. Nothing ran.');
  assert.deepEqual([host.visits(), silas.count('work_started')], [0, 0]);

  step('a yes is read, slid, and signed in a sheet that can be left');
  await wish(plan.replace('task-send', 'task-send-again'));
  await card(page, 'Run 1 command in tidepool').waitFor();
  await decide(/^Send to 127\.0\.0\.1/, 'slid');
  await sheet.getByText('There is no passkey yet').waitFor();
  await look('irreversible-sheet');
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  assert.deepEqual([host.visits(), silas.count('decision_recorded')], [0, 2], 'a slide alone signs nothing');
  await decide(/^Send to 127\.0\.0\.1/, 'slid');
  await sheet.getByText('Cannot be undone, not even by Silas').waitFor();
  await settle(page);
  await press(sheet.getByRole('button', { name: 'Sign with this browser' }));
  await card(page, '1 file changed in tidepool').waitFor();
  assert.deepEqual([host.visits(), tree(silas.repo)], [1, { ...original, 'sent.txt': 'Vienna\n' }]);
  await look('irreversible-done');
  assert.deepEqual(silas.counts('decision_recorded', 'credential_used', 'connection_made', 'work_applied'), [3, 1, 1, 1]);
  await told('1 file changed in tidepool. 1 red turned green.');
});
