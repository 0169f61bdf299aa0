// The owner in front of a real Silas: a browser that they paired, what they press in it, and what they find in their files
// afterwards. What a test makes of that is its own.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { objections, settle, shot, sideways, smallTargets, unnamed, weakTexts } from './browser.mjs';
import { PATIENCE_MS } from './real-server.mjs';

export const PHONE = { viewport: { width: 375, height: 812 }, hasTouch: true, deviceScaleFactor: 2 };
export const DESK = { viewport: { width: 1280, height: 800 } };

/** Every file under a directory with its content; what Silas keeps for the undo is not the owner's. */
export function tree(root, directory = root) {
  return Object.fromEntries(readdirSync(directory).filter((name) => !name.startsWith('.silas-')).sort().flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? Object.entries(tree(root, path)) : [[relative(root, path), readFileSync(path, 'utf8')]];
  }));
}

/** Waits for what can be seen outside the page. */
export async function eventually(what, holds) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end;) {
    if (await holds()) return;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  assert.fail(`${what} did not happen`);
}

/** Later steps need earlier ones, so a story is one test; this says how far it came. */
export const step = (what) => console.log(`- ${what}`);

/** What each page threw, or its policy blocked. */
const troubles = new WeakMap();
export const troubleOf = (page) => troubles.get(page);

/** A page of this context whose troubles are written down. */
export async function openPage(context) {
  const page = await context.newPage();
  const trouble = [];
  troubles.set(page, trouble);
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('pageerror', (error) => trouble.push(String(error)));
  page.on('console', (message) => /Content Security Policy|Refused to/.test(message.text()) && trouble.push(message.text()));
  return page;
}

/** Each stop is looked at: by the rules of the page, and by people. */
export async function look(page, name) {
  await shot(page, name);
  assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
  assert.deepEqual(await weakTexts(page), [], name);
  assert.deepEqual(await smallTargets(page), [], name);
  assert.deepEqual(await unnamed(page), [], name);
  assert.deepEqual(await objections(page), [], name);
  assert.deepEqual(troubleOf(page), [], name);
}

export const card = (page, intent) => page.locator('.card', { has: page.getByRole('heading', { name: intent }) });
export const tab = (page, name) => page.getByRole('navigation', { name: 'Surfaces' }).getByRole('link', { name });

/** A medium decision: press, read the consequence, confirm. */
export async function approve(page) {
  await settle(page);
  await page.locator('.dock .filled').click();
  // What stays in a private copy takes one tap, and then there may be no dock any more.
  const confirm = page.getByRole('button', { name: 'Confirm' });
  await page.waitForTimeout(400);
  if (await confirm.count()) await confirm.click();
}

/** Opens an address that was printed, and pairs. */
export async function pair(page, url) {
  await page.goto(url);
  await page.locator('.pair-dock .filled').click();
  await page.locator('.ambient', { hasText: /quiet|running|active|review|Waiting for/ }).waitFor();
}

export const show = (page, surface) => page.evaluate((hash) => { location.hash = hash; }, surface);
export const composer = (page) => page.getByRole('textbox', { name: 'Ask or tell Silas something' });

export async function say(page, text) {
  await show(page, 'stream');
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

/** Pairs, asks for what this Silas wishes, and allows the directory; then the plan waits in Review. */
export async function untilThePlan(page, silas) {
  await pair(page, silas.url);
  await say(page, silas.wish);
  await show(page, 'review');
  await card(page, /^Let plans work in/).waitFor();
  await approve(page);
  await card(page, 'Run 1 command in tidepool').waitFor();
}

/** The page has noticed that nobody is there. */
export const lost = (page) => page.getByText('Silas is not answering.').waitFor();

/** Silas is stopped and started again, and the page with it. */
export async function restarted(page, silas, settings) {
  await silas.terminate();
  await lost(page);
  await silas.up(settings);
  await connected(page);
}

/** Retry, unless the page has just tried by itself; then waits until the page is connected. */
export async function connected(page) {
  await page.evaluate(() => [...document.querySelectorAll('.notice-act')].find(({ textContent }) => textContent === 'Retry')?.click());
  await page.locator('.ambient', { hasText: /quiet|running|active|review|Waiting for/ }).waitFor();
}

/** Waits until what says this has focus. */
export const focusOn = (page, label) => page.waitForFunction((wanted) => document.activeElement?.textContent === wanted, label);

/** How many things somebody may have to step through. */
const TABS_MAX = 120;

/** Steps on with Tab until it has focus, as somebody without a mouse would. */
export async function reach(page, locator) {
  await locator.waitFor();
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    if (await locator.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`${locator} cannot be reached with the Tab key`);
}
