// From the first second of a wish it is seen what is being done about it, and work that is over opens and is called no more
// than it still is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepsItsContract, objections, shot, unnamed, weakTexts } from './browser.mjs';
import { ENTRIES, fake, open, received, sent } from './stage.mjs';
import * as sample from './sample-cards.mjs';

const MODEL = 'openrouter:anthropic/claude-haiku-4-5';

for (const [width, height, scheme] of [[375, 812, 'light'], [1280, 800, 'dark']]) {
  test(`a wish is seen to be heard, read and planned, and can be stopped, at ${width} px`, async (t) => {
    const page = await open(t, {}, { width, height, scheme, at: 'stream' });
    await page.locator('#composer').fill('Put the clock right in tidepool');
    await page.getByRole('button', { name: 'Send' }).click();
    const block = page.locator('.under-way');
    await block.getByText('Reading…').waitFor();
    await block.getByText('“Put the clock right in tidepool”').waitFor();
    await page.locator('.ambient', { hasText: '1 active' }).waitFor();
    const asked = (role, more = {}) => fake.tell({ type: 'waiting_for', waiting_for: [{ model: MODEL, role, for_work: false, since: sample.at(Date.now() - 12_000), ...more }] });
    asked('planner', { message: fake.shown.entries.at(-1).id });
    await block.getByText('Planning…').waitFor();
    await block.getByText(/^1\d s$/).waitFor();
    assert.equal(await block.count(), 1);
    await page.locator('.ambient', { hasText: `Waiting for ${MODEL} since` }).waitFor();
    assert.equal(await page.getByText('All quiet').count(), 0);
    await shot(page, `under-way-${width}-${scheme}`);
    await keepsItsContract(page, 'under way', width);
    assert.deepEqual([...await weakTexts(page), ...await unnamed(page), ...await objections(page)], []);
    await block.getByRole('button', { name: 'Stop' }).click();
    await received('interrupt');
    // Another message meanwhile changes nothing about whose this is.
    fake.tell({ type: 'message', seq: 8, entry: sample.entry('owner', 'And what time is it?', 0) });
    await page.locator('.turn-text', { hasText: 'And what time is it?' }).waitFor();
    assert.match(await block.innerText(), /“Put the clock right in tidepool”/);
    fake.tell({ type: 'waiting_for', waiting_for: [] });
    fake.tell({ type: 'message', seq: 9, entry: sample.entry('silas', 'Stopped. Nothing was planned.', 0) });
    await block.waitFor({ state: 'detached' });
    await page.locator('.ambient', { hasText: 'All quiet' }).waitFor();
  });
}

test('what nobody answered for long is not said to be read, and what works shows its own block', async (t) => {
  const page = await open(t, { entries: [sample.entry('owner', 'Hello?', 120_000)] }, { at: 'stream' });
  await page.locator('.turn-text').waitFor();
  assert.equal(await page.locator('.under-way').count(), 0);
  fake.tell({ type: 'waiting_for', waiting_for: [{ model: MODEL, role: 'executor', for_work: true, since: sample.at(Date.now()) }] });
  await page.locator('.ambient', { hasText: 'Waiting for' }).waitFor();
  assert.equal(await page.locator('.under-way').count(), 0);
});

test('work that is over opens: to its proof, or in place to how far it went', async (t) => {
  const stopped = { ...sample.runningWork(), execution: 'exec-stopped', running: false, place: 'Stopped', outcome: null, footer: 'Your files are untouched' };
  const steps = stopped.steps.map((step) => (step.state === 'running' ? { ...step, state: 'failed', label: 'Ran the checks again: 1 fails', took_ms: 700 } : step));
  const page = await open(t, { entries: ENTRIES, work: [{ ...stopped, steps }] }, { at: 'stream' });
  const row = page.locator('.folded');
  await row.getByRole('button', { name: 'See how far it went' }).click();
  await row.getByText('Ran the checks again: 1 fails').waitFor();
  await row.getByText('0.7 s').waitFor();
  await shot(page, 'folded-open-375-light');
  await keepsItsContract(page, 'opened work', 375);
  assert.deepEqual([...await weakTexts(page), ...await unnamed(page), ...await objections(page)], []);
  await row.getByRole('button', { name: 'See how far it went' }).click();
  await page.locator('.folded-steps').waitFor({ state: 'detached' });
  assert.equal(sent('stop').length, 0);
});

test('Proved does not stay on what was discarded, undone or not applied', async (t) => {
  const places = ['Applied', 'Rehearsed', 'Undone', 'Discarded', 'Nothing applied'];
  const work = places.map((place, n) => ({ ...sample.finishedWork(Date.now() - 600_000 + n), execution: `exec-${n}`, place, footer: 'Your files are as before' }));
  const page = await open(t, { entries: ENTRIES, work }, { at: 'stream' });
  await page.locator('.folded').nth(4).waitFor();
  assert.deepEqual(await page.locator('.folded .badge').allInnerTexts(), ['Proved', 'Proved', 'Undone', 'Discarded', 'Nothing applied']);
  assert.match(await page.locator('.folded').nth(2).innerText(), /Your files are as before/);
});
