// How a decision is taken, in a real browser: one tap, two or a slide by its risk, and no tap that was meant for something
// else. What is signed then is tested elsewhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle, shot } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, fake, focused, open, pass, received, sent, stopwatch } from './stage.mjs';

test('low risk: one tap signs, the button is disabled at once and a second tap decides nothing', async (t) => {
  const page = await open(t, { cards: [sample.lowCard()] });
  await settle(page);
  fake.silent = true;
  const button = page.locator('.dock .filled');
  await button.click();
  await page.getByText('Applying 2 files').waitFor();
  assert.ok(await button.isDisabled());
  await button.click({ force: true });
  await received('approval_response');
  await page.waitForTimeout(200);
  assert.equal(sent('approval_response').length, 1);
  assert.equal(sent('approval_response')[0].token.body.verdict, 'approved');
});

test('going on without what was refused is one tap and no talk about a change', async (t) => {
  const page = await open(t, { cards: [sample.realCard('refusal_longest')] });
  await settle(page);
  fake.silent = true;
  await page.getByRole('button', { name: 'Go on without them' }).click();
  const [response] = await received('approval_response');
  assert.equal(response.token.body.verdict, 'edit_requested');
  await page.getByText('Going on without them').waitFor();
  assert.equal(await page.locator('.change').count(), 0);
  assert.equal(sent('message').length, 0);
});

test('medium risk: a double tap opens the question and does not confirm it; Confirm has focus; Esc goes back', async (t) => {
  const page = await open(t, { entries: ENTRIES, cards: [sample.planCard()] }, { prepare: stopwatch });
  await page.locator('.dock .filled:enabled').waitFor();
  await pass(page);
  const spot = await page.locator('.dock .filled').boundingBox();
  // Both taps where Confirm will be.
  await page.mouse.dblclick(spot.x + spot.width - 30, spot.y + spot.height / 2);
  await page.getByText('Changes files in tidepool if counted tests turn green; if not, you see it first.').waitFor();
  await page.waitForTimeout(200);
  assert.equal(sent('approval_response').length, 0);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Confirm');
  await shot(page, 'confirm-375-light');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Do it, apply when proved' }).waitFor();
  await pass(page);
  await page.locator('.dock .filled').click();
  await page.getByRole('button', { name: 'Confirm' }).waitFor();
  await pass(page);
  await page.getByRole('button', { name: 'Confirm' }).click();
  const [answer] = await received('approval_response');
  assert.equal(answer.token.body.verdict, 'approved');
  await page.getByText('Nothing to decide').waitFor();
});

test('a card that comes up under the thumb is not decided by the tap that was meant for the one before', async (t) => {
  const [one, two] = [sample.lowCard(), sample.lowCard()];
  const page = await open(t, { cards: [one, two] }, { prepare: stopwatch });
  await page.locator('.dock .filled:enabled').waitFor();
  await pass(page);
  const spot = await page.locator('.dock .filled').boundingBox();
  await page.mouse.click(spot.x + 40, spot.y + 20);
  await page.locator(`[id="${two.id}-intent"]`).waitFor();
  await focused(page, `${two.id}-intent`);
  await page.mouse.click(spot.x + 40, spot.y + 20);
  await page.waitForTimeout(200);
  assert.deepEqual(sent('approval_response').map((message) => message.request_id), [one.id]);
});

test('a card that is told again as it was stays as it is: nothing goes off under the thumb', async (t) => {
  const mine = sample.planCard();
  const page = await open(t, { cards: [mine] });
  await page.locator('.dock .filled:enabled').waitFor();
  await page.evaluate(() => {
    window.changes = [];
    new MutationObserver((changes) => window.changes.push(...changes.map(({ attributeName }) => attributeName))).observe(document.querySelector('.dock'), { subtree: true, attributes: true, childList: true });
  });
  const other = sample.planCard();
  fake.cards([structuredClone(mine), other]);
  await page.locator('.next-intent').waitFor();
  assert.deepEqual(await page.evaluate(() => window.changes), []);
});

test('somebody who is confirming keeps their card when another becomes the first', async (t) => {
  const mine = sample.planCard();
  const page = await open(t, { cards: [mine] });
  await settle(page);
  await page.locator('.dock .filled').click();
  fake.cards([sample.lowCard(), mine]);
  await settle(page);
  await page.getByRole('button', { name: 'Confirm' }).click();
  assert.equal((await received('approval_response'))[0].request_id, mine.id);
});

test('high risk: the slide needs its end; keys go ten steps and Enter', async (t) => {
  const page = await open(t, { cards: [sample.highCard()] });
  await settle(page);
  await page.locator('.dock .filled').click();
  const thumb = page.getByRole('slider');
  const box = await thumb.boundingBox();
  await settle(page);
  await page.mouse.move(box.x + 20, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 120, box.y + 20, { steps: 4 });
  await page.mouse.up();
  assert.equal(await thumb.getAttribute('aria-valuenow'), '0');
  assert.equal(sent('approval_response').length, 0);
  await shot(page, 'high-375-light');
  await thumb.focus();
  for (let n = 0; n < 9; n++) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  assert.equal(sent('approval_response').length, 0);
  await page.keyboard.press('ArrowRight');
  assert.match(await thumb.getAttribute('aria-valuetext'), /^ready, press Enter/);
  await page.keyboard.press('Enter');
  assert.equal((await received('approval_response')).length, 1);
});

test('an unknown effect: yes is one tap, doing it again takes the slide, looking decides nothing', async (t) => {
  const card = sample.unknownCard();
  const page = await open(t, { cards: [card] });
  await settle(page);
  // Nobody knows whether it happened, so nothing is recommended: what may do it twice least of all.
  assert.deepEqual([await page.locator('.dock .filled').count(), await page.locator('.dock .outlined').innerText()], [0, 'No, do it again']);
  await page.getByRole('button', { name: 'Look in Activity' }).click();
  await page.locator('.timeline').waitFor();
  await page.evaluate(() => { location.hash = 'review'; });
  await settle(page);
  await page.getByRole('button', { name: 'No, do it again' }).click();
  await page.getByRole('slider').waitFor();
  assert.equal(sent('approval_response').length, 0);
  await settle(page);
  await page.getByRole('button', { name: 'Yes, leave it' }).click();
  assert.equal((await received('approval_response'))[0].token.body.verdict, 'declined');
});

test('a dragged slide that reaches its end decides', async (t) => {
  const page = await open(t, { cards: [sample.highCard()] });
  await settle(page);
  await page.locator('.dock .filled').click();
  await settle(page);
  const [from, to] = [await page.getByRole('slider').boundingBox(), await page.locator('.slide').boundingBox()];
  await page.mouse.move(from.x + 20, from.y + 20);
  await page.mouse.down();
  await page.mouse.move(to.x + to.width, from.y + 20, { steps: 8 });
  await page.mouse.up();
  assert.equal((await received('approval_response')).length, 1);
});

test('undo is one tap and signs the undo offer', async (t) => {
  const card = sample.doneCard();
  const page = await open(t, { cards: [card] });
  await settle(page);
  await page.locator('.undo').click();
  const [{ token }] = await received('approval_response');
  assert.equal(token.body.offer.kind, 'undo');
  assert.equal(token.body.verdict, 'approved');
});

test('a result is applied with one tap if it is proved, and with two if it is not', async (t) => {
  const [proved, unproven] = [sample.rehearsedCard(), sample.unprovenCard()];
  const page = await open(t, { entries: ENTRIES, cards: [proved, unproven] });
  await settle(page);
  await page.getByText('Proved: red before, green after').waitFor();
  await page.getByRole('button', { name: 'Apply 2 files', exact: true }).click();
  assert.equal((await received('approval_response'))[0].token.body.offer.kind, 'apply');
  await page.getByRole('button', { name: 'Apply 2 files, unproven' }).waitFor();
  await settle(page);
  await page.getByRole('button', { name: 'Apply 2 files, unproven' }).click();
  await settle(page);
  assert.equal(sent('approval_response').length, 1);
  await page.getByRole('button', { name: 'Confirm' }).click();
});
