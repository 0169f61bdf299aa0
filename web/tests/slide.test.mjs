// The slide for whoever does not drag: presses by voice, a switch or a screen reader, taps by hand, and keys. One press readies,
// a second confirms; a double one, or letting go early, does not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './browser.mjs';
import { open, received, sent } from './stage.mjs';
import * as sample from './sample-cards.mjs';

async function slide(t) {
  const page = await open(t, { cards: [sample.highCard()] });
  await settle(page);
  await page.locator('.dock .filled').click();
  const thumb = page.getByRole('slider');
  await thumb.waitFor();
  await settle(page);
  return { page, thumb, end: page.locator('.slide-end') };
}

/** As a screen reader or a voice sends it: a click, and nothing before it. */
const press = (control) => control.evaluate((element) => element.click());
const said = (page, words) => page.locator('#app > [role=status]', { hasText: words }).waitFor({ state: 'attached' });

for (const which of ['thumb', 'end']) {
  test(`two presses of the ${which} confirm, and the first says so`, async (t) => {
    const { page, thumb, ...rest } = await slide(t);
    const control = { thumb, ...rest }[which];
    assert.equal(await thumb.getAttribute('aria-valuetext'), 'not confirmed');
    await press(control);
    await said(page, 'Ready. Press again to');
    assert.match(await thumb.getAttribute('aria-valuetext'), /^ready, press again to /);
    assert.equal(sent('approval_response').length, 0);
    await settle(page);
    await press(control);
    assert.equal((await received('approval_response')).length, 1);
  });

  test(`a double press of the ${which} only readies`, async (t) => {
    const { page, thumb, ...rest } = await slide(t);
    await ({ thumb, ...rest }[which]).evaluate(async (element) => {
      element.click();
      // Drawn in between, as a hand is slower than that.
      await new Promise((resolve) => { setTimeout(resolve); });
      element.click();
    });
    await settle(page);
    assert.match(await thumb.getAttribute('aria-valuetext'), /^ready, press again/);
    assert.equal(sent('approval_response').length, 0);
  });
}

test('by hand: the arrow, then the end mark; the arrow alone never confirms, the end mark alone does nothing', async (t) => {
  const { page, thumb, end } = await slide(t);
  await end.click();
  assert.equal(await thumb.getAttribute('aria-valuetext'), 'not confirmed');
  await thumb.click();
  await page.getByText('Now tap the triangle').waitFor();
  await settle(page);
  await thumb.click();
  await thumb.dblclick();
  assert.equal(sent('approval_response').length, 0);
  await end.click();
  assert.equal((await received('approval_response')).length, 1);
});

test('letting go early brings it back, also from the way to the start, and takes back what was ready', async (t) => {
  const { page, thumb, end } = await slide(t);
  await thumb.click();
  await page.getByText('Now tap the triangle').waitFor();
  const box = await thumb.boundingBox();
  await page.mouse.move(box.x + 20, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 140, box.y + 20, { steps: 4 });
  await page.mouse.move(box.x + 20, box.y + 20, { steps: 4 });
  await page.mouse.up();
  assert.equal(await thumb.getAttribute('aria-valuenow'), '0');
  await page.getByText('Or tap the arrow').waitFor();
  await end.click();
  await settle(page);
  // The next press is a first one again.
  await press(thumb);
  assert.match(await thumb.getAttribute('aria-valuetext'), /^ready, press again/);
  assert.equal(sent('approval_response').length, 0);
});

test('keys: the end mark by Enter twice; Escape goes back to the question', async (t) => {
  const { page, thumb, end } = await slide(t);
  await end.focus();
  await page.keyboard.press('Enter');
  assert.match(await thumb.getAttribute('aria-valuetext'), /^ready, press again/);
  await page.keyboard.press('Escape');
  await thumb.waitFor({ state: 'detached' });
  await settle(page);
  await page.locator('.dock .filled').click();
  await thumb.waitFor();
  assert.equal(await thumb.getAttribute('aria-valuetext'), 'not confirmed');
  await settle(page);
  await end.focus();
  await page.keyboard.press('Enter');
  await settle(page);
  await page.keyboard.press('Enter');
  assert.equal((await received('approval_response')).length, 1);
});
