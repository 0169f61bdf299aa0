// Two pairs of hands for the same stories: a thumb on a phone, and a mouse at a desk. What they press is the test's to say.

import { settle } from './browser.mjs';
import { DESK, PHONE } from './owner.mjs';

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

/** Both sizes: its name, the options of its context, and the hands of whoever is there. */
export const SIZES = [['375', PHONE, thumb], ['1280', DESK, mouse]];

/** Presses what decides, past the moment in which it would be a double tap, and goes through what its risk asks for. */
export async function decide(page, hands, label, then = 'at once') {
  await settle(page);
  await hands.press(page.locator('.dock').getByRole('button', { name: label, exact: true }));
  if (then === 'at once') return;
  await settle(page);
  if (then === 'confirmed') await hands.press(page.getByRole('button', { name: 'Confirm' }));
  else await hands.slide();
}
