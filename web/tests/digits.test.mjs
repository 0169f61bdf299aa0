// What an unpaired browser shows, and that its digits are those of the key that is paired: on a stage, and with the real
// Silas and its terminal.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { digits } from '../lib/keys.js';
import { launch, objections, shot, sideways, smallTargets, weakTexts } from './browser.mjs';
import { CODE, startFake } from './fake-server.mjs';
import { startSilas } from './real-server.mjs';
import { INSTALLATION } from './sample-cards.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

async function unpaired(t, url, viewport = { width: 375, height: 812 }) {
  const context = await browser.newContext({ viewport, serviceWorkers: 'block' });
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  await page.getByRole('button', { name: 'Pair this browser' }).waitFor();
  return page;
}

const shown = (page) => page.locator('.pair-digits b').textContent();

test('the digits are those that Rust computes of the same key', async () => {
  // The other half is in crates/silas-core/src/device/tests.rs.
  assert.equal(await digits({ installation: 'inst-1', public: '6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw' }), '737 446');
});

test('an unpaired page has the card with its digits and two buttons, and nothing else of the page', async (t) => {
  const fake = await startFake();
  t.after(fake.close);
  const page = await unpaired(t, `${fake.url}#pair=${CODE}`);
  assert.match(await shown(page), /^\d{3} \d{3}$/);
  assert.deepEqual(await page.getByRole('button').allTextContents(), ['Pair this browser', 'Not now']);
  for (const other of ['nav', 'header', 'textarea', 'dialog', '.frame', 'a[href]']) assert.equal(await page.locator(other).count(), 0, other);
  assert.deepEqual(await sideways(page), { by: 0, elements: [] });
  for (const wrong of [smallTargets, weakTexts, objections]) assert.deepEqual(await wrong(page), []);
  await shot(page, 'pair-digits-375-light');
});

test('what is paired is the key whose digits were shown; a reload makes another key with others', async (t) => {
  const fake = await startFake();
  t.after(fake.close);
  const page = await unpaired(t, `${fake.url}#pair=${CODE}`);
  const first = await shown(page);
  // The address has no code any more: it is opened again as it was printed.
  await page.goto('about:blank');
  await page.goto(`${fake.url}#pair=${CODE}`);
  await page.getByRole('button', { name: 'Pair this browser' }).click({ trial: true });
  const second = await shown(page);
  assert.notEqual(second, first);
  await page.getByRole('button', { name: 'Pair this browser' }).click();
  await page.locator('.frame').waitFor();
  const [paired] = [...fake.devices.values()];
  assert.equal(await digits({ installation: INSTALLATION, public: paired.public }), second);
});

test('the terminal shows the digits of the page: where Silas runs, where it was asked for an address, and in the list', async (t) => {
  const silas = await startSilas();
  t.after(silas.stop);
  const page = await unpaired(t, silas.url);
  const first = await shown(page);
  await page.getByRole('button', { name: 'Pair this browser' }).click();
  await page.getByText('Nothing happens without you.').waitFor();
  for (let tries = 0; !silas.log.join('').includes(`with the digits ${first}`); tries += 1) {
    assert.ok(tries < 3000, silas.log.join(''));
    await page.waitForTimeout(10);
  }
  assert.ok(silas.command('device', 'list').includes(`paired with ${first}`));

  const asking = spawn(silas.binary, ['--data-dir', `${silas.place}/data`, 'pair', '--wait'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  asking.stdout.on('data', (chunk) => { printed += chunk; });
  const ended = new Promise((resolve) => { asking.once('close', resolve); });
  for (let tries = 0; !/Waiting/.test(printed); tries += 1) {
    assert.ok(tries < 3000, printed);
    await page.waitForTimeout(10);
  }
  const phone = await unpaired(t, printed.match(/http:\/\/localhost:\d+\/#pair=\S+/)[0]);
  const second = await shown(phone);
  assert.notEqual(second, first);
  await phone.getByRole('button', { name: 'Pair this browser' }).click();
  assert.equal(await ended, 0, printed);
  assert.ok(printed.includes(`with the digits ${second}`) && /`silas device revoke [a-z]{5}`/.test(printed), printed);

  // And on the page itself, beside the device.
  await page.evaluate(() => { location.hash = 'activity'; });
  await page.getByRole('button', { name: 'What is allowed' }).or(page.getByRole('tab', { name: 'What is allowed' })).first().click();
  await page.getByText(`digits ${second}`).waitFor();
  await shot(page, 'devices-digits');

  // Whoever saw other digits does as they were told.
  silas.command(...printed.match(/`silas (device revoke \w+)`/)[1].split(' '));
  await phone.getByText('Silas does not know this browser any more.').waitFor();
  await page.locator('.frame').waitFor();
});
