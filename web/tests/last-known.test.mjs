// What a page shows that is loaded while Silas cannot be reached: the last it was told, with its time, to be read. And that
// nothing is kept of what is typed, or by a browser that is not known any more.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayReplace } from '../lib/last.js';
import { objections, settle, shot, sideways, smallTargets, unnamed, weakTexts } from './browser.mjs';
import { startFake } from './fake-server.mjs';
import { fake, open, until } from './stage.mjs';
import * as sample from './sample-cards.mjs';

const CLOCK = /\d\d:\d\d/;

/** Everything that this browser keeps for the page, as text. */
const kept = (page) => page.evaluate(async () => {
  const ask = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const found = [];
  for (const { name } of await indexedDB.databases()) {
    const database = await ask(indexedDB.open(name));
    for (const store of database.objectStoreNames) found.push([name, store, await ask(database.transaction(store).objectStore(store).getAll())]);
    database.close();
  }
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) found.push([request.url, await (await cache.match(request)).text()]);
  }
  return JSON.stringify([found, { ...localStorage }, { ...sessionStorage }]);
});

const copies = async (page) => JSON.parse(await kept(page))[0].find(([, store]) => store === 'last')?.[2] ?? [];

/** Until the copy says this. */
const copied = (page, text) => until(async () => (await copies(page)).some(({ shown }) => shown?.includes(text)));

/** A page whose files the worker keeps, so that it opens without a server. */
async function installed(t, change, options = {}) {
  const page = await open(t, change, { serviceWorkers: 'allow', ...options });
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
  return page;
}

const ENTRIES = [sample.entry('owner', sample.ASKED, 300_000), sample.entry('silas', 'A plan waits for you in Review.', 1000)];

test('a reload without Silas shows the last known state, to be read, and the truth takes its place', async (t) => {
  const card = sample.planCard();
  const page = await installed(t, { entries: ENTRIES, cards: [card, sample.rootCard()], work: [sample.finishedWork()] });
  await page.locator('.card').waitFor();
  await copied(page, card.id);
  const { port } = new URL(fake.url);
  const { devices } = fake;
  await fake.close();
  await page.reload();

  await page.locator('.card', { hasText: card.face.intent }).waitFor();
  assert.match(await page.locator('.notice').innerText(), /^Silas is not answering\. .*What you see is as of (yesterday )?\d\d:\d\d\.\s+Retry$/s);
  assert.match(await page.locator('.ambient').innerText(), /^Reconnecting · as of (yesterday )?\d\d:\d\d/);
  assert.ok(await page.locator('.dock .filled').isDisabled());
  await page.getByText('You can decide as soon as Silas answers').waitFor();
  assert.equal(await page.locator('.dock button:enabled').count(), 0);
  for (const look of [sideways]) assert.deepEqual(await look(page), { by: 0, elements: [] });
  for (const look of [weakTexts, smallTargets, unnamed, objections]) assert.deepEqual(await look(page), []);
  await shot(page, 'last-known-review-375-light');

  await page.evaluate(() => { location.hash = 'activity/everything'; });
  await page.locator('.timeline .row', { hasText: 'Put 2 files back' }).getByRole('button').click();
  await page.getByText('This can be read as soon as Silas answers.').waitFor();
  await page.getByRole('tab', { name: 'What is allowed' }).click();
  await page.getByRole('heading', { name: 'Work in tidepool' }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Revoke/ }).and(page.locator(':enabled')).count(), 0);
  await page.getByRole('tab', { name: 'What happened' }).click();
  await shot(page, 'last-known-activity-375-light');

  // What is typed now is kept and sent later; the state that it stands beside is the old one.
  await page.evaluate(() => { location.hash = 'stream'; });
  await page.locator('.turn', { hasText: 'A plan waits for you in Review.' }).waitFor();
  await page.locator('#composer').fill('and the winter tables');
  await page.keyboard.press('Enter');
  await page.getByText('You · will be sent').waitFor();
  await shot(page, 'last-known-stream-375-light');

  await page.evaluate(() => { location.hash = 'review'; });
  const title = await page.locator('.card .intent').elementHandle();
  const back = await startFake({ port: Number(port) });
  t.after(() => back.close());
  devices.forEach((device, key) => back.devices.set(key, device));
  back.shown = sample.snapshot({ entries: ENTRIES, cards: [card, sample.highCard()] });
  await until(async () => {
    await page.evaluate(() => [...document.querySelectorAll('.notice-act')].find(({ textContent }) => textContent === 'Retry')?.click());
    return back.acks.length > 0;
  });
  await page.locator('.notice').waitFor({ state: 'detached' });
  await page.locator('.dock .filled:enabled').waitFor();
  assert.ok(await title.evaluate((shown) => shown.isConnected), 'the card that is looked at stays the same element');
  await page.locator('.up-next', { hasText: 'High' }).waitFor();
  await until(() => back.received.some(({ type, message }) => type === 'message' && message.body.text === 'and the winter tables'));
  assert.doesNotMatch(await page.locator('.ambient').innerText(), CLOCK);
});

test('a browser that is not known any more keeps nothing, also not what another tab has still to write', async (t) => {
  const card = sample.planCard();
  const page = await installed(t, { entries: ENTRIES, cards: [card] });
  await page.locator('.card').waitFor();
  const other = await page.context().newPage();
  await other.goto(`${fake.url}#review`);
  await other.locator('.card').waitFor();
  await copied(page, card.id);
  fake.devices.clear();
  fake.drop(4001);
  for (const tab of [page, other]) await tab.getByText('Silas does not know this browser any more.').waitFor();
  await until(async () => (await copies(page)).every(({ shown }) => shown === null));
  assert.ok(!(await kept(page)).includes(card.face.intent), 'nothing of the card is kept');
  assert.equal(await page.locator('.frame, .card .intent').count(), 0);

  await other.close();
  await fake.close();
  await page.reload();
  await page.locator('.notice').waitFor();
  assert.equal(await page.locator('.card .intent').count(), 0);
  assert.ok(!(await page.locator('body').innerText()).includes(card.face.intent));
});

test('a secret that is typed is in nothing that the browser keeps', async (t) => {
  const CANARY = 'sk-canary-7f3a91c2';
  const card = sample.secretCard();
  const page = await installed(t, { cards: [card], entries: ENTRIES });
  const field = page.locator('input[type=password]');
  await field.fill(CANARY);
  await page.evaluate(() => { location.hash = 'stream'; });
  await page.locator('#composer').fill('half a sentence');
  await page.evaluate(() => { location.hash = 'review'; });
  await field.fill(CANARY);
  fake.cards([card, sample.planCard()]);
  await page.locator('.up-next').waitFor();
  await page.evaluate(() => dispatchEvent(new Event('pagehide')));
  await copied(page, sample.planCard().face.intent);
  await settle(page);
  await page.locator('.dock .filled').click();
  await until(() => fake.given.length > 0);
  assert.equal(fake.given[0][1], CANARY, 'it was typed and given');
  await copied(page, sample.planCard().face.intent);
  const everything = await kept(page);
  assert.ok(!everything.includes(CANARY));
  assert.ok(!everything.includes('half a sentence'), 'a draft is nobody’s yet');
  assert.ok(everything.includes(sample.planCard().face.intent), 'and what is shown is kept');
});

test('what an older page left, what is another key’s and what is too old is dropped', async (t) => {
  const card = sample.planCard();
  const page = await installed(t, { cards: [card] });
  await copied(page, card.id);
  for (const change of [{ format: 0 }, { key: 'key-of-somebody-else' }, { at: Date.now() - 31 * 86_400_000 }, { shown: 'not what it was' }]) {
    const [whole] = await copies(page);
    fake.refuse = true;
    await page.goto('about:blank');
    await page.goto(`${fake.url}api.html`);
    await page.evaluate((value) => import('/lib/database.js').then(({ put }) => put('last', value)), { ...whole, ...change });
    await page.goto(`${fake.url}#review`);
    await page.locator('.notice').waitFor();
    await until(async () => (await copies(page)).length === 0);
    assert.equal(await page.locator('.card .intent').count(), 0, JSON.stringify(Object.keys(change)));
    fake.refuse = false;
    await page.evaluate(() => document.querySelector('.notice-act')?.click());
    await page.locator('.card .intent').waitFor();
    await copied(page, card.id);
  }
});

test('a copy that would be too large is smaller, or not there', async (t) => {
  const long = (n) => ({ ...sample.entry('silas', 'x'.repeat(n)), id: `msg-${n}` });
  const entries = (n) => Array.from({ length: 60 }, (_, at) => ({ ...long(n), id: `msg-${at}` }));
  const page = await installed(t, { entries: entries(20_000), cards: [sample.planCard()] });
  await copied(page, 'msg-59');
  const [{ shown }] = await copies(page);
  assert.ok(shown.length <= 512 * 1024);
  assert.deepEqual(JSON.parse(shown).entries.map(({ id }) => id), Array.from({ length: 20 }, (_, at) => `msg-${at + 40}`));
  fake.tell({ type: 'message', seq: 1, entry: long(600_000) });
  await until(async () => (await copies(page)).length === 0);
});

test('of two tabs the one that heard later is right, and a refused key writes nothing', () => {
  const mine = { installation: 'inst-1', key: 'key-1', format: 1, at: 20, shown: '{}' };
  assert.equal(mayReplace(undefined, mine), true);
  assert.equal(mayReplace({ ...mine, at: 10 }, mine), true);
  assert.equal(mayReplace({ ...mine, at: 30 }, mine), false);
  assert.equal(mayReplace({ ...mine, at: 10, shown: null }, mine), false);
  assert.equal(mayReplace({ ...mine, key: 'key-2', shown: null }, mine), true);
  assert.equal(mayReplace({ ...mine, at: 30, format: 0 }, mine), true);
});
