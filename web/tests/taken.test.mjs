// Somebody else's program held the port while Silas was away, and left what it could in the browser: a service worker, and
// files that may be kept for a year. What the browser then shows, in a real Chromium and with a real Silas. And the file that
// leads a browser to the page at the start.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch } from './browser.mjs';
import { PATIENCE_MS, startSilas } from './real-server.mjs';

const THEIRS = '<!doctype html><title>theirs</title><script>navigator.serviceWorker.register("/deep/theirs.js", { scope: "/" })</script>';
const WORKER = `
  addEventListener('install', () => skipWaiting());
  addEventListener('activate', (event) => event.waitUntil(clients.claim()));
  addEventListener('fetch', (event) => {
    if (event.request.mode === 'navigate') event.respondWith(new Response('<title>still theirs</title>', { headers: { 'content-type': 'text/html' } }));
  });`;

let browser;
let silas;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await silas?.stop();
});

/** @returns {Promise<import('node:http').Server>} */
function serveTheirs() {
  return new Promise((resolve) => {
    const server = createServer((request, response) => {
      const isPage = request.url === '/';
      response.setHeader('content-type', isPage ? 'text/html' : 'text/javascript');
      response.setHeader('service-worker-allowed', '/');
      // What a page of Silas's would load later.
      if (!isPage && !request.headers['service-worker']) response.setHeader('cache-control', 'max-age=31536000, immutable');
      response.end(isPage ? THEIRS : WORKER);
    });
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

test('what was left in the browser while the port was theirs is gone after one visit', async () => {
  const theirs = await serveTheirs();
  const { port } = /** @type {import('node:net').AddressInfo} */ (theirs.address());
  const context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await page.goto(`http://localhost:${port}/`);
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
  await page.evaluate(() => fetch('/app.js'));
  await page.addInitScript(() => {
    /** @type {any} */ (window).workersChanged = 0;
    navigator.serviceWorker?.addEventListener('controllerchange', () => { /** @type {any} */ (window).workersChanged += 1; });
  });
  theirs.closeAllConnections();
  await new Promise((resolve) => { theirs.close(resolve); });

  silas = await startSilas({}, port);
  await page.goto(`http://localhost:${port}/`);
  // As SECURITY.md says: this one is lost.
  assert.equal(await page.title(), 'still theirs');
  // The browser looks for a newer version of the worker by itself once the page is at rest, and what it finds takes over.
  await page.waitForFunction(() => /** @type {any} */ (window).workersChanged > 0);
  await page.goto(`http://localhost:${port}/`);
  assert.equal(await page.title(), 'Silas');
  // The page is whole, so none of its files was theirs either.
  await page.locator('.pair-title').waitFor();
  assert.ok(silas.log.join('').includes("a service worker for this address that is not Silas's"), silas.log.join(''));
  await context.close();
});

test('a file that only the owner can read leads to the page with the code, which leaves the address', async () => {
  silas ??= await startSilas();
  const file = join(silas.place, 'open.html');
  const address = silas.command('pair').match(/http:\/\/localhost:\d+\/#pair=\S+/)[0];
  writeFileSync(file, `<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url=${address}">\n<title>Silas</title>\n`, { mode: 0o600 });
  const context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await page.goto(`file://${file}`);
  await page.waitForURL((url) => url.protocol === 'http:');
  rmSync(file);
  await page.locator('.pair-dock .filled').click();
  await page.locator('.frame').waitFor();
  assert.ok(!page.url().includes('pair='));
  await context.close();
});
