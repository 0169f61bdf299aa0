// Two pairs of hands for the same stories: a thumb on a phone, and a mouse at a desk, each in front of a Silas of its own. What
// they press is the test's to say.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, settle } from './browser.mjs';
import { DESK, PHONE, look, openPage, pair, say, show, troubleOf } from './owner.mjs';
import { startSilas } from './real-server.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Taps. A slide is its arrow and then its end mark. */
const thumb = (page) => ({
  press: (locator) => locator.tap(),
  slide: async () => {
    await page.getByRole('slider').tap();
    await page.getByText(/^Now tap the /).waitFor();
    await page.locator('.slide-end').tap();
  },
});

/** Clicks, and drags. */
const mouse = (page) => ({
  press: (locator) => locator.click(),
  slide: async () => {
    const [from, to] = await Promise.all(['.slide-thumb', '.slide-end'].map((part) => page.locator(part).boundingBox()));
    const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
    await page.mouse.move(...middle(from));
    await page.mouse.down();
    await page.mouse.move(...middle(to), { steps: 8 });
    await page.mouse.up();
  },
});

/** Its width, the options of its context, and the hands of whoever is there. */
const SIZES = [['375', PHONE, thumb], ['1280', DESK, mouse]];

/** Presses what decides, past the moment in which it would be a double tap, and goes through what its risk asks for. */
async function decide(page, hands, label, then = 'at once') {
  const button = page.locator('.dock').getByRole('button', { name: label, exact: true });
  await button.waitFor();
  await settle(page);
  await hands.press(button);
  if (then === 'at once') return;
  // What stays in a private copy takes one tap, and then there may be no dock any more.
  await page.waitForTimeout(400);
  const confirm = page.getByRole('button', { name: 'Confirm' });
  if (then === 'confirmed' && await confirm.count() === 0) return;
  if (then === 'confirmed') await hands.press(confirm);
  else await hands.slide();
}

/**
 * A story at both sizes; most of the time they wait. The browser is paired before, and the ledger and the page are in order after it.
 * @param {string} name
 * @param {() => Promise<{ settings: Record<string, string>, close: () => void }>} begin What there is besides, and how Silas is set.
 * @param {(world: any) => Promise<void>} story
 */
export function atBothSizes(name, begin, story) {
  describe(name, { concurrency: true }, () => {
    for (const [size, options, hands] of SIZES) {
      test(`${name}, at ${size} px`, async () => {
        const around = await begin();
        const silas = await startSilas(around.settings);
        const page = await openPage(await browser.newContext(options));
        const at = hands(page);
        try {
          await pair(page, silas.url);
          await story({
            ...around, silas, page, press: at.press,
            look: (what) => look(page, `rare-${size}-${what}`),
            decide: (label, then) => decide(page, at, label, then),
            /** Says it, and waits in Review. */
            wish: async (words) => {
              await say(page, words);
              await show(page, 'review');
            },
            /** What the Stream says of it. */
            told: async (words) => {
              await show(page, 'stream');
              await page.locator('.turn', { hasText: words }).last().waitFor();
            },
          });
          assert.match(silas.command('audit', 'verify'), /unbroken|verified|holds/i);
          assert.deepEqual(troubleOf(page), []);
        } finally {
          await page.context().close();
          around.close();
          await silas.stop();
        }
      });
    }
  });
}
