// The whole story against the real server, in a real browser, as the owner would play it on a phone.

import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { launch, settle } from './browser.mjs';
import { PHONE, approve, card as cardOf, eventually, look as lookAt, openPage, step, tab as tabOf, tree, troubleOf } from './owner.mjs';
import { startSilas } from './real-server.mjs';

const silas = await startSilas();
const REPO = realpathSync(silas.repo);
const original = tree(REPO);
let browser;
let page;

before(async () => {
  browser = await launch();
  page = await openPage(await browser.newContext(PHONE));
});
after(async () => {
  await browser?.close();
  await silas.stop();
});

const look = (name) => lookAt(page, `story-${name}`);
const tab = (name) => tabOf(page, name).tap();
const card = (intent) => cardOf(page, intent);

test('the whole story', async () => {
  step('one tap pairs the browser');
  await page.goto(silas.url);
  const button = page.getByRole('button', { name: 'Pair this browser' });
  await button.waitFor();
  await look('1-pairing');
  await button.tap();
  await page.getByText('Nothing happens without you.').waitFor();
  assert.ok(!page.url().includes('pair='), 'the code stays in the address bar');
  await look('2-paired');

  step('a wish becomes a question about the directory');
  await page.getByRole('textbox').fill(`run \`sh fix.sh\` in \`${REPO}\` and check with \`sh check.sh\``);
  await page.keyboard.press('Enter');
  await page.getByText(/^You · \d\d:\d\d/).waitFor();
  await look('3-asked');
  await tab(/Review/);
  await card(/^Let plans work in/).waitFor();
  assert.deepEqual(tree(REPO), original);
  await look('4-directory');
  await approve(page);
  step('it is tried out in a private copy, and the one card shows what was proved');
  await card('Apply 1 changed file to tidepool').waitFor();
  await page.getByText('Proved: red before, green after').waitFor();
  await look('5-rehearsed');
  await page.locator('.details summary').tap();
  await page.locator('.details', { hasText: 'Europe/Vienna' }).waitFor();
  await look('6-rehearsed-details');
  await tab('Stream');
  await page.locator('.folded', { hasText: 'Rehearsed' }).waitFor();
  await look('7-tried-out');
  assert.deepEqual(tree(REPO), original);

  step('one tap applies exactly that');
  await tab(/Review/);
  await settle(page);
  await page.getByRole('button', { name: 'Apply 1 file' }).tap();
  await card(/changed in/).waitFor();
  await tab('Stream');
  await page.locator('.folded .badge-proved').waitFor();
  await look('8-finished');
  await tab(/Review/);
  await card(/changed in/).locator('.badge-proved').waitFor();
  await page.locator('.undo').waitFor();
  await look('9-done');
  assert.notDeepEqual(tree(REPO), original);

  step('the proof tells the story, with the checks before and after');
  await page.getByRole('button', { name: 'See the proof' }).tap();
  await page.getByRole('heading', { name: 'Proved', exact: true }).waitFor();
  await page.locator('.proof-steps li').first().waitFor();
  await look('10-proof');
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save file' }).tap();
  const file = await (await downloading).path();
  assert.match(silas.verify(file), /^VERIFIED\. Proved: red before, green after/);
  await page.getByRole('button', { name: 'Back' }).tap();
  await page.locator('.undo').waitFor();

  step('one tap takes it back, exactly');
  await settle(page);
  await page.locator('.undo').tap();
  await eventually('the undo', () => JSON.stringify(tree(REPO)) === JSON.stringify(original));
  await page.locator('.undo').waitFor({ state: 'detached' });
  await look('11-undone');
  await tab('Stream');
  await page.locator('.turn', { hasText: /Put \d+ files? back/ }).waitFor();
  await look('12-stream-after');

  step('Activity lists it from a log that holds');
  await tab('Activity');
  await page.getByText('Log verified').waitFor();
  assert.ok((await page.locator('.timeline .row').count()) >= 4);
  assert.equal(await page.locator('.row-undo').count(), 1);
  await look('13-activity');
  const decided = page.locator('.timeline .row', { hasText: 'You approved a result' });
  await decided.getByRole('button').tap();
  await decided.getByText('Computed here, its hash is').waitFor();
  const behind = await decided.locator('.row-evidence').innerText();
  for (const part of ['Apply 1 changed file to tidepool', 'Signed on', 'with its own key', 'decision_recorded']) assert.ok(behind.includes(part), `${part}: ${behind}`);
  await look('13-row');
  await decided.getByRole('button').tap();
  await page.getByRole('tab', { name: 'What is allowed' }).tap();
  await page.locator('.grant').first().waitFor();
  await look('14-allowed');

  step('a directory is taken back with two taps, and holds in the launcher and the engine');
  const granted = page.locator('.grant', { hasText: 'Work in tidepool' });
  await granted.getByRole('button', { name: 'Revoke Work in tidepool' }).tap();
  await granted.locator('.filled').tap();
  await granted.waitFor({ state: 'detached' });
  await page.locator('.grant', { hasText: 'This browser.' }).waitFor();
  await look('15-taken-back');

  step('a reload opens the same story without pairing again');
  await tab('Stream');
  await page.reload();
  await page.locator('.turn', { hasText: /Put \d+ files? back/ }).waitFor();
  assert.deepEqual(troubleOf(page), []);
});
