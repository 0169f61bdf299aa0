// A paired page for each test of a file that imports this: a browser for all of them, a fake server for each.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach } from 'node:test';
import { launch } from './browser.mjs';
import { CODE, startFake } from './fake-server.mjs';
import * as sample from './sample-cards.mjs';

let browser;
/** The server of the test that runs now. */
export let fake;

before(async () => {
  browser = await launch();
});
after(() => browser.close());
beforeEach(async () => {
  fake = await startFake();
});
afterEach(() => fake.close());

/** Waits for what only the test knows. */
export async function until(is) {
  for (let tries = 0; !(await is()); tries += 1) {
    if (tries > 3000) throw new Error('it never came');
    await new Promise((resolve) => { setTimeout(resolve, 10); });
  }
}

/** A paired page that shows `change`. Anything the policy blocks or the page throws fails the test. */
export async function open(t, change = {}, { width = 375, height = 812, scheme = 'light', at = 'review', ...more } = {}) {
  const stage = fake;
  stage.shown = sample.snapshot(change);
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, serviceWorkers: 'block', hasTouch: width < 960, ...more });
  const page = await context.newPage();
  const trouble = [];
  page.on('pageerror', (error) => trouble.push(String(error)));
  page.on('console', (message) => /Content Security Policy|Refused/.test(message.text()) && trouble.push(message.text()));
  t.after(async () => {
    await context.close();
    await stage.close();
    assert.deepEqual(trouble, []);
  });
  await page.goto(`${stage.url}#pair=${CODE}`);
  await page.locator('.pair-dock .filled').click();
  await page.locator('.frame').waitFor();
  await until(() => stage.acks.length > 0);
  await page.evaluate((hash) => { location.hash = hash; }, at);
  return page;
}

export const sent = (type) => fake.received.filter((message) => message.type === type);
export const received = async (type) => {
  await until(() => sent(type).length > 0);
  return sent(type);
};
