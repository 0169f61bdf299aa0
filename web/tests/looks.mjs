// Every surface and every state between, in one theme and at both sizes. Pictures go to shots/. One theme a file, so that both
// are looked at at once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serious, shot, sideways, smallTargets, unnamed, weakTexts } from './browser.mjs';
import { CARDS_OF, SCENES, STATES, TELLING } from './scenes.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, fake, open, until } from './stage.mjs';

/** @param {'light' | 'dark'} scheme */
export function lookAtEverything(scheme) {
  for (const [width, height] of [[375, 812], [1280, 800]]) {
    test(`every state between at ${width} px, ${scheme}: nothing sideways, contrast, names, and nothing serious for axe`, async (t) => {
      const page = await open(t, {}, { width, height, scheme, at: 'stream' });
      for (const [name, reach] of Object.entries(STATES)) {
        fake.shown = sample.snapshot({ entries: ENTRIES, cards: [(CARDS_OF[name] ?? sample.planCard)()] });
        await page.goto('about:blank');
        const n = fake.acks.length;
        await page.goto(`${fake.url}#review`);
        await page.locator('.card').first().waitFor();
        // As when it was opened: there must be a connection before one is cut.
        await until(() => fake.acks.length > n);
        await reach(page);
        await shot(page, `state-${name}-${width}-${scheme}`);
        assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
        assert.deepEqual(await weakTexts(page), [], name);
        assert.deepEqual(await unnamed(page), [], name);
        assert.deepEqual(await serious(page), [], name);
      }
    });

    test(`every surface at ${width} px, ${scheme}: nothing sideways, contrast, targets, names`, async (t) => {
      const page = await open(t, {}, { width, height, scheme, at: 'stream' });
      for (const [name, [at, change]] of width === 375 ? Object.entries(SCENES) : TELLING) {
        fake.shown = sample.snapshot(change);
        await page.goto('about:blank');
        await page.goto(`${fake.url}#${at}`);
        await page.locator('.ambient', { hasText: /quiet|running|active|review/ }).or(page.locator('.proof-head')).first().waitFor();
        await shot(page, `${name}-${width}-${scheme}`);
        assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
        assert.deepEqual(await weakTexts(page), [], name);
        assert.deepEqual(await smallTargets(page), [], name);
        assert.deepEqual(await unnamed(page), [], name);
        assert.deepEqual(await serious(page), [], name);
      }
    });
  }
}
