// A real Silas that goes and comes back, told to or not, while somebody is in front of a card, has just decided, or is
// writing. In a real browser.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { launch, settle } from './browser.mjs';
import { DESK, PHONE, approve, card, composer, connected, eventually, focusOn, look, lost, openPage, say, show, step, tree, troubleOf, untilThePlan } from './owner.mjs';
import { ASKING, startSilas } from './real-server.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** What must be the same before and after: the card and how far it is, where everything stands, what has focus. */
const seen = (page) => page.evaluate(() => {
  const text = (selector) => document.querySelector(selector)?.innerText;
  const { top, left, height } = document.querySelector('.card').getBoundingClientRect();
  return {
    card: text('.card'), dock: text('.dock'), open: document.querySelector('.details').open, at: [top, left, height], scrolled: document.querySelector('.review').scrollTop,
    focus: document.activeElement.textContent, cards: document.querySelectorAll('.card').length, surface: location.hash,
  };
});

// Each has its own Silas, and most of the time they wait.
describe('at both sizes', { concurrency: true }, () => {
  for (const [size, options] of [['375', PHONE], ['1280', DESK]]) {
    test(`Silas is restarted and killed under an open card and under a decision, at ${size} px`, async () => {
      const silas = await startSilas(ASKING);
      const page = await openPage(await browser.newContext(options));
      try {
        await untilThePlan(page, silas);
        const original = tree(silas.repo);
        await show(page, 'stream');
        await composer(page).fill('half a thou');
        await show(page, 'review');
        await settle(page);
        await page.locator('.details summary').click();

        for (const [what, end] of [['stopped', silas.terminate], ['killed', silas.kill]]) {
          step(`it is ${what} while the card is open and half decided`);
          await page.locator('.dock .filled').click();
          await settle(page);
          const before = await seen(page);
          assert.equal(before.focus, 'Confirm');
          await end();
          await lost(page);
          assert.ok(await page.getByRole('button', { name: 'Confirm' }).isDisabled(), 'nobody is there to decide for');
          await page.getByText('You can decide as soon as Silas answers').waitFor();
          await look(page, `restart-${size}-${what}`);
          await silas.up();
          await connected(page);
          await page.locator('.dock .filled:enabled').waitFor();
          await focusOn(page, 'Confirm');
          assert.deepEqual(await seen(page), before);
          assert.equal(silas.count('decision_recorded'), 1, 'only the directory was decided');
          await page.keyboard.press('Escape');
          await settle(page);
        }

        step('it is killed before it has heard a decision that was sent: the card is there again and says so');
        silas.freeze();
        await approve(page);
        await page.locator('.dock .filled:disabled').waitFor();
        await silas.kill();
        await lost(page);
        await silas.up();
        await connected(page);
        await page.locator('.dock').getByText('Silas did not get your answer').waitFor();
        await look(page, `restart-${size}-not-heard`);
        assert.equal(silas.count('decision_recorded'), 1);
        assert.deepEqual(tree(silas.repo), original);

        step('it is stopped while a decision is on its way: it was taken or not, and the page shows which');
        silas.freeze();
        await approve(page);
        await page.locator('.dock .filled:disabled').waitFor();
        const stopped = silas.terminate();
        silas.thaw();
        await stopped;
        await lost(page);
        await silas.up();
        await connected(page);
        if (silas.count('decision_recorded') === 1) await approve(page);
        await card(page, '1 file changed in tidepool').waitFor();
        assert.equal(readFileSync(join(silas.repo, 'tides/zone.txt'), 'utf8'), 'Europe/Vienna\n');
        assert.deepEqual(silas.counts('decision_recorded', 'work_applied'), [2, 1]);

        step('it is killed while it does what was decided: that is begun again and done once');
        silas.breakAgain();
        writeFileSync(join(silas.repo, 'slow.sh'), 'sleep 2; sh fix.sh\n');
        await show(page, 'stream');
        assert.equal(await composer(page).inputValue(), 'half a thou', 'what was being written is still there');
        await say(page, silas.wish.replace('fix.sh', 'slow.sh'));
        await show(page, 'review');
        await card(page, 'Run 1 command in tidepool').waitFor();
        await approve(page);
        await eventually('the work', () => silas.count('work_started') === 2);
        await silas.kill();
        await lost(page);
        await silas.up();
        await connected(page);
        await eventually('the second work', () => silas.count('work_applied') === 2);
        await card(page, '1 file changed in tidepool').waitFor();
        assert.equal(readFileSync(join(silas.repo, 'tides/zone.txt'), 'utf8'), 'Europe/Vienna\n');
        assert.equal(silas.count('decision_recorded'), 3);
        await show(page, 'stream');
        await page.locator('.folded').nth(1).waitFor();
        assert.equal(await page.locator('.folded').count(), 2, 'each work is told once');
        assert.equal(await page.locator('.turn-owner').count(), 2, 'and so is each wish');
        await look(page, `restart-${size}-after`);
        assert.match(silas.command('audit', 'verify'), /unbroken|verified|holds/i);
        assert.deepEqual(troubleOf(page), []);
      } finally {
        await page.context().close();
        await silas.stop();
      }
    });
  }
});
