// Every surface and every state between, in one theme and at both sizes. Pictures go to shots/. One theme a file, so that both
// are looked at at once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepsItsContract, missingPlaces, objections, shot, unnamed, weakEdges, weakTexts } from './browser.mjs';
import { SCENES, STATES, TELLING } from './scenes.mjs';
import { fake, open, scene } from './stage.mjs';

async function looksRight(page, name, width) {
  await keepsItsContract(page, name, width);
  assert.deepEqual(await weakTexts(page), [], name);
  assert.deepEqual(await weakEdges(page), [], name);
  assert.deepEqual(await missingPlaces(page), [], name);
  assert.deepEqual(await unnamed(page), [], name);
  assert.deepEqual(await objections(page), [], name);
}

const isCardOnly = (name) => name.startsWith('real-');

/** Not the one that a machine without a network still reaches. */
const HOST = 'silas.localhost';

/** @param {'light' | 'dark'} scheme */
export function lookAtEverything(scheme) {
  for (const [width, height] of [[375, 812], [1280, 800]]) {
    test(`every state between at ${width} px, ${scheme}: nothing sideways, contrast, targets, names, places, and nothing for axe`, async (t) => {
      const page = await open(t, {}, { width, height, scheme, at: 'stream', host: HOST });
      for (const [name, [shown, reach]] of Object.entries(STATES)) {
        await scene(page, shown(), 'review');
        await page.locator('.card').first().waitFor();
        await reach(page);
        await shot(page, `state-${name}-${width}-${scheme}`);
        await looksRight(page, name, width);
      }
    });

    test(`every surface at ${width} px, ${scheme}: nothing sideways, contrast, targets, names, places, and nothing for axe`, async (t) => {
      const page = await open(t, {}, { width, height, scheme, at: 'stream', host: HOST });
      let before = '';
      for (const [name, [at, change]] of width === 375 && scheme === 'light' ? Object.entries(SCENES) : TELLING) {
        // One card after the other is what Review is for; everything else is opened anew.
        if (isCardOnly(name) && isCardOnly(before)) fake.cards(change.cards);
        else await scene(page, change, at);
        if (isCardOnly(name)) await page.locator(`[id="${change.cards[0].id}-intent"]`).waitFor();
        else if (at.startsWith('proof/')) await page.locator('.proof-head').waitFor();
        else await page.locator('.ambient', { hasText: /quiet|running|active|review/ }).waitFor();
        before = name;
        await shot(page, `${name}-${width}-${scheme}`);
        await looksRight(page, name, width);
      }
    });
  }
}
