// A connection that is lost or falls silent, in a real browser, and what the page keeps meanwhile. Losing it to the real
// server is tested with that.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle, shot } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { fake, open, retry, sent, until } from './stage.mjs';

test('after a loss: notice with seconds and Retry, cards readable, dock off; then it goes on in place', async (t) => {
  const page = await open(t, { cards: [sample.lowCard()] });
  fake.refuse = true;
  fake.drop();
  await page.getByText('Silas is not answering.').waitFor();
  await page.getByText(/Trying again (in \d+ s|now)\./).waitFor();
  await page.getByText('You can decide as soon as Silas answers').waitFor();
  assert.ok(await page.locator('.dock .button').first().isDisabled());
  await page.getByText('Apply 2 changed files to tidepool').waitFor();
  await shot(page, 'reconnecting-375-light');
  fake.refuse = false;
  await retry(page);
  await page.getByText('Silas is not answering.').waitFor({ state: 'detached' });
  // The card came anew with the connection, so its hash is computed anew before it can be decided.
  await page.locator('.dock .filled:enabled').waitFor();
});

/** The next signature begins (`asked`) and is not done before `finish`. */
const signSlowly = (page) => page.evaluate(() => {
  window.asked = new Promise((began) => {
    const sign = SubtleCrypto.prototype.sign;
    SubtleCrypto.prototype.sign = function slow(...all) {
      SubtleCrypto.prototype.sign = sign;
      began();
      return new Promise((resolve) => { window.finish = () => resolve(sign.apply(this, all)); });
    };
  });
});

test('the line breaks while a decision is being signed: it is said not to be heard, is not sent later, and can be taken again', async (t) => {
  const page = await open(t, { cards: [sample.lowCard()] });
  await settle(page);
  await signSlowly(page);
  await page.locator('.dock .filled').click();
  await page.evaluate(() => window.asked);
  fake.drop();
  await page.getByText('Silas did not get your answer. Nothing was done. Decide again.').waitFor();
  await page.evaluate(() => window.finish());
  await page.getByText('The connection broke. Nothing was sent.').waitFor();
  await page.waitForTimeout(200);
  assert.equal(sent('approval_response').length, 0);
  await page.locator('.dock .filled:enabled').click();
  await until(() => sent('approval_response').length === 1);
});

test('nothing is said on a new connection before Silas knows who is there: it would count as a stranger’s word', async (t) => {
  const page = await open(t, { cards: [sample.lowCard()] });
  await page.locator('.dock .filled:enabled').waitFor();
  await signSlowly(page);
  fake.drop();
  await page.evaluate(() => window.asked);
  assert.equal(await page.evaluate(async () => (await import('/lib/line.js')).send({ type: 'later_edits', execution: 'exec-1' })), false);
  await page.evaluate(() => window.finish());
  await page.locator('.dock .filled:enabled').waitFor();
  assert.equal(await page.evaluate(async () => (await import('/lib/line.js')).send({ type: 'later_edits', execution: 'exec-1' })), true);
  await until(() => sent('later_edits').length === 1);
});

test('what is typed without a connection is kept over a reload, marked, and signed when it is sent', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  fake.refuse = true;
  fake.drop();
  await page.getByText('Silas is not answering.').waitFor();
  await page.getByRole('textbox').fill('what did you do?');
  await page.keyboard.press('Enter');
  await page.getByText('You · will be sent').waitFor();
  await shot(page, 'will-be-sent-375-light');
  await page.reload();
  await page.getByText('You · will be sent').waitFor();
  fake.refuse = false;
  await retry(page);
  await page.getByText('You · will be sent').waitFor({ state: 'detached' });
  await page.getByText(/You · \d\d:\d\d/).waitFor();
  assert.equal(sent('message').length, 1);
  await page.reload();
  await page.getByText(/You · \d\d:\d\d/).waitFor();
  assert.equal(sent('message').length, 1);
});

test('a line that fell silent is noticed', async (t) => {
  const page = await open(t, { cards: [sample.planCard()] });
  await page.clock.install();
  fake.tell({ type: 'beat' });
  fake.tell({ type: 'message', seq: 1, entry: sample.entry('silas', 'Still here.', 0) });
  await until(() => fake.acks.includes(1));
  assert.equal(await page.getByText('Silas is not answering.').count(), 0);
  fake.refuse = true;
  await page.clock.runFor(70_000);
  await page.getByText('Silas is not answering.').waitFor();
});

test('the shell opens without a server, from the worker’s cache; nothing that Silas says is kept there', async (t) => {
  const page = await open(t, {}, { at: 'stream', serviceWorkers: 'allow' });
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload();
  await page.locator('.welcome').waitFor();
  const kept = await page.evaluate(async () => (await Promise.all((await caches.keys()).map(async (name) => (await (await caches.open(name)).keys()).map((request) => new URL(request.url).pathname)))).flat());
  assert.ok(kept.includes('/app.js') && !kept.some((path) => /pair$|ws/.test(path)), kept.join(' '));
  await fake.close();
  await page.reload();
  await page.getByText('Silas is not answering.').waitFor();
});

test('what came while this device was away is told, and what is shown is acknowledged', async (t) => {
  fake.since = { at: sample.at(Date.now() - 3_600_000), n_entries: 3 };
  const page = await open(t, {}, { at: 'activity' });
  await page.getByText('3 messages since this device was last here').waitFor();
  fake.seq += 1;
  fake.tell({ type: 'message', seq: fake.seq, entry: sample.entry('silas', 'hello from the outbox') });
  await page.waitForFunction(() => document.querySelector('[role=status]')?.textContent === 'hello from the outbox');
  await until(() => fake.acks.at(-1) === fake.seq);
});

test('what is typed while a message is on its way is the next one, and stays', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  // Keeping it takes its time.
  await page.evaluate(() => {
    const { put } = IDBObjectStore.prototype;
    IDBObjectStore.prototype.put = function slow(...all) {
      const until = performance.now() + 200;
      while (performance.now() < until);
      return put.apply(this, all);
    };
  });
  await page.locator('#composer').fill('the first');
  await page.keyboard.press('Enter');
  await page.keyboard.type('and the');
  await until(() => fake.received.some(({ type }) => type === 'message'));
  await page.locator('.turn-owner', { hasText: 'the first' }).waitFor();
  assert.equal(await page.locator('#composer').inputValue(), 'and the');
  assert.equal(fake.received.filter(({ type }) => type === 'message').length, 1);
});
