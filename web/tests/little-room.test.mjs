// The page where there is little room or another direction: narrow screens, large letters, right to left.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonical } from '../lib/canonical.js';
import { launch, settle, shot, sideways } from './browser.mjs';
import { TELLING } from './scenes.mjs';
import * as sample from './sample-cards.mjs';
import { browser, open, received, scene, sent } from './stage.mjs';

for (const [what, options, textSize, letters] of [
  ['320 px', { width: 320, height: 640 }, ''], ['200 % text', {}, '200%'], ['320 px and 200 % text', { width: 320, height: 640 }, '200%'], ['right to left', {}, ''],
  ['320 px and 200 % text in wide letters', { width: 320, height: 640 }, '200%', 'wide'], ['right to left in wide letters', {}, '', 'wide'],
]) {
  test(`${what}: nothing is cut off sideways`, async (t) => {
    const by = letters ? await launch([], { letters }) : browser;
    if (letters) t.after(() => by.close());
    const page = await open(t, {}, { ...options, at: 'stream', by });
    // Where it is both narrow and large there is least room, and every kind of card is looked at; alone, the surfaces are.
    for (const [name, [at, change]] of ['320 px', '200 % text'].includes(what) ? TELLING.filter(([name]) => !name.startsWith('real-')) : TELLING) {
      await scene(page, change, at);
      await page.locator('main').waitFor();
      await page.evaluate(([size, rtl]) => {
        document.documentElement.style.fontSize = size;
        if (rtl) document.documentElement.dir = 'rtl';
      }, [textSize, what.startsWith('right to left')]);
      await page.locator('.card, .turn, .welcome, .nothing, .timeline, .activity-none, .proof-head').first().waitFor();
      assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
      await shot(page, `${name}-${what.replaceAll(/\W+/g, '-')}`);
    }
  });
}

const ARABIC = 'أصلح الساعة في `tides/parse.py` من فضلك';
const directions = (page, selector) => page.locator(selector).evaluateAll((elements) => elements.map((e) => getComputedStyle(e).direction));

test('words that are written from right to left stand so, whoever said them, and the page around them does not', async (t) => {
  const page = await open(t, { entries: [sample.entry('owner', ARABIC, 3000), sample.entry('silas', 'A plan waits for you in Review.', 2000)] }, { at: 'stream' });
  assert.deepEqual(await directions(page, '.turn-text'), ['rtl', 'ltr']);
  assert.deepEqual(await directions(page, '.turn-text code, .turn-label'), ['ltr', 'ltr', 'ltr']);
  await shot(page, 'arabic-stream-375-light');
  const said = (name, more = {}) => {
    const card = sample.realCard(name);
    const face = { ...card.face, asked: ARABIC, ...(card.face.quote && { quote: { ...card.face.quote, text: ARABIC } }) };
    return { ...card, face, ...(card.offer && { offer: { ...card.offer, shown: sample.sha256(canonical(face)) } }), ...more };
  };
  const shows = async (card) => {
    await scene(page, { cards: [card] }, 'review');
    await page.locator('.card').waitFor();
  };
  await shows(said('plan'));
  assert.deepEqual(await directions(page, '.quote-text, .said p'), ['rtl', 'rtl']);
  await shows(said('model_plan'));
  assert.deepEqual(await directions(page, '.quote-text, .asked, .said p'), ['rtl', 'rtl', 'rtl', 'rtl']);
  await shot(page, 'arabic-plan-375-light');
  const question = sample.realCard('decision');
  await shows(said('decision', { input: { ...question.input, options: [ARABIC, 'Neither'] } }));
  assert.deepEqual(await directions(page, '.answer-words'), ['rtl', 'ltr']);
  assert.deepEqual([...new Set(await directions(page, '.whole .quote-text, .said p'))], ['rtl']);
  await shot(page, 'arabic-question-375-light');
});

test('right to left the slide begins at the right, goes on with the left arrow key, and a drag to the left ends it', async (t) => {
  const page = await open(t, { cards: [sample.highCard()] });
  await page.evaluate(() => { document.documentElement.dir = 'rtl'; });
  await settle(page);
  await page.locator('.dock .filled').click();
  await settle(page);
  const thumb = page.getByRole('slider');
  const box = () => thumb.boundingBox();
  const [track, start] = [await page.locator('.slide').boundingBox(), await box()];
  assert.ok(start.x + start.width > track.x + track.width - 10, 'it begins at the right');
  await thumb.press('ArrowLeft');
  assert.equal(await thumb.getAttribute('aria-valuenow'), '10');
  assert.ok((await box()).x < start.x);
  await thumb.press('ArrowRight');
  assert.equal(await thumb.getAttribute('aria-valuenow'), '0');
  await shot(page, 'slide-right-to-left-375-light');
  assert.equal(sent('approval_response').length, 0);
  await page.mouse.move(start.x + 20, start.y + 20);
  await page.mouse.down();
  await page.mouse.move(track.x, start.y + 20, { steps: 8 });
  await page.mouse.up();
  assert.equal((await received('approval_response')).length, 1);
});
