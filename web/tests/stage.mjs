// A stage for each test of a file that imports this: a browser for all of them, a fake server for each, and pages that are
// paired with it. What a test then does and looks at is its own.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach } from 'node:test';
import { launch } from './browser.mjs';
import { CODE, startFake } from './fake-server.mjs';
import * as sample from './sample-cards.mjs';

export let browser;
/** The server of the test that runs now. */
export let fake;

/** All of them: of tests that run side by side only the last is `fake`. */
const stages = [];
async function stage() {
  fake = await startFake();
  stages.push(fake);
}

before(async () => {
  browser = await launch();
});
beforeEach(stage);
afterEach(() => fake.close());
// Also where no page was opened, so that nothing listens when all is over.
after(async () => {
  await browser.close();
  for (const one of stages) await one.close();
});

/** From here on the test has another server; pages of the one before keep theirs. */
export const anotherStage = stage;

/** Waits for what only the server of the test knows. */
export async function until(is) {
  for (let tries = 0; !(await is()); tries += 1) {
    if (tries > 3000) throw new Error('it never came');
    await new Promise((resolve) => { setTimeout(resolve, 10); });
  }
}

/** A paired page that shows `change`. Anything the policy blocks or the page throws fails the test. */
export async function open(t, change = {}, { width = 375, height = 812, scheme = 'light', at = 'review', host = 'localhost', by = browser, prepare = async () => {}, ...more } = {}) {
  const stage = fake;
  stage.shown = sample.snapshot(change);
  const context = await by.newContext({ viewport: { width, height }, colorScheme: scheme, serviceWorkers: 'block', hasTouch: width < 960, ...more });
  const page = await context.newPage();
  const trouble = [];
  page.on('pageerror', (error) => trouble.push(String(error)));
  page.on('console', (message) => /Content Security Policy|Refused/.test(message.text()) && trouble.push(message.text()));
  t.after(async () => {
    await context.close();
    await stage.close();
    assert.deepEqual(trouble, []);
  });
  await prepare(page);
  await page.goto(`${stage.url.replace('localhost', host)}#pair=${CODE}`);
  await page.locator('.pair-dock .filled').click();
  await page.locator('.frame').waitFor();
  // The frame is there before the connection: what a test does to the connection must find one.
  await until(() => stage.acks.length > 0);
  await page.evaluate((hash) => { location.hash = hash; }, at);
  return page;
}

/** Another scene for a paired page. Of the one before, neither server nor browser keeps anything: no choice, no remark, no line that is cut. */
export async function scene(page, change, at) {
  Object.assign(fake, { shown: sample.snapshot(change), refuse: false, silent: false, edits: [], proof: {} });
  await page.context().setOffline(false);
  const { origin } = new URL(page.url());
  await page.evaluate(async () => {
    const { all, remove } = await import('/lib/database.js');
    for (const { name } of await all('choices')) await remove('choices', name);
  });
  await page.goto('about:blank');
  await until(() => fake.sockets.size === 0);
  const n = fake.acks.length;
  await page.goto(`${origin}/#${at}`);
  // There must be a connection before one is cut.
  await until(() => fake.acks.length > n);
}

/** A watch that moves only when a test says so: `open(t, shown, { prepare: stopwatch })`, then `pass(page)`. */
export const stopwatch = (page) => page.addInitScript(() => {
  let now = 1000;
  performance.now = () => now;
  window.pass = (ms) => { now += ms; };
});
/** So much time that a tap is not the second of a double tap. */
export const pass = (page) => page.evaluate(() => window.pass(400));

/** Retry, unless the page has just tried by itself. */
export const retry = (page) => page.evaluate(() => [...document.querySelectorAll('.notice-act')].find(({ textContent }) => textContent === 'Retry')?.click());
export const focused = (page, id) => page.waitForFunction((wanted) => document.activeElement?.id === wanted, id);
export const sent = (type) => fake.received.filter((message) => message.type === type);
export const received = async (type) => {
  await until(() => sent(type).length > 0);
  return sent(type);
};

export const ENTRIES = [sample.entry('owner', sample.ASKED, 300_000), sample.entry('silas', 'A plan waits for you in Review.', 1000)];
