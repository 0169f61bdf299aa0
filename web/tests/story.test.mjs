// The whole story against the real server, in a real browser, as its owner would play it: on a phone with taps, and at a desk
// with keys only.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, settle } from './browser.mjs';
import { DESK, PHONE, card as cardOf, eventually, focusOn, look as lookAt, openPage, reach, step, tab, tree, troubleOf } from './owner.mjs';
import { startSilas } from './real-server.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** Taps; one surface at a time. */
function thumb(page) {
  const show = (name) => () => tab(page, name).tap();
  return {
    press: (locator) => locator.tap(),
    write: (text) => page.getByRole('textbox').fill(text),
    confirm: () => page.getByRole('button', { name: 'Confirm' }).tap(),
    toStream: show('Stream'), toReview: show(/Review/), toActivity: show('Activity'),
    toAllowed: () => page.getByRole('tab', { name: 'What is allowed' }).tap(),
  };
}

/** No mouse and no finger; Stream and Review stand side by side, and Activity slides over them. */
function keys(page) {
  const press = async (locator) => {
    await reach(page, locator);
    await page.keyboard.press('Enter');
  };
  const away = async () => {
    const over = page.getByRole('dialog');
    if (await over.count()) await page.keyboard.press('Escape');
    await over.waitFor({ state: 'detached' });
  };
  return {
    press,
    write: async (text) => {
      await page.keyboard.press('/');
      await page.waitForFunction(() => document.activeElement?.id === 'composer');
      await page.keyboard.type(text);
    },
    confirm: async () => {
      // Whoever began with keys goes on with them.
      await focusOn(page, 'Confirm');
      await page.keyboard.press('Enter');
    },
    toStream: away, toReview: away, toActivity: () => page.keyboard.press('a'),
    toAllowed: async () => {
      await reach(page, page.getByRole('tab', { selected: true }));
      await page.keyboard.press('ArrowRight');
    },
  };
}

// Each has its own Silas, and most of the time they wait.
describe('at both sizes', { concurrency: true }, () => {
  for (const [where, options, hands] of [['375 px with taps', PHONE, thumb], ['1280 px with keys only', DESK, keys]]) {
    test(`the whole story at ${where}`, async () => {
      const silas = await startSilas();
      const page = await openPage(await browser.newContext(options));
      try {
        await story(silas, page, hands(page), `story-${where.split(' ')[0]}`);
      } finally {
        await page.context().close();
        await silas.stop();
      }
    });
  }
});

async function story(silas, page, hands, shots) {
  const { press } = hands;
  const look = (name) => lookAt(page, `${shots}-${name}`);
  const card = (intent) => cardOf(page, intent);
  const original = tree(silas.repo);

  step('one press pairs the browser');
  await page.goto(silas.url);
  const button = page.getByRole('button', { name: 'Pair this browser' });
  await button.waitFor();
  await look('1-pairing');
  await press(button);
  await page.getByText('Nothing happens without you.').waitFor();
  assert.ok(!page.url().includes('pair='), 'the code stays in the address bar');
  await look('2-paired');

  step('a wish becomes a question about the directory');
  await hands.write(silas.wish);
  await page.keyboard.press('Enter');
  await page.getByText(/^You · \d\d:\d\d/).waitFor();
  await look('3-asked');
  await hands.toReview();
  await card(/^Let plans work in/).waitFor();
  assert.deepEqual(tree(silas.repo), original);
  await look('4-directory');
  await settle(page);
  await press(page.locator('.dock .filled'));
  await settle(page);
  await hands.confirm();
  step('it is tried out in a private copy, and the one card shows what was proved');
  await card('Apply 1 changed file to tidepool').waitFor();
  await page.getByText('Proved: red before, green after').waitFor();
  await look('5-rehearsed');
  // The change is open where there is room for it.
  if (await page.locator('.details:not([open])').count()) await press(page.locator('.details summary'));
  await page.locator('.details[open]', { hasText: 'Europe/Vienna' }).waitFor();
  await look('6-rehearsed-details');
  await hands.toStream();
  await page.locator('.folded', { hasText: 'Rehearsed' }).waitFor();
  await look('7-tried-out');
  assert.deepEqual(tree(silas.repo), original);

  step('one press applies exactly that');
  await hands.toReview();
  await settle(page);
  await press(page.getByRole('button', { name: 'Apply 1 file' }));
  await card(/changed in/).waitFor();
  await hands.toStream();
  await page.locator('.folded .badge-proved').waitFor();
  await look('8-finished');
  await hands.toReview();
  await card(/changed in/).locator('.badge-proved').waitFor();
  await page.locator('.undo').waitFor();
  await look('9-done');
  assert.notDeepEqual(tree(silas.repo), original);

  step('the proof tells the story, with the checks before and after');
  await press(page.getByRole('button', { name: 'See the proof' }));
  await page.getByRole('heading', { name: 'Proved', exact: true }).waitFor();
  await page.locator('.proof-steps li').first().waitFor();
  await look('10-proof');
  const downloading = page.waitForEvent('download');
  await press(page.getByRole('button', { name: 'Save file' }));
  const file = await (await downloading).path();
  assert.match(silas.verify(file), /^VERIFIED\. Proved: red before, green after/);
  await press(page.getByRole('button', { name: 'Back', exact: true }));
  await page.locator('.undo').waitFor();

  step('one press takes it back, exactly');
  await settle(page);
  await press(page.locator('.undo'));
  await eventually('the undo', () => JSON.stringify(tree(silas.repo)) === JSON.stringify(original));
  await page.locator('.undo').waitFor({ state: 'detached' });
  await look('11-undone');
  await hands.toStream();
  await page.locator('.turn', { hasText: /Put \d+ files? back/ }).waitFor();
  await look('12-stream-after');

  step('Activity lists it from a log that holds');
  await hands.toActivity();
  await page.getByText('Log verified').waitFor();
  assert.ok((await page.locator('.timeline .row').count()) >= 4);
  assert.equal(await page.locator('.row-undo').count(), 1);
  await look('13-activity');
  const decided = page.locator('.timeline .row', { hasText: 'You approved a result' });
  const opener = decided.getByRole('button');
  await opener.click();
  await decided.getByText('Computed here, its hash is').waitFor();
  const behind = await decided.locator('.row-evidence').innerText();
  for (const part of ['Apply 1 changed file to tidepool', 'Signed on', 'with its own key', 'decision_recorded']) assert.ok(behind.includes(part), `${part}: ${behind}`);
  await look('13-row');
  await opener.click();
  await hands.toAllowed();
  await page.locator('.grant').first().waitFor();
  await look('14-allowed');

  step('a directory is taken back with two presses, and holds in the launcher and the engine');
  const granted = page.locator('.grant', { hasText: 'Work in tidepool' });
  await press(granted.getByRole('button', { name: 'Revoke Work in tidepool' }));
  await press(granted.locator('.filled'));
  await granted.waitFor({ state: 'detached' });
  await page.locator('.grant', { hasText: 'This browser.' }).waitFor();
  await look('15-taken-back');

  step('a reload opens the same story without pairing again');
  await hands.toStream();
  await page.reload();
  await page.locator('.turn', { hasText: /Put \d+ files? back/ }).waitFor();
  assert.deepEqual(troubleOf(page), []);
}
