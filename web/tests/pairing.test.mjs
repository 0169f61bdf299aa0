// Pairing in a real browser: the house rules, codes that do not count, a new key, and a browser that is not known any more.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objections, shot, sideways, smallTargets, unnamed, weakTexts } from './browser.mjs';
import { CODE } from './fake-server.mjs';
import { browser, fake, open } from './stage.mjs';

test('pairing signs the house rules with one tap, and the code leaves the address bar', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  assert.equal(fake.devices.size, 1);
  assert.match([...fake.devices.values()][0].name, /^Chromium on /);
  assert.ok(!page.url().includes('pair='));
  await page.reload();
  await page.locator('.welcome').waitFor();
});

test('without a code the page says how to get one, and shows nothing else', async (t) => {
  const context = await browser.newContext({ viewport: { width: 375, height: 812 }, serviceWorkers: 'block' });
  t.after(async () => { await context.close(); await fake.close(); });
  const page = await context.newPage();
  await page.goto(fake.url);
  await page.getByText('silas pair').waitFor();
  assert.equal(await page.locator('button.filled').count(), 0);
  assert.equal(await page.locator('.frame').count(), 0);
  await shot(page, 'pair-no-code');
});

test('a refused code is told in the words of the server, and no key stays', async (t) => {
  const context = await browser.newContext({ viewport: { width: 375, height: 812 }, serviceWorkers: 'block' });
  t.after(async () => { await context.close(); await fake.close(); });
  const page = await context.newPage();
  await page.goto(`${fake.url}#pair=old`);
  await page.locator('.rules').waitFor();
  await shot(page, 'pair');
  assert.deepEqual(await unnamed(page), []);
  await page.locator('.pair-dock .filled').click();
  await page.getByText('This code is not valid any more. Nothing was paired.').waitFor();
  await page.reload();
  await page.getByText('silas pair').waitFor();
});

test('house rules that differ from their hash are not signed', async (t) => {
  fake.rules.face = { ...fake.rules.face, rationale: 'Everything is allowed.' };
  const context = await browser.newContext({ viewport: { width: 375, height: 812 }, serviceWorkers: 'block' });
  t.after(async () => { await context.close(); await fake.close(); });
  const page = await context.newPage();
  await page.goto(`${fake.url}#pair=${CODE}`);
  await page.locator('.pair-dock .filled').click();
  await page.getByText('These rules and the request differ. Nothing was signed.').waitFor();
  assert.equal(fake.devices.size, 0);
});

test('a paired browser that opens a new pairing address gets a new key, or keeps the one it has', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  const [first] = fake.devices.keys();
  await page.goto('about:blank');
  await page.goto(`${fake.url}#pair=wrong`);
  await page.getByRole('heading', { name: 'Give this browser a new key' }).waitFor();
  await page.getByRole('button', { name: 'Pair again with a new key' }).click();
  await page.getByText('This code is not valid any more.').waitFor();
  await shot(page, 'pair-again');
  // The old key was not lost by trying.
  await page.getByRole('button', { name: 'Keep the key' }).click();
  await page.locator('.welcome').waitFor();
  await page.goto('about:blank');
  await page.goto(`${fake.url}#pair=${CODE}`);
  await page.getByRole('button', { name: 'Pair again with a new key' }).click();
  await page.locator('.welcome').waitFor();
  assert.equal(fake.devices.size, 1);
  assert.notEqual([...fake.devices.keys()][0], first);
});

test('close code 4001 leads to pairing and says why', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  fake.devices.clear();
  fake.drop();
  await page.getByText('Silas does not know this browser any more. Pair it again.').waitFor();
  assert.equal(await page.locator('.frame').count(), 0);
});

/** The screen before anything else, by what brings it up. */
const SCREENS = {
  'no-code': ['', (page) => page.getByText('silas pair').waitFor()],
  rules: [`#pair=${CODE}`, (page) => page.locator('.rules').waitFor()],
  refused: ['#pair=old', async (page) => {
    await page.locator('.pair-dock .filled').click();
    await page.getByRole('alert').waitFor();
  }],
  left: [`#pair=${CODE}`, async (page) => {
    await page.getByRole('button', { name: 'Not now' }).click();
    await page.getByRole('heading', { name: 'Nothing was paired' }).waitFor();
  }],
  again: [`#pair=${CODE}`, async (page) => {
    await page.locator('.pair-dock .filled').click();
    await page.locator('.frame').waitFor();
    await page.goto('about:blank');
    await page.goto(`${fake.url}#pair=${CODE}`);
    await page.getByRole('heading', { name: 'Give this browser a new key' }).waitFor();
  }],
};

for (const colorScheme of ['light', 'dark']) {
  for (const [width, height] of [[375, 812], [1280, 800]]) {
    test(`the pairing screen and the page for programs at ${width} px, ${colorScheme}: nothing sideways, contrast, targets, names, and nothing for axe`, async (t) => {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme, serviceWorkers: 'block', hasTouch: width < 960 });
      t.after(async () => { await context.close(); await fake.close(); });
      const page = await context.newPage();
      const fits = async (name, isLong = false) => {
        await shot(page, `${name}-${width}-${colorScheme}`);
        const { by, elements } = await sideways(page);
        // A text to be read is longer than the screen; everything else is not.
        assert.deepEqual({ by, elements: elements.filter((element) => !(isLong && element.startsWith('the document, '))) }, { by: 0, elements: [] }, name);
        assert.deepEqual(await weakTexts(page), [], name);
        assert.deepEqual(await smallTargets(page), [], name);
        assert.deepEqual(await unnamed(page), [], name);
        assert.deepEqual(await objections(page), [], name);
      };
      for (const [name, [hash, reach]] of Object.entries(SCREENS)) {
        await page.goto('about:blank');
        await page.goto(`${fake.url}${hash}`);
        await reach(page);
        await fits(`pair-${name}`);
      }
      await page.goto(new URL('/api.html', fake.url).href);
      await page.getByRole('heading', { name: 'ClientMessage' }).waitFor();
      await fits('api', true);
    });
  }
}
