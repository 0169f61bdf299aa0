// Time runs out on a real Silas, under the eyes of somebody: a card is parked while it is half decided and asked again, and
// the time for undoing ends. In a real browser; the times are settings.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { launch, settle } from './browser.mjs';
import { DESK, PHONE, approve, card, eventually, look, openPage, restarted, say, show, step, tree, troubleOf, untilThePlan } from './owner.mjs';
import { ASKING, parkingAfter, startSilas } from './real-server.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Long enough to be seen open on a slow machine, and not to be waited for in vain. */
const SECONDS = 6;
const UNDO = { SILAS__UNDO__WINDOW_SECONDS: String(SECONDS) };

/** Writes down every way in which the active card showed itself, however short. */
const watch = (page) => page.evaluate(() => {
  window.shown = [];
  const note = () => {
    const heading = document.querySelector('.card .intent');
    const now = heading && `${heading.id} ${[...document.querySelectorAll('.dock button')].map(({ innerText }) => innerText).join(' | ')}`;
    if (now && now !== window.shown.at(-1)) window.shown.push(now);
  };
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true, characterData: true });
  note();
});

// Each has its own Silas, and most of the time they wait.
describe('at both sizes', { concurrency: true }, () => {
  for (const [size, options] of [['375', PHONE], ['1280', DESK]]) {
    test(`a card is parked under somebody's hand and asked again, and an undo runs out, at ${size} px`, async () => {
      const silas = await startSilas(ASKING);
      const page = await openPage(await browser.newContext(options));
      const zone = () => readFileSync(join(silas.repo, 'tides/zone.txt'), 'utf8');
      try {
        await untilThePlan(page, silas);
        await settle(page);
        await page.getByRole('button', { name: 'Decline' }).click();
        await page.getByText('Nothing to decide').waitFor();
        const original = tree(silas.repo);
        await restarted(page, silas, { ...ASKING, ...parkingAfter(SECONDS), ...UNDO });

        step('nobody confirms what somebody began to decide');
        await watch(page);
        await say(page, silas.wish);
        await show(page, 'review');
        await settle(page);
        await page.locator('.dock .filled').click();
        await page.getByText('Parked', { exact: true }).waitFor();
        await page.getByText(`No answer in ${SECONDS} seconds counts as no, so nothing was allowed.`).waitFor();
        assert.equal(await page.getByRole('button', { name: 'Confirm' }).count(), 0, 'there is nothing to confirm any more');
        const shown = await page.evaluate(() => window.shown);
        const ids = new Set(shown.map((line) => line.split(' ')[0]));
        assert.equal(ids.size, 1, `it turned in place: ${shown.join('; ')}`);
        assert.match(shown[0], /Do it, apply when proved/);
        assert.match(shown.at(-1), /Ask me again \| Rehearse it instead \| Drop it$/);
        await look(page, `parking-${size}-parked`);
        assert.deepEqual(tree(silas.repo), original);
        assert.equal(silas.count('decision_recorded'), 2);

        step('it is there after a restart, asks again, and is done');
        await restarted(page, silas, { ...ASKING, ...UNDO });
        await settle(page);
        await page.getByRole('button', { name: 'Ask me again' }).click();
        await page.getByRole('button', { name: 'Do it, apply when proved' }).waitFor();
        assert.deepEqual(await page.locator('.card .intent').getAttribute('id'), [...ids][0], 'it is the same card');
        await approve(page);
        await card(page, '1 file changed in tidepool').waitFor();
        assert.equal(zone(), 'Europe/Vienna\n');
        assert.deepEqual(silas.counts('decision_recorded', 'work_applied'), [3, 1]);

        if (size !== '375') return;
        step('the time for undoing ends, and a plan is offered in its place');
        await page.getByRole('button', { name: 'Plan a way back' }).waitFor();
        assert.equal(await page.locator('.undo').count(), 0);
        await eventually('the end of the window', () => silas.count('undo_window_closed') === 1);
        await look(page, `parking-${size}-over`);
        await settle(page);
        await page.getByRole('button', { name: 'Plan a way back' }).click();
        await page.getByRole('button', { name: 'Do it, apply when proved' }).waitFor();
        await look(page, `parking-${size}-way-back`);
        await approve(page);
        await eventually('the way back', () => zone() === 'UTC\n');
        assert.deepEqual(tree(silas.repo), original);
        assert.deepEqual(troubleOf(page), []);
      } finally {
        await page.context().close();
        await silas.stop();
      }
    });
  }
});
