// Cards that want something entered, in a real browser: where a secret goes and where it does not, what a loss, an expiry,
// a second tap and a second tab do to it, and the choice of a model. Every size and theme of them is in the surfaces' test.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { fake, open as openPage, retry, until } from './stage.mjs';

const CANARY = 'sk-or-canary-41f7b2';
/** What depends on where things stand is done at both. */
const SIZES = [{ width: 375, height: 812 }, { width: 1280, height: 800 }];

/** A paired page in front of these cards. */
const open = (t, cards, more) => openPage(t, { cards }, more);

const field = (page) => page.locator('.entry-field[type=password]');
const save = (page) => page.locator('.dock .filled');

/** Everything that this page keeps, or could be asked for later. */
const kept = (page) => page.evaluate(async () => {
  const databases = await Promise.all((await indexedDB.databases()).map(({ name }) => new Promise((resolve, reject) => {
    const opening = indexedDB.open(name);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = async () => {
      const read = (store) => new Promise((done) => { const all = opening.result.transaction(store).objectStore(store).getAll(); all.onsuccess = () => done(all.result); });
      const stores = await Promise.all([...opening.result.objectStoreNames].map(read));
      opening.result.close();
      resolve(stores);
    };
  })));
  const names = await caches.keys();
  const cached = await Promise.all(names.map(async (name) => (await (await caches.open(name)).keys()).map(({ url }) => url)));
  const { state } = await import('/lib/store.js');
  return JSON.stringify({ databases, cached, local: { ...localStorage }, session: { ...sessionStorage }, history: history.state, url: location.href, cookies: document.cookie, name: window.name, state, fields: [...document.querySelectorAll('input, textarea')].map(({ value }) => value), text: document.documentElement.outerHTML });
});

for (const size of SIZES) {
  test(`a secret goes to its own address, signed, once, and stays nowhere in the page or on the socket, at ${size.width} px`, async (t) => {
    const page = await open(t, [sample.secretCard(), sample.planCard()], size);
    const frames = [];
    page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => frames.push(String(payload)));
      socket.on('framereceived', ({ payload }) => frames.push(String(payload)));
    });
    await page.reload();
    await field(page).waitFor();
    assert.equal(await field(page).getAttribute('name'), null, 'a field without a name is in no form that a browser sends by itself');
    await field(page).fill(CANARY);
    await settle(page);
    let answer;
    fake.hold = new Promise((resolve) => { answer = resolve; });
    await save(page).dblclick();
    await page.getByText('Saving to vault').waitFor();
    assert.ok(await save(page).isDisabled());
    await field(page).press('Enter');
    assert.equal(await field(page).inputValue(), '');
    answer();
    await page.getByRole('heading', { name: 'Run 1 command in tidepool' }).waitFor();
    assert.deepEqual(fake.given, [['/secrets/openrouter', CANARY]]);
    assert.ok(frames.length > 2 && !frames.join().includes(CANARY) && !fake.frames.join().includes(CANARY));
    assert.ok(!(await kept(page)).includes(CANARY));
  });
}

for (const size of SIZES) {
  test(`a lost connection leaves what was typed, and nothing is sent before Silas answers again, at ${size.width} px`, async (t) => {
    const page = await open(t, [sample.secretCard()], size);
    await field(page).fill(CANARY);
    fake.refuse = true;
    fake.drop();
    await page.getByText('You can decide as soon as Silas answers').waitFor();
    await field(page).press('Enter');
    assert.ok(await save(page).isDisabled());
    // Another card has come first meanwhile; whoever types keeps theirs.
    fake.shown = sample.snapshot({ cards: [sample.planCard(), ...fake.shown.cards] });
    fake.refuse = false;
    await retry(page);
    await page.waitForFunction(() => !document.querySelector('.dock .filled')?.disabled);
    assert.equal(await field(page).inputValue(), CANARY);
    assert.equal(fake.given.length, 0);
    await settle(page);
    await save(page).click();
    await until(() => fake.given.length === 1);
  });
}

for (const size of SIZES) {
  test(`an expired card takes its field away and asks again with one tap, at ${size.width} px`, async (t) => {
    const card = sample.secretCard();
    const page = await open(t, [card], size);
    await field(page).fill(CANARY);
    fake.cards([{ ...card, state: 'parked' }]);
    await page.getByText('No answer in time counts as no, so nothing was allowed.').waitFor();
    assert.equal(await field(page).count(), 0);
    await settle(page);
    await page.getByRole('button', { name: 'Ask me again' }).click();
    await until(() => fake.received.some(({ type }) => type === 'renew'));
    fake.cards([sample.secretCard()]);
    await field(page).waitFor();
    assert.equal(await field(page).inputValue(), '', 'what was typed is gone');
    assert.equal(fake.given.length, 0);
  });
}

for (const [status, message] of [[409, 'This secret was given already. Nothing was changed.'], [410, 'The time for this answer is over. Nothing was stored.'], [423, 'The vault is locked.'], [429, 'Too many requests in a minute.']]) {
  test(`an answer of ${status} is told in the words of the server, and the field is empty`, async (t) => {
    const page = await open(t, [sample.secretCard()]);
    fake.refuseSecret = { status, body: { code: 'E', message, todo: 'Do this.' } };
    await field(page).fill(CANARY);
    await settle(page);
    await save(page).click();
    await page.getByRole('alert').getByText(`${message} Do this.`).waitFor();
    assert.equal(await field(page).inputValue(), '');
    assert.ok(!(await kept(page)).includes(CANARY));
    fake.refuseSecret = null;
    await field(page).fill('another');
    await save(page).click();
    await field(page).waitFor({ state: 'detached' });
    assert.equal(fake.given.length, 2);
  });
}

test('two tabs: one answer takes the card from both, and what the other had typed goes with it', async (t) => {
  const page = await open(t, [sample.secretCard()]);
  const other = await page.context().newPage();
  await other.goto(`${fake.url}#review`);
  await field(other).fill('typed in the other tab');
  await field(page).fill(CANARY);
  await settle(page);
  await save(page).click();
  await field(other).waitFor({ state: 'detached' });
  await other.getByText('Nothing to decide').waitFor();
  assert.ok(!(await kept(other)).includes('typed in the other tab'));
  assert.deepEqual(fake.given, [['/secrets/openrouter', CANARY]]);
});

for (const size of SIZES) {
  test(`nothing is sent empty; skipping needs no secret; keys in the field open no surface, at ${size.width} px`, async (t) => {
    const page = await open(t, [sample.secretCard()], size);
    await settle(page);
    await save(page).click();
    await page.getByText('Paste it first.').waitFor();
    await field(page).pressSequentially('a.r/?');
    assert.equal(await field(page).inputValue(), 'a.r/?');
    assert.equal(await page.locator('dialog[open]').count(), 0);
    await page.getByRole('button', { name: 'Skip for now' }).click();
    await until(() => fake.received.some(({ type }) => type === 'dismiss'));
    assert.equal(fake.given.length, 0);
  });
}

test('Paste fills the field, if the browser allows it', async (t) => {
  const page = await open(t, [sample.secretCard()], { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.evaluate((text) => navigator.clipboard.writeText(`${text}\n`), CANARY);
  await page.getByRole('button', { name: 'Paste' }).click();
  await page.getByText('Pasted.').waitFor();
  assert.equal(await field(page).inputValue(), CANARY);
});

for (const size of SIZES) {
  test(`choosing a model: what leaves is said for each, and exactly what was chosen is sent, at ${size.width} px`, async (t) => {
    const page = await open(t, [sample.choiceCard()], size);
    await page.locator('.facts').getByText('openrouter.ai').waitFor();
    const choice = (name) => page.locator('.choice', { hasText: name });
    await choice('Ollama').click();
    await page.locator('.facts').getByText('A program on this machine').waitFor();
    assert.equal(await page.getByLabel('Model').inputValue(), 'llama3.2');
    await choice('Anthropic').click();
    await page.getByLabel('Give a new key').check();
    await choice('Other address').click();
    assert.equal(await page.getByLabel('It needs no key').isChecked(), false);
    await page.getByLabel('Model').fill('local-7b');
    await page.getByRole('textbox', { name: 'Address' }).fill('http://localhost:9000/v1');
    await page.getByLabel('It needs no key').check();
    await settle(page);
    await save(page).dblclick();
    await until(() => fake.received.some(({ type }) => type === 'model_choose'));
    const sent = fake.received.filter(({ type }) => type === 'model_choose').map(({ model, key }) => [model, key]);
    assert.deepEqual(sent, [['compatible:local-7b@http://localhost:9000/v1', 'none']]);
  });
}

test('without a model the answer that says so has a way to add one, and so have the empty Stream and More', async (t) => {
  const page = await open(t, []);
  const said = () => fake.received.filter(({ type }) => type === 'message').map(({ message }) => message.body.text);
  await page.evaluate(() => { location.hash = 'stream'; });
  await page.getByRole('button', { name: 'Add a model' }).click();
  await until(() => said().length === 1);
  assert.match(page.url(), /#review$/);
  fake.shown = sample.snapshot({ entries: [sample.entry('owner', 'why is the sky blue', 3000), sample.entry('silas', sample.NO_MODEL, 1000)] });
  await page.goto('about:blank');
  await page.goto(`${fake.url}#stream`);
  await page.getByRole('button', { name: 'Add a model' }).click();
  await until(() => said().length === 2);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Add a model' }).click();
  await until(() => said().length === 3);
  assert.deepEqual(said(), Array(3).fill('add a model'));
  // With one there is nothing to add.
  fake.shown = sample.snapshot({ no_model: null, entries: [sample.entry('silas', sample.NO_MODEL, 1000)] });
  await page.goto('about:blank');
  await page.goto(`${fake.url}#stream`);
  await page.getByRole('button', { name: 'Add a model' }).first().waitFor({ state: 'detached' });
  await page.locator('.turn-silas').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Add a model' }).count(), 0);
});
