// The first minute, as a stranger on a phone has it: from an empty data directory to a bug that is mended, applied, proved and
// put back, with taps only. The keyboard is never used.

import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { launch, settle } from './browser.mjs';
import { PHONE, card as cardOf, look as lookAt, openPage, step, tree } from './owner.mjs';
import { startSilas } from './real-server.mjs';

const silas = await startSilas();
const HOME = realpathSync(silas.home);
let browser;
let page;
let taps = 0;

before(async () => {
  browser = await launch();
  page = await openPage(await browser.newContext(PHONE));
  // Whatever is typed would be noticed.
  await page.addInitScript(() => addEventListener('keydown', () => { document.documentElement.dataset.typed = 'yes'; }, true));
});
after(async () => {
  await browser?.close();
  await silas.stop();
});

const look = (name) => lookAt(page, `sample-${name}`);
const card = (intent) => cardOf(page, intent);

async function tap(locator) {
  taps += 1;
  await locator.tap();
}

test('the first minute, with taps only', async () => {
  const began = Date.now();
  assert.deepEqual(tree(HOME), {});
  step('one tap pairs the browser');
  await page.goto(silas.url);
  await tap(page.getByRole('button', { name: 'Pair this browser' }));
  await page.getByText('Nothing happens without you.').waitFor();
  const first = page.locator('.welcome-row').first();
  assert.equal(await first.innerText(), 'Try it on a sample project\nFix a bug, undo it. 1 minute.');
  await look('1-empty');

  step('the sample appears, and the directory is asked about');
  await tap(first);
  await page.locator('.turn-owner', { hasText: 'Try it on a sample project' }).waitFor();
  await page.locator('.turn-silas', { hasText: '~/silas-sample' }).waitFor();
  const original = tree(HOME);
  assert.deepEqual(Object.keys(original).filter((path) => !path.includes('/tests/')), ['silas-sample/README.md', 'silas-sample/high-water.txt', 'silas-sample/tides.sh']);
  await page.getByRole('button', { name: 'Open Review' }).waitFor();
  await look('2-laid-out');
  await tap(page.getByRole('button', { name: 'Open Review' }));
  await card('Let plans work in silas-sample').waitFor();
  await look('3-directory');
  await settle(page);
  await tap(page.locator('.dock .filled'));
  await settle(page);
  await tap(page.getByRole('button', { name: 'Confirm' }));

  step('red before, green after, in a private copy');
  const result = card('Apply 1 changed file to silas-sample');
  await result.waitFor();
  await page.getByText('Proved: red before, green after').waitFor();
  for (const check of ['sh tests/summer.sh', 'sh tests/winter.sh', 'sh tests/midnight.sh']) await result.locator('.check-name', { hasText: check }).first().waitFor();
  await look('4-result');
  // They are open where more is below than fits.
  if (!(await result.locator('.details').evaluate((details) => details.open))) await tap(result.locator('.details summary'));
  for (const text of ["sed -i '/summer/s/ahead=1/ahead=2/' tides.sh", 'ahead=2 ;; # summer']) {
    await result.locator('.details').getByText(text).first().waitFor();
  }
  await result.locator('.details').getByText('ahead=2 ;; # summer').first().scrollIntoViewIfNeeded();
  await look('5-details');
  assert.deepEqual(tree(HOME), original);

  step('applied, with the time to undo, and its proof');
  await settle(page);
  await tap(page.getByRole('button', { name: 'Apply 1 file' }));
  await card('1 file changed in silas-sample').waitFor();
  await page.locator('.undo').waitFor();
  await look('6-done');
  assert.match(tree(HOME)['silas-sample/tides.sh'], /ahead=2 ;; # summer/);
  await tap(page.getByRole('button', { name: 'See the proof' }));
  await page.getByRole('heading', { name: 'Proved', exact: true }).waitFor();
  await page.locator('.proof-steps li').first().waitFor();
  await look('7-proof');
  await tap(page.getByRole('button', { name: 'Back' }));

  step('put back, exactly');
  await page.locator('.undo').waitFor();
  await settle(page);
  await tap(page.locator('.undo'));
  await page.getByText('Nothing to decide').waitFor();
  await page.locator('.told', { hasText: 'That was the whole road' }).waitFor();
  assert.deepEqual(tree(HOME), original);
  await look('8-undone');

  step('and what to do next');
  await tap(page.getByRole('navigation', { name: 'Surfaces' }).getByRole('link', { name: 'Stream' }));
  await page.locator('.turn-silas', { hasText: 'That was the whole road' }).waitFor();
  await look('9-next');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.typed), undefined, 'nothing was typed');
  console.log(`- ${taps} taps, ${Date.now() - began} ms with all that was looked at`);
  await tap(page.getByRole('button', { name: 'Fill it in' }));
  await page.waitForFunction(() => document.activeElement?.id === 'composer' && document.activeElement.selectionEnd > document.activeElement.selectionStart);
  assert.equal(await page.locator('#composer').inputValue(), 'run COMMAND in ~/DIRECTORY and check with COMMAND');
});
