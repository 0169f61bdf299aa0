// The same page in letters of three widths, as people have them: nothing gets too small to tap, nothing is cut, a card keeps to
// its height and a seal to its line. In the usual ones everything is looked at where its looks are (looks.mjs). Pictures of what
// is narrow go to shots/.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { LETTERS, keepsItsContract, launch, linesOf, shot } from './browser.mjs';
import { SCENES, STATES } from './scenes.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, fake, open, scene } from './stage.mjs';

const browsers = [];
const writingIn = async (letters) => {
  browsers.push(await launch([], { letters }));
  return browsers.at(-1);
};
after(() => Promise.all(browsers.map((browser) => browser.close())));

/** Not the one that a machine without a network still reaches. */
const HOST = 'silas.localhost';

for (const letters of Object.keys(LETTERS)) {
  test(`what is written in ${letters} letters is written in those`, async (t) => {
    const page = await open(t, {}, { at: 'stream', by: await writingIn(letters) });
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('DOM.enable');
    await cdp.send('CSS.enable');
    const { root } = await cdp.send('DOM.getDocument');
    const { nodeId } = await cdp.send('DOM.querySelector', { nodeId: root.nodeId, selector: '.greeting' });
    const { fonts } = await cdp.send('CSS.getPlatformFontsForNode', { nodeId });
    assert.deepEqual(fonts.map(({ familyName }) => familyName), [LETTERS[letters]]);
  });

  test(`a proof in ${letters} letters has its facts on the card, and its change open below`, async (t) => {
    const page = await open(t, { entries: ENTRIES, cards: [sample.rehearsedCard()] }, { by: await writingIn(letters) });
    await page.locator('.card').waitFor();
    assert.deepEqual(await page.locator('.card-body dt').allTextContents(), ['You asked', 'Changes', 'Undo']);
    await page.locator('.details[open] .diff').first().waitFor();
    assert.equal(await page.locator('.details-body > .facts').count(), 0, 'no fact gave way');
    assert.deepEqual((await linesOf(page, '.claim, .card-body .checks li')).filter(({ lines }) => lines !== 1), []);
    await shot(page, `letters-${letters}-proof-on-card`);
  });

  for (const [width, height] of letters === 'usual' ? [] : [[375, 812], [1280, 800]]) {
    test(`every surface in ${letters} letters at ${width} px: targets, lines, heights, and nothing cut`, async (t) => {
      const page = await open(t, {}, { width, height, at: 'stream', host: HOST, by: await writingIn(letters) });
      let before = '';
      for (const [name, [at, change]] of Object.entries(SCENES)) {
        if (name.startsWith('real-') && before.startsWith('real-')) fake.cards(change.cards);
        else await scene(page, change, at);
        if (change.cards?.[0] && at === 'review') await page.locator(`[id="${change.cards[0].id}-intent"]`).waitFor();
        else await page.locator('.ambient, .proof-head').first().waitFor();
        before = name;
        if (width === 375) await shot(page, `letters-${letters}-${name}-${width}`);
        await keepsItsContract(page, name, width);
      }
    });

    test(`every state between in ${letters} letters at ${width} px: targets, lines, heights, and nothing cut`, async (t) => {
      const page = await open(t, {}, { width, height, at: 'stream', host: HOST, by: await writingIn(letters) });
      for (const [name, [shown, reach]] of Object.entries(STATES)) {
        await scene(page, shown(), 'review');
        await page.locator('.card').first().waitFor();
        await reach(page);
        if (width === 375) await shot(page, `letters-${letters}-state-${name}-${width}`);
        await keepsItsContract(page, name, width);
      }
    });
  }
}
