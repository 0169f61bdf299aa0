// Controls for experts: not there until what they belong to was of use, all of them reached from one place, and kept from then
// on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADVANCED } from '../lib/advanced.js';
import { objections, settle, shot, sideways, smallTargets, unnamed, weakTexts } from './browser.mjs';
import { CODE } from './fake-server.mjs';
import { fake, open, until } from './stage.mjs';
import * as sample from './sample-cards.mjs';

const MORE = /^(Show everything|Show only what was of use)$/;

async function more(page) {
  await page.getByRole('button', { name: 'More', exact: true }).click();
  const sheet = page.getByRole('dialog', { name: 'More' });
  await sheet.waitFor();
  return { sheet, text: await sheet.innerText() };
}

const close = (page) => page.getByRole('button', { name: 'Close' }).click();
const go = (page, at) => page.evaluate((hash) => { location.hash = hash; }, at);

/** Which of them are there, each where it belongs. */
async function shown(page) {
  await go(page, 'activity/everything');
  await page.getByRole('tab', { name: 'What happened' }).click();
  await page.locator('.timeline').waitFor();
  const lists = await page.locator('.measures summary').allInnerTexts();
  await page.getByRole('tab', { name: 'What is allowed' }).click();
  const block = await page.getByRole('heading', { name: 'No passkey' }).count();
  const { text } = await more(page);
  await close(page);
  return [...lists, ...(block ? ['No passkey'] : []), ...['Passkey', 'For programs', 'Keys'].filter((label) => new RegExp(`^${label}$`, 'm').test(text))];
}

test('a new owner sees none of them, and everything from one place', async (t) => {
  const page = await open(t, { cards: [sample.planCard()] }, { at: 'review' });
  assert.deepEqual(await shown(page), []);
  const { sheet, text } = await more(page);
  for (const { title } of Object.values(ADVANCED)) assert.ok(text.includes(title), title);
  await shot(page, 'more-new-375-light');
  await sheet.getByRole('button', { name: 'Show everything' }).click();
  await sheet.getByRole('heading', { name: 'Keys' }).waitFor();
  await sheet.getByRole('link', { name: 'Read it' }).waitFor();
  await shot(page, 'more-everything-375-light');
  assert.deepEqual(await sideways(page), { by: 0, elements: [] });
  for (const look of [weakTexts, smallTargets, unnamed, objections]) assert.deepEqual(await look(page), []);
  await close(page);
  const all = ['All work', 'How deciding goes', 'No passkey', 'Passkey', 'For programs', 'Keys'];
  assert.deepEqual(await shown(page), all);
  await page.reload();
  // Not the copy of before, which some of it is not in.
  await until(async () => (await shown(page)).length === all.length);
  assert.deepEqual(await shown(page), all, 'also after a reload');
  await (await more(page)).sheet.getByRole('button', { name: MORE }).click();
  await close(page);
  assert.deepEqual(await shown(page), []);
});

test('each comes with what the server tells, and stays', async (t) => {
  const page = await open(t, {}, { at: 'review' });
  assert.deepEqual(await shown(page), []);
  const tell = async (change, name) => {
    fake.shown = sample.snapshot(change);
    await page.reload();
    await until(async () => (await shown(page)).includes(name));
  };
  await tell({ work: [sample.finishedWork()] }, 'All work');
  await tell({ activity: sample.DECIDED }, 'How deciding goes');
  await tell({ cards: [sample.highCard()] }, 'Passkey');
  await tell({}, 'No passkey');
  assert.deepEqual(await shown(page), ['All work', 'How deciding goes', 'No passkey', 'Passkey']);
});

test('another device of the same owner sees the same, as far as the server tells', async (t) => {
  const change = { work: [sample.finishedWork()], activity: sample.DECIDED, cards: [sample.highCard()] };
  const page = await open(t, change, { at: 'review' });
  const wanted = ['All work', 'How deciding goes', 'No passkey', 'Passkey'];
  await until(async () => (await shown(page)).length === wanted.length);
  const context = await page.context().browser().newContext({ viewport: { width: 375, height: 812 }, serviceWorkers: 'block' });
  t.after(() => context.close());
  const second = await context.newPage();
  await second.goto(`${fake.url}#pair=${CODE}`);
  await second.locator('.pair-dock .filled').click();
  await until(async () => (await shown(second)).length === wanted.length);
  assert.deepEqual(await shown(second), wanted);
});

test('the keys are listed once one was pressed, and the patch stands in the dock once changes were looked at', async (t) => {
  const first = sample.failedCard();
  const page = await open(t, { cards: [first] }, { at: 'review' });
  await settle(page);
  const patch = page.locator('.dock button', { hasText: 'Save as a patch' });
  assert.equal(await patch.count(), 0);
  await page.locator('.details summary').click();
  await page.locator('.details').getByRole('button', { name: 'Save as a patch' }).waitFor();
  assert.equal(await patch.count(), 0, 'nothing moves in the dock while somebody looks');
  fake.cards([sample.failedCard()]);
  await patch.waitFor();
  await page.waitForFunction(async () => JSON.stringify(await (await import('/lib/database.js')).all('choices')).includes('patch'));
  await page.reload();
  await patch.waitFor();
  await page.keyboard.press('r');
  assert.match((await more(page)).text, /^Keys$/m);
});
