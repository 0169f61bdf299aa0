// What a new owner meets first, in a real browser: a model that does not answer its test, what it costs, an answer that could
// not be used, stopping everything, and names that are longer than a button.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopback, microdollars, typedDollars } from '../lib/price.js';
import { objections, settle, shot, sideways, smallTargets, weakTexts } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { fake, open, sent, until } from './stage.mjs';

const fits = async (page) => {
  assert.deepEqual(await sideways(page), { by: 0, elements: [] });
  for (const wrong of [smallTargets, weakTexts, objections]) assert.deepEqual(await wrong(page), []);
};

test('a model that did not answer its test: once more, or another, and nothing is asked for twice', async (t) => {
  const card = sample.failedTestCard();
  const page = await open(t, { cards: [card] });
  await settle(page);
  assert.deepEqual(await page.locator('.dock .button').allTextContents(), ['Try again', 'Choose another', 'Leave it']);
  await shot(page, 'tested-failed-375-light');
  await fits(page);
  await page.getByRole('button', { name: 'Try again' }).click();
  await until(() => sent('model_again').length === 1);
  assert.equal(sent('model_again')[0].request_id, card.id);

  const second = sample.failedTestCard();
  fake.cards([second]);
  await page.locator(`[id="${second.id}-intent"]`).waitFor();
  await settle(page);
  await page.getByRole('button', { name: 'Choose another' }).click();
  await until(() => sent('model_another').length === 1);
  fake.cards([sample.choiceAgainCard()]);
  // What was typed stands there.
  await page.getByRole('textbox', { name: 'Address' }).waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Address' }).inputValue(), 'http://localhost:9000/v1');
  assert.equal(await page.getByLabel('Model', { exact: true }).inputValue(), 'local-7b');
  assert.equal(await page.getByLabel('A million tokens in, in dollars').inputValue(), '0.25');
  await shot(page, 'choice-again-375-light');
  await fits(page);
  await settle(page);
  await page.locator('.dock .filled').click();
  await until(() => sent('model_choose').length === 1);
  const [{ model, key, price }] = sent('model_choose');
  assert.deepEqual([model, key, price], ['compatible:local-7b@http://localhost:9000/v1', 'kept', { input: 250_000, output: 2_000_000 }]);
});

test('what a model at another address costs: nothing on this machine without a key, a price exactly, or not known', async (t) => {
  const page = await open(t, { cards: [sample.choiceCard()] });
  const choice = (name) => page.locator('.choice', { hasText: name });
  const chosen = async () => (await page.locator('.choice:has(:checked) b').allTextContents()).at(-1);
  await choice('Other address').click();
  await page.getByLabel('Model', { exact: true }).fill('local-7b');
  assert.equal(await chosen(), 'I do not know');
  await page.getByRole('textbox', { name: 'Address' }).fill('http://localhost:9000/v1');
  assert.equal(await chosen(), 'I do not know', 'whoever wants a key may want money');
  await page.getByLabel('It needs no key').check();
  assert.equal(await chosen(), 'It costs nothing');
  await page.getByRole('textbox', { name: 'Address' }).fill('https://llm.example/v1');
  assert.equal(await chosen(), 'I do not know');
  await choice('It has a price').click();
  await page.getByLabel('A million tokens in, in dollars').fill('cheap');
  await page.getByLabel('A million tokens out, in dollars').fill('0.0375');
  await settle(page);
  await page.locator('.dock .filled').click();
  await page.getByText('Price: write both in dollars, as 0.25.').waitFor();
  assert.equal(sent('model_choose').length, 0);
  await page.getByLabel('A million tokens in, in dollars').fill('1,5');
  await shot(page, 'choice-price-375-light');
  await fits(page);
  await page.locator('.dock .filled').click();
  await until(() => sent('model_choose').length === 1);
  assert.deepEqual(sent('model_choose')[0].price, { input: 1_500_000, output: 37_500 });
});

test('who answers is chosen first, then what they offer; what is wrong is said at the field that it is in', async (t) => {
  const page = await open(t, { cards: [sample.choiceCard()] });
  await page.locator('.choice').first().waitFor();
  assert.deepEqual(await page.locator('.choices legend').allInnerTexts(), ['Provider', 'OpenRouter']);
  await page.locator('.choice', { hasText: 'Other address' }).click();
  const told = async (field, words) => {
    await settle(page);
    await page.locator('.dock .filled').click();
    await page.getByText(words).waitFor();
    const name = await page.evaluate(() => document.activeElement.labels[0].textContent);
    assert.equal(name, field, 'whoever types on types there');
    assert.equal(await page.locator('[aria-invalid=true]').count(), 1);
    assert.equal(sent('model_choose').length, 0);
  };
  await page.getByRole('textbox', { name: 'Address' }).fill('localhost:11434');
  await told('Address', 'Address: write it whole, as http://localhost:11434/v1.');
  await shot(page, 'choice-wrong-375-light');
  await page.getByRole('textbox', { name: 'Address' }).fill('http://localhost:11434/v1');
  await page.getByLabel('Model', { exact: true }).fill(' ');
  await told('Model', 'Model: write its name, as the provider spells it.');
  await page.getByLabel('Model', { exact: true }).fill('local 7b');
  await told('Model', 'Model: its name has neither spaces nor @ in it.');
  await fits(page);
});

test('prices are exact, and only this machine is this machine', () => {
  for (const [text, micro] of [['0.25', 250_000], ['$3', 3_000_000], [' 12.000001 ', 12_000_001], ['-1', null], ['1e3', null], ['', null], ['1.0000001', null]]) assert.equal(microdollars(text), micro, text);
  for (const micro of [0, 250_000, 37_500, 12_000_001]) assert.equal(microdollars(typedDollars(micro)), micro);
  for (const [url, is] of [['http://localhost:9000/v1', true], ['http://127.0.0.1', true], ['https://[::1]:1/v1', true], ['http://localhost.example/v1', false], ['http://127.0.0.1.example/', false]]) assert.equal(isLoopback(url), is, url);
});

test('a refusal of the server is told without its marks, and what was typed stays', async (t) => {
  const card = sample.choiceCard();
  const page = await open(t, { cards: [card] });
  fake.silent = true;
  await page.locator('.choice', { hasText: 'Other address' }).click();
  await page.getByRole('textbox', { name: 'Address' }).fill('https://llm.example/v1');
  await page.getByLabel('Model', { exact: true }).fill('local-7b');
  await settle(page);
  await page.locator('.dock .filled').click();
  await until(() => sent('model_choose').length === 1);
  fake.tell({ type: 'decided', request_id: card.id, recorded: false, message: 'The configuration says `models.local_only`. Change it.' });
  const told = page.getByRole('alert').getByText('The configuration says models.local_only. Change it.');
  await told.waitFor();
  assert.equal(await told.locator('code').textContent(), 'models.local_only');
  assert.equal(await page.getByLabel('Model', { exact: true }).inputValue(), 'local-7b');
});

test('an answer that could not be used is gone, and one line says so', async (t) => {
  const page = await open(t, { entries: [sample.entry('owner', 'why is the sky blue', 3000)] }, { at: 'stream' });
  fake.tell({ type: 'draft', draft: { reply: 'msg-9', text: 'Because it is. ', is_second: false } });
  await page.getByText('Because it is.').waitFor();
  fake.tell({ type: 'draft', draft: { reply: 'msg-9', text: '', is_second: true } });
  await page.getByText('The model’s first answer could not be used. It is asked once more.').waitFor();
  assert.equal(await page.getByText('Because it is.').count(), 0);
  assert.equal(await page.getByText('in the model’s words').count(), 0, 'these are Silas’s');
  await shot(page, 'asked-once-more-375-light');
  fake.tell({ type: 'draft', draft: { reply: 'msg-9', text: 'The air scatters it. ', is_second: true } });
  await page.getByText('The air scatters it.').waitFor();
  assert.equal(await page.getByText('could not be used').count(), 0);
});

test('Stop is one tap after the question; revoking everything is two, and what is gone is said', async (t) => {
  const work = [sample.runningWork()];
  const page = await open(t, { grants: sample.GRANTS, devices: sample.DEVICES, work }, { at: 'stream' });
  const n_grants = fake.shown.grants.length;
  await page.getByRole('button', { name: 'Stop everything' }).click();
  const sheet = page.getByRole('dialog', { name: 'Stop everything' });
  const { x, y, width, height } = await sheet.getByRole('button', { name: 'Stop and revoke all' }).boundingBox();
  await page.evaluate(async ([left, top]) => {
    const press = () => document.elementFromPoint(left, top).click();
    press();
    // Drawn in between, as a hand is slower than that.
    await new Promise((resolve) => { setTimeout(resolve); });
    press();
  }, [x + width / 2, y + height / 2]);
  await sheet.getByText(`revokes ${n_grants} grants`).waitFor();
  assert.equal(sent('stop').length + sent('withdraw').length, 0, 'nothing is gone with one tap, or with two quick ones');
  await shot(page, 'stop-and-revoke-375-light');
  await fits(page);
  await page.waitForTimeout(400);
  await sheet.getByRole('button', { name: 'Back' }).click();
  await sheet.getByRole('button', { name: 'Stop everything' }).waitFor();
  await sheet.getByRole('button', { name: 'Stop and revoke all' }).click();
  await page.waitForTimeout(400);
  await sheet.getByRole('button', { name: 'Confirm' }).click();
  await until(() => sent('withdraw').length === 1);
  assert.equal(sent('stop').length, 1);
  // Told once nothing runs any more.
  fake.tell({ type: 'work', work: { ...work[0], running: false, place: 'Stopped' } });
  await page.getByText(`1 task ended. ${n_grants} grants are gone: everything asks you first.`).waitFor();
  await shot(page, 'stopped-375-light');
  await fits(page);
  await page.getByRole('button', { name: 'Close' }).click();
  assert.equal(await page.locator('.notice').count(), 0);
});

test('a plan that asks no model signs no money', async (t) => {
  const plan = sample.planCard();
  const payload = JSON.parse(plan.payload);
  const without = { ...payload, budget: { ...payload.budget, max_tokens: 0, max_cost_microusd: 0 } };
  const { signedDetails } = await import('../cards/payload.js');
  const limits = (body) => signedDetails({ ...plan, payload: JSON.stringify(body) }).find(({ title }) => title === 'Limits').lines;
  assert.equal(limits(without).at(-1), 'No model, no money');
  assert.match(limits(payload).join(), /\$\d/);
  t.diagnostic(limits(payload).join(' · '));
});

for (const width of [375, 320]) {
  test(`a directory whose name is longer than a button is not cut at ${width}`, async (t) => {
    const page = await open(t, { cards: [sample.longestRootCard()] }, { width });
    await settle(page);
    await page.getByRole('heading', { name: 'Let plans work in the directory named below' }).waitFor();
    await page.getByText('/home/mira/a-directory-with-a-rather-long-name').first().waitFor();
    assert.ok(!(await page.locator('.card, .dock').allTextContents()).join().includes('…'));
    await shot(page, `root-longest-${width}`);
    await fits(page);
  });
}

test('what sets up a model comes first, whatever else waits', async (t) => {
  const [plan, choice, secret] = [sample.planCard(), sample.choiceCard(), sample.secretCard()];
  const page = await open(t, { cards: [plan] }, { at: 'stream' });
  const active = (name) => page.getByRole('article').getByRole('heading', { name }).waitFor();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Add a model' }).click();
  await active(plan.face.intent);
  fake.cards([plan, choice]);
  await active(choice.face.intent);
  fake.cards([plan, secret]);
  await active(secret.face.intent);
  fake.cards([plan]);
  await active(plan.face.intent);
});

test('what is too long to be sent does not look as if it could be', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  await page.getByRole('textbox').fill('x'.repeat(40_000));
  await page.getByText('This is longer than 32 KiB.').waitFor();
  assert.equal(await page.locator('.send.ready').count(), 0);
  await page.getByRole('textbox').fill('x');
  await page.locator('.send.ready').waitFor();
});

test('a path is a path also with spaces in it, and code that is cut off stays code', async (t) => {
  const { clamped } = await import('../cards/quote.js');
  assert.equal(clamped('run `sh -c "sleep 25; echo b" > a.txt` now', 'fact'), 'run `sh -c "sleep 25;` …');
  const card = sample.rootCard();
  const path = '/tmp/Pläne für Übermorgen';
  card.face.details[0].lines[0] = path;
  const page = await open(t, { cards: [card] });
  await page.locator('details summary, .details-toggle, button[aria-expanded]').first().click();
  await page.locator('code', { hasText: path }).first().waitFor();
});
