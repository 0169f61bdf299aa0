// A phone in the network of the house, at the encrypted door of a real Silas: it loses its network in front of an open card,
// says so at once, and goes on in place. What a page does on the machine itself, which is never offline, is tested elsewhere.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, settle } from './browser.mjs';
import { PHONE, approve, card, composer, focusOn, look, openPage, pair, say, show, tree, troubleOf } from './owner.mjs';
import { ASKING, startSilas } from './real-server.mjs';

const NAME = 'silas.test';
const DOOR = {
  SILAS__CHANNELS__WEB__HOST: '0.0.0.0', SILAS__CHANNELS__WEB__AUTH_TOKEN: '0123456789abcdef0123456789abcdef',
  SILAS__CHANNELS__WEB__TLS__NAME: NAME, SILAS__CHANNELS__WEB__TLS__PORT: '0',
};

let browser;
before(async () => {
  browser = await launch([`--host-resolver-rules=MAP ${NAME} 127.0.0.1`]);
});
after(() => browser.close());

test('a phone goes offline in front of an open card and comes back to it', async () => {
  const silas = await startSilas(ASKING);
  // Trusting the authority is done in the settings of a phone, which this one has not.
  const context = await browser.newContext({ ...PHONE, ignoreHTTPSErrors: true });
  const page = await openPage(context);
  try {
    await silas.terminate();
    silas.command('tls', 'make', NAME);
    await silas.up({ ...ASKING, ...DOOR });
    const [address] = silas.command('pair').match(/https:\S+/);
    await pair(page, address);
    await say(page, silas.wish);
    await composer(page).fill('half a thou');
    await show(page, 'review');
    await card(page, /^Let plans work in/).waitFor();
    const original = tree(silas.repo);
    await settle(page);
    await page.locator('.dock .filled').click();
    await settle(page);

    await context.setOffline(true);
    await page.getByText('This device is offline.').waitFor();
    await page.getByText(/What you see is from (yesterday )?\d\d:\d\d\. Work on the machine goes on\./).waitFor();
    assert.ok(await page.getByRole('button', { name: 'Confirm' }).isDisabled());
    await look(page, 'offline-375');
    assert.equal(silas.count('decision_recorded'), 0);

    await context.setOffline(false);
    await page.locator('.confirm:enabled').waitFor();
    await focusOn(page, 'Confirm');
    await page.keyboard.press('Enter');
    await card(page, 'Run 1 command in tidepool').waitFor();
    await approve(page);
    await card(page, '1 file changed in tidepool').waitFor();
    assert.notDeepEqual(tree(silas.repo), original);
    assert.deepEqual(silas.counts('decision_recorded', 'work_applied'), [2, 1]);
    await show(page, 'stream');
    assert.equal(await composer(page).inputValue(), 'half a thou');
    assert.deepEqual(troubleOf(page), []);
  } finally {
    await context.close();
    await silas.stop();
  }
});
