// The page where there is little room or another direction: narrow screens, large letters, right to left.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shot, sideways } from './browser.mjs';
import { TELLING } from './scenes.mjs';
import * as sample from './sample-cards.mjs';
import { fake, open } from './stage.mjs';

for (const [what, options, textSize] of [['320 px', { width: 320, height: 640 }, ''], ['200 % text', {}, '200%'], ['320 px and 200 % text', { width: 320, height: 640 }, '200%'], ['right to left', {}, '']]) {
  test(`${what}: nothing is cut off sideways`, async (t) => {
    const page = await open(t, {}, { ...options, at: 'stream' });
    for (const [name, [at, change]] of TELLING) {
      fake.shown = sample.snapshot(change);
      await page.goto('about:blank');
      await page.goto(`${fake.url}#${at}`);
      await page.locator('main').waitFor();
      await page.evaluate(([size, rtl]) => {
        document.documentElement.style.fontSize = size;
        if (rtl) document.documentElement.dir = 'rtl';
      }, [textSize, what === 'right to left']);
      await page.locator('.card, .turn, .welcome, .nothing, .timeline, .activity-none, .proof-head').first().waitFor();
      assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
      await shot(page, `${name}-${what.replaceAll(/\W+/g, '-')}`);
    }
  });
}
