// A tablet is turned: the page is wide, then narrow, then wide again. What somebody was in the middle of stays as far as it was,
// and where they were looking is what they see. In a real browser; pictures go to shots/.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle, shot, sideways } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, open, received, sent } from './stage.mjs';

const WIDE = { width: 1180, height: 820 };
const NARROW = { width: 820, height: 1180 };

/** Turned, and drawn anew. */
async function turn(page, size) {
  await page.setViewportSize(size);
  await page.locator(size === WIDE ? '.frame.wide' : '.frame:not(.wide)').waitFor();
  assert.deepEqual(await sideways(page), { by: 0, elements: [] });
}

/** What is half decided, how one gets there, and how one sees that it still is. */
const HALVES = {
  'a confirmation': [sample.planCard, async (page) => page.getByRole('button', { name: 'Confirm' }).evaluate((button) => button === document.activeElement)],
  'a slide': [sample.highCard, async (page) => {
    const thumb = page.getByRole('slider');
    if (await thumb.getAttribute('aria-valuenow') === '0') for (let n = 0; n < 4; n += 1) await thumb.press('ArrowRight');
    return await thumb.getAttribute('aria-valuenow') === '40';
  }],
};

for (const [what, [card, isThere]] of Object.entries(HALVES)) {
  for (const [first, then, at] of [[WIDE, NARROW, 'stream'], [NARROW, WIDE, 'review']]) {
    test(`${what} that was begun at ${first.width} px is there at ${then.width}, and after turning back it is taken`, async (t) => {
      const page = await open(t, { entries: ENTRIES, cards: [card(), sample.planCard()] }, { ...first, at });
      await settle(page);
      await page.locator('.dock .filled').click();
      await settle(page);
      assert.ok(await isThere(page));
      for (const size of [then, first]) {
        await turn(page, size);
        assert.ok(await isThere(page), `at ${size.width} px`);
        await shot(page, `turned-${what.replaceAll(' ', '-')}-${size.width}-light`);
      }
      assert.equal(sent('approval_response').length, 0);
      if (card === sample.highCard) await page.getByRole('slider').press('End');
      await page.keyboard.press('Enter');
      assert.equal((await received('approval_response')).length, 1);
    });
  }
}

test('what was written into an answer or a field for a secret is still there', async (t) => {
  const page = await open(t, { cards: [sample.realCard('decision'), sample.secretCard()] }, { ...WIDE, at: 'stream' });
  await settle(page);
  await page.getByRole('button', { name: 'Answer in my words' }).click();
  await page.getByLabel('In your own words').fill('both');
  for (const size of [NARROW, WIDE]) {
    await turn(page, size);
    assert.equal(await page.getByLabel('In your own words').inputValue(), 'both');
  }
  await page.locator('.next-intent').click();
  const secret = page.locator('.entry-field[type=password]');
  await secret.fill('sk-not-a-real-one');
  for (const size of [NARROW, WIDE]) {
    await turn(page, size);
    assert.equal(await secret.inputValue(), 'sk-not-a-real-one');
  }
});

test('whoever is writing stays with what they write, and whoever decides nothing stays in the Stream', async (t) => {
  const page = await open(t, { entries: ENTRIES, cards: [sample.planCard()] }, { ...WIDE, at: 'stream' });
  await settle(page);
  await turn(page, NARROW);
  await page.locator('.stream').waitFor();
  assert.equal(await page.locator('.review').count(), 0);
  await turn(page, WIDE);
  await settle(page);
  await page.locator('.dock .filled').click();
  await page.locator('#composer').fill('half a thou');
  await turn(page, NARROW);
  assert.equal(await page.locator('#composer').inputValue(), 'half a thou');
});

test('what is allowed stays in sight; whoever comes again begins with what happened', async (t) => {
  const page = await open(t, {}, { ...NARROW, at: 'activity' });
  const allowed = page.getByRole('tab', { name: 'What is allowed' });
  await allowed.click();
  for (const size of [WIDE, NARROW]) {
    await turn(page, size);
    assert.equal(await allowed.getAttribute('aria-selected'), 'true');
    await page.getByText('2 grants. Everything else asks you first.').waitFor();
  }
  await page.evaluate(() => { location.hash = 'stream'; });
  await page.locator('.stream').waitFor();
  await page.evaluate(() => { location.hash = 'activity'; });
  await page.locator('.timeline').waitFor();
});
