// A browser that does not know Ed25519 yet: it gets a key of the kind that all of them know, and everything works with it. With
// a real Silas, in a real browser whose Ed25519 was taken away.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, settle } from './browser.mjs';
import { PHONE, approve, card, look, openPage, pair, say, show, troubleOf } from './owner.mjs';
import { ASKING, startSilas } from './real-server.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** As browsers answer that have never heard of it. */
const withoutEd25519 = () => {
  for (const verb of ['generateKey', 'importKey', 'sign', 'verify']) {
    const real = SubtleCrypto.prototype[verb];
    SubtleCrypto.prototype[verb] = function either(...given) {
      const isMeant = given.some((part) => part === 'Ed25519' || part?.name === 'Ed25519');
      return isMeant ? Promise.reject(new DOMException('Unrecognized name.', 'NotSupportedError')) : real.apply(this, given);
    };
  }
};

test('a browser without Ed25519 pairs, decides, and is known again after a reload', async () => {
  const silas = await startSilas(ASKING);
  const context = await browser.newContext(PHONE);
  await context.addInitScript(withoutEd25519);
  const page = await openPage(context);
  const kinds = () => page.evaluate(async () => (await (await import('/lib/keys.js')).devices()).map(({ alg, pair: { privateKey } }) => [alg, privateKey.algorithm.name, privateKey.extractable]));
  try {
    await pair(page, silas.url);
    assert.deepEqual(await kinds(), [['es256', 'ECDSA', false]]);
    await say(page, silas.wish);
    await show(page, 'review');
    await card(page, /^Let plans work in/).waitFor();
    await look(page, 'older-browser-375-light');
    await approve(page);
    await card(page, 'Run 1 command in tidepool').waitFor();

    await page.reload();
    await card(page, 'Run 1 command in tidepool').waitFor();
    assert.deepEqual(await kinds(), [['es256', 'ECDSA', false]]);
    await settle(page);
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.getByText('Nothing to decide').waitFor();
    assert.match(silas.command('audit', 'verify'), /unbroken|verified|holds/i);
    assert.equal(silas.command('device', 'list').match(/Chromium on Linux/g)?.length, 1);
    assert.deepEqual(troubleOf(page), []);
  } finally {
    await context.close();
    await silas.stop();
  }
});
