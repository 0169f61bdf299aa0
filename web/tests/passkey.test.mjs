// A passkey against the real server: made by Chromium's own authenticator for tests, certified by the launcher, and
// then the one key that the engine and the launcher accept for what cannot be undone.

import assert from 'node:assert/strict';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, objections, settle, shot, sideways, weakTexts } from './browser.mjs';
import { DESK, PHONE } from './owner.mjs';
import { PATIENCE_MS, counted, startSilas } from './real-server.mjs';

let browser;
let host;

before(async () => {
  browser = await launch();
  host = createServer((socket) => socket.on('error', () => {}).end('taken\n'));
  await new Promise((resolve) => host.listen(0, '127.0.0.1', resolve));
});
after(async () => {
  await browser?.close();
  host?.close();
});

/** A plan that carries a secret to a host. */
function submit(silas, id) {
  const { port } = host.address();
  const file = join(silas.place, `${id}.md`);
  writeFileSync(join(silas.repo, 'taken.sh'), counted('grep -q taken sent.txt'));
  const run = `bash -c 'silas-secret get mail > /dev/null && exec 3<>/dev/tcp/127.0.0.1/${port} && head -n 1 <&3' > sent.txt`;
  writeFileSync(file, `---\nid: ${id}\ntitle: Send it\ntype: task\nchanges: [sent.txt]\nsteps:\n  - run: "${run}"\nverify:\n  - name: it was taken\n    run: sh taken.sh\n    expect: { exit_code: 0 }\nsandbox:\n  directories:\n    - { path: ${realpathSync(silas.repo)}, access: write }\n  hosts: ["127.0.0.1:${port}"]\n  secrets: [mail]\n---\nSend it.\n`);
  silas.command('plan', 'submit', file);
}

const card = (page, intent) => page.locator('.card', { has: page.getByRole('heading', { name: intent }) });

/** Press, then the whole slide by its keys. */
async function slide(page, press) {
  await settle(page);
  await press(page.locator('.dock .filled'));
  await settle(page);
  await page.getByRole('slider').press('End');
  await page.getByRole('slider').press('Enter');
}

async function look(page, name) {
  await shot(page, `passkey-real-${name}`);
  assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
  assert.deepEqual(await weakTexts(page), [], name);
  assert.deepEqual(await objections(page), [], name);
}

for (const [size, options] of [['375', PHONE], ['1280', DESK]]) {
  test(`a passkey decides what cannot be undone, and nothing else does, at ${size} px`, async () => {
    const silas = await startSilas();
    const page = await (await browser.newContext(options)).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const press = (locator) => (options.hasTouch ? locator.tap() : locator.click());
    try {
      await page.goto(silas.url);
      await press(page.getByRole('button', { name: 'Pair this browser' }));
      await page.getByText('Nothing happens without you.').waitFor();
      const cdp = await page.context().newCDPSession(page);
      await cdp.send('WebAuthn.enable');
      await cdp.send('WebAuthn.addVirtualAuthenticator', { options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } });
      silas.command('secret', 'set', 'mail', { input: 'a secret value' });

      await page.keyboard.press('?');
      // Nothing that cannot be undone has come yet, so it is not offered by itself.
      await press(page.getByRole('button', { name: 'Show everything' }));
      await press(page.getByRole('button', { name: 'Add a passkey' }));
      await card(page, 'Sign what cannot be undone with a passkey').waitFor();
      await look(page, `${size}-1-card`);
      await slide(page, press);
      await card(page, 'Sign what cannot be undone with a passkey').waitFor({ state: 'detached' });
      assert.match(silas.command('device', 'list'), /Passkey of Chromium on .*\(passkey, for what cannot be undone/);

      submit(silas, 'task-send');
      await card(page, /^Let plans work in/).waitFor();
      await settle(page);
      await press(page.locator('.dock .filled'));
      await settle(page);
      await press(page.getByRole('button', { name: 'Confirm' }));
      await card(page, 'Run 1 command in tidepool').locator('.badge-irreversible').waitFor();
      await look(page, `${size}-2-irreversible`);
      // The terminal is not enough any more.
      assert.throws(() => silas.command('approve'), (refused) => /decided with your passkey/.test(`${refused.stdout}${refused.stderr}`));
      await slide(page, press);
      const sheet = page.getByRole('dialog', { name: 'Sign for good' });
      await sheet.getByText('Your passkey signs exactly this and nothing else.').waitFor();
      await look(page, `${size}-3-sheet`);
      await page.waitForTimeout(400);
      await press(sheet.getByRole('button', { name: 'Sign with the passkey' }));
      await card(page, /changed in/).waitFor();
      assert.equal(readFileSync(join(silas.repo, 'sent.txt'), 'utf8'), 'taken\n');
      assert.match(silas.command('audit', 'verify'), /unbroken|verified|holds/i);

      await page.evaluate(() => { location.hash = 'activity'; });
      await press(page.getByRole('tab', { name: 'What is allowed' }));
      const block = page.locator('.grant', { hasText: 'On pages of localhost it signs what cannot be undone' });
      await block.waitFor();
      await look(page, `${size}-4-allowed`);
      await press(block.getByRole('button', { name: /^Revoke/ }));
      await press(block.locator('.filled'));
      await block.waitFor({ state: 'detached' });
      assert.match(silas.command('device', 'list'), /passkey, for what cannot be undone.*revoked/);
    } finally {
      await page.context().close();
      await silas.stop();
    }
  });
}
