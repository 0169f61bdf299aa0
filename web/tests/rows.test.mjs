// A row of Activity opens what stands behind it, in place, by hand, by keys and for whoever listens; its hash is computed in
// the browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objections, shot, sideways, smallTargets, unnamed, weakTexts } from './browser.mjs';
import { fake, open, received, sent } from './stage.mjs';
import * as sample from './sample-cards.mjs';

const row = (page, text) => page.locator('.timeline .row', { hasText: text });

for (const [width, height, scheme] of [[375, 812, 'light'], [375, 812, 'dark'], [1280, 800, 'light']]) {
  test(`a decision opens what was asked, the answer, who signed it and its entry, at ${width} px, ${scheme}`, async (t) => {
    const page = await open(t, {}, { width, height, scheme, at: 'activity/everything' });
    const decided = row(page, 'You approved a plan');
    const opener = decided.getByRole('button');
    assert.equal(await opener.getAttribute('aria-expanded'), 'false');
    await opener.focus();
    await page.keyboard.press('Enter');
    assert.equal(await opener.getAttribute('aria-expanded'), 'true');
    const evidence = decided.locator(`#${await opener.getAttribute('aria-controls')}`);
    await evidence.getByText('Computed here, its hash is').waitFor();
    const text = await evidence.innerText();
    const { seq, link } = sample.evidence((await received('evidence'))[0].seq);
    for (const part of ['Change up to 4 files in tidepool', 'Yes', 'Chromium on Linux, with its own key', `Entry ${seq.toLocaleString('en')}`, 'You asked', 'anthropic/claude-haiku-4-5']) assert.ok(text.includes(part), part);
    assert.equal(link.seq, seq);
    assert.equal(await evidence.locator('blockquote').count(), 2, 'words of others stand apart');
    await shot(page, `row-open-${width}-${scheme}`);
    assert.deepEqual(await sideways(page), { by: 0, elements: [] });
    for (const look of [weakTexts, smallTargets, unnamed, objections]) assert.deepEqual(await look(page), []);
    await page.keyboard.press('Enter');
    await evidence.waitFor({ state: 'detached' });
    assert.equal(await opener.getAttribute('aria-expanded'), 'false');
  });
}

test('work leads to its proof, and its file is beside it once a proof was opened', async (t) => {
  fake.evidence = { proof: sample.PROOF.execution, quotes: [] };
  const page = await open(t, {}, { at: 'activity/everything' });
  const opener = row(page, 'Put 2 files back').getByRole('button');
  await opener.click();
  const link = page.getByRole('link', { name: 'See the proof' });
  await link.waitFor();
  assert.equal(await page.getByRole('button', { name: 'Save its file' }).count(), 0);
  await link.click();
  await page.getByRole('heading', { name: 'Proved', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Back', exact: true }).click();
  await opener.click();
  await page.getByRole('button', { name: 'Save its file' }).click();
  assert.equal((await received('bundle'))[0].execution, sample.PROOF.execution);
});

test('an entry whose hash does not fit is said to be altered, whatever the server says', async (t) => {
  const { link } = sample.evidence(1284);
  fake.evidence = { link: { ...link, body: link.body.replace('approved', 'declined') } };
  const page = await open(t, {}, { at: 'activity/everything' });
  await row(page, 'Put 2 files back').getByRole('button').click();
  await page.getByRole('alert').filter({ hasText: 'Entry 1,284 was altered.' }).waitFor();
  await shot(page, 'row-altered-375-light');
  assert.deepEqual([...await weakTexts(page), ...await objections(page)], []);
});

test('what was open is asked for anew when it is opened again', async (t) => {
  const page = await open(t, {}, { at: 'activity/everything' });
  const opener = row(page, 'Put 2 files back').getByRole('button');
  for (const n of [1, 2]) {
    await opener.click();
    await page.getByText('Computed here').waitFor();
    await opener.click();
    await page.locator('.row-evidence').waitFor({ state: 'detached' });
    assert.equal(sent('evidence').length, n);
  }
});
