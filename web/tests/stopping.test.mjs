// Stopping in a real browser: an answer, one task, everything, and everything with what was allowed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shot } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, fake, open, received, sent, until } from './stage.mjs';

test('Stop asks once and is sent unsigned; it says what to do when Silas cannot be reached', async (t) => {
  const page = await open(t, { work: [sample.runningWork()] }, { at: 'stream' });
  await page.keyboard.press('.');
  await page.getByRole('heading', { name: 'Stop everything?' }).waitFor();
  await shot(page, 'stop-375-light');
  await page.keyboard.press('Escape');
  assert.equal(sent('stop').length, 0);
  await page.getByRole('button', { name: 'Stop everything' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Stop everything' }).click();
  assert.equal((await received('stop')).length, 1);
  fake.refuse = true;
  fake.drop();
  await page.getByText('Silas is not answering.').waitFor();
  await page.getByRole('button', { name: 'Stop everything' }).click();
  await page.getByText('silas stop --all').waitFor();
});

test('a task has a Stop of its own, and what was stopped is said', async (t) => {
  const page = await open(t, { work: [sample.runningWork()] }, { at: 'stream' });
  await page.locator('.work-foot').getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('heading', { name: 'Stop this task?' }).waitFor();
  await shot(page, 'stop-one-375-light');
  await page.getByRole('button', { name: 'Stop this task' }).click();
  assert.deepEqual(await received('stop'), [{ type: 'stop', execution: sample.runningWork().execution }]);
  await page.waitForFunction(() => document.querySelector('[role=status]')?.textContent === '1 task is stopping.');
  // The button on top is about everything again.
  await page.keyboard.press('.');
  await page.getByRole('heading', { name: 'Stop everything?' }).waitFor();
});

test('a task that ends while it is asked about leaves a sheet that only closes, also if another task runs', async (t) => {
  const asked = sample.runningWork();
  const other = { ...asked, execution: 'exec-other', title: 'Something else' };
  const page = await open(t, { work: [asked, other] }, { at: 'stream' });
  await page.locator('.work', { hasText: asked.title }).getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('heading', { name: 'Stop this task?' }).waitFor();
  fake.tell({ type: 'work', work: { ...asked, running: false, outcome: 'proved' } });
  await page.getByRole('heading', { name: 'This task has ended' }).waitFor();
  assert.deepEqual(await page.getByRole('dialog').getByRole('button').allInnerTexts(), ['Close']);
  await shot(page, 'stop-ended-375-light');
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal(sent('stop').length, 0);
  await page.keyboard.press('.');
  await page.getByRole('heading', { name: 'Stop everything?' }).waitFor();
});

test('Stop and revoke all: stops, then takes back every grant under one signature, those beyond the page and over a lost connection too', async (t) => {
  const page = await open(t, { work: [sample.runningWork()], n_more_grants: 1 }, { at: 'stream' });
  fake.beyond = [{ ...fake.shown.grants[0], token: 'tok-beyond', title: 'Far down the list' }];
  const ask = async () => {
    await page.getByRole('button', { name: 'Stop everything' }).click();
    await page.getByRole('button', { name: 'Stop and revoke all' }).click();
    // Past the moment in which a second tap confirms nothing.
    await page.waitForTimeout(400);
    await page.getByRole('dialog').getByRole('button', { name: 'Confirm' }).click();
  };
  fake.keeps = true;
  await ask();
  await page.getByText('Everything is stopped. Nothing was revoked. Try again.').first().waitFor();
  fake.keeps = false;
  fake.received.length = 0;
  fake.silent = true;
  await ask();
  assert.equal((await received('stop')).length, 1);
  assert.equal((await received('withdraw')).length, 1);
  fake.silent = false;
  fake.drop();
  await until(() => fake.shown.grants.length === 0);
  assert.equal(sent('stop').length, 1);
  const every = ['tok-beyond', 'tok-root', 'tok-rules'];
  assert.deepEqual(sent('withdraw').map(({ withdrawal }) => withdrawal.body.what.grants), [every, every], 'what was not answered is signed again');
  assert.equal(new Set(sent('withdraw').map(({ withdrawal }) => withdrawal.body.nonce)).size, 2);
  await page.waitForFunction(() => document.querySelector('[role=status]')?.textContent === 'Everything is stopped. 3 grants revoked.');
  await page.getByRole('button', { name: 'Stop everything' }).click();
  assert.equal(await page.getByRole('button', { name: 'Stop and revoke all' }).count(), 0, 'there is nothing left to revoke');
});

test('an answer grows sentence by sentence, can be stopped, and its entry takes its place', async (t) => {
  const page = await open(t, { entries: ENTRIES }, { at: 'stream' });
  fake.tell({ type: 'draft', draft: { reply: 'msg-reply', text: 'One <b>sentence</b>. ' } });
  await page.getByText('One <b>sentence</b>.').waitFor();
  fake.tell({ type: 'draft', draft: { reply: 'msg-reply', text: 'One <b>sentence</b>. And two. ' } });
  await page.getByText('And two.').waitFor();
  await shot(page, 'answering-375-light');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  assert.deepEqual(await received('interrupt'), [{ type: 'interrupt' }]);
  fake.tell({ type: 'message', seq: 1, entry: { ...sample.entry('silas', 'One <b>sentence</b>. And two. … (stopped)', 0), id: 'msg-reply' } });
  await page.locator('.turn-text', { hasText: '(stopped)' }).waitFor();
  assert.equal(await page.locator('.turn-text', { hasText: 'And two.' }).count(), 1);
  assert.equal(await page.getByRole('button', { name: 'Stop', exact: true }).count(), 0);
});

test('a provider that is left alone for a while is never all quiet', async (t) => {
  const asked = { model: 'openai:gpt-5', role: 'executor', for_work: true, since: new Date().toISOString(), waits_until: new Date(Date.now() + 120_000).toISOString() };
  const page = await open(t, { waiting_for: [asked] }, { at: 'stream' });
  await page.locator('.ambient', { hasText: /^Waiting for the provider until \d\d:\d\d/ }).waitFor();
  assert.equal(await page.getByText('All quiet').count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Stop everything' }).count(), 1);
  fake.tell({ type: 'waiting_for', waiting_for: [] });
  await page.locator('.ambient', { hasText: 'All quiet' }).waitFor();
});

test('a model that is waited for is named on top, and a stop says that it is not any more', async (t) => {
  const model = 'compatible:slow@http://localhost:11434';
  const page = await open(t, { waiting_for: [{ model, role: 'proxy', for_work: false, since: new Date().toISOString() }] }, { at: 'stream' });
  await page.locator('.ambient', { hasText: `Waiting for ${model} since` }).waitFor();
  assert.equal(await page.getByText('All quiet').count(), 0);
  fake.tell({ type: 'stopped', n_works: 0, models: [model] });
  await page.waitForFunction((said) => document.querySelector('[role=status]')?.textContent === said, `${model} is not waited for any more.`);
  fake.tell({ type: 'waiting_for', waiting_for: [] });
  await page.locator('.ambient', { hasText: 'All quiet' }).waitFor();
});
