// What cannot be undone, in a real browser: three steps, and a passkey once there is one. That the server asks for it too
// is tested with the real one.

import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import { canonical } from '../lib/canonical.js';
import { objections, settle, shot, weakTexts } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { fake, open, received, sent, until } from './stage.mjs';

test('what cannot be undone takes a tap, the slide and a last question; without a passkey this browser signs', async (t) => {
  const card = sample.irreversibleCard();
  const page = await open(t, { cards: [card] });
  await settle(page);
  await page.getByRole('button', { name: 'Send to github.com' }).click();
  await page.getByRole('list', { name: 'Step 2 of 3' }).waitFor();
  await settle(page);
  await shot(page, 'irreversible-slide-375-light');
  await page.getByRole('slider').focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  const sheet = page.getByRole('dialog', { name: 'Sign for good' });
  await sheet.getByText('Cannot be undone, not even by Silas').waitFor();
  await sheet.getByRole('heading', { name: 'Send to github.com?' }).waitFor();
  await sheet.getByText('Reaches github.com with the secret github. What is sent stays sent.').waitFor();
  await sheet.getByText('There is no passkey yet').waitFor();
  assert.equal(await sheet.locator('.rung-now').innerText(), '3 Sign', 'no step is called after what is not there');
  await shot(page, 'irreversible-sheet-375-light');
  assert.deepEqual(await objections(page), []);
  assert.deepEqual(await weakTexts(page), []);
  assert.equal(sent('approval_response').length, 0, 'nothing is signed before the last step');
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  await settle(page);
  await page.getByRole('button', { name: 'Send to github.com' }).click();
  await settle(page);
  await page.getByRole('slider').press('End');
  await page.getByRole('slider').press('Enter');
  await page.waitForTimeout(400);
  await page.getByRole('button', { name: 'Sign with this browser' }).click();
  const [{ token }] = await received('approval_response');
  assert.equal(token.body.verdict, 'approved');
  assert.equal(token.signature.alg, 'ed25519');
});

test('a no to what cannot be undone is one tap', async (t) => {
  const page = await open(t, { cards: [sample.irreversibleCard()] });
  await settle(page);
  assert.deepEqual(await page.locator('.dock-row button').allInnerTexts(), ['Ask for a change', 'Send nothing'], 'the way between runs nothing, and the no says what stays');
  await page.getByRole('button', { name: 'Send nothing' }).click();
  assert.equal((await received('approval_response'))[0].token.body.verdict, 'declined');
});

/** Chromium's own authenticator for tests: it says yes when it is asked, and verifies the person. */
async function authenticator(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options });
  return { cdp, authenticatorId };
}

test('a passkey is made here, asked for in a card, and from then on signs what cannot be undone', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  const { cdp, authenticatorId } = await authenticator(page);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Show everything' }).click();
  await page.getByText('Let what cannot be undone ask for your finger, face or PIN.').waitFor();
  await shot(page, 'more-375-light');
  assert.deepEqual(await objections(page), []);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  const [{ name, public: key, site }] = await received('passkey_add');
  assert.equal(site.rp_id, 'localhost');
  assert.equal(Buffer.from(key, 'base64url').length, 65);
  assert.match(name, /^Passkey of Chromium on /);
  const asked = sample.passkeyCard({ name, public: key, site });
  fake.cards([asked]);
  fake.tell({ type: 'asked', card: asked });
  await page.locator(`[id="${asked.id}-intent"]`).waitFor();
  await settle(page);
  await page.getByRole('button', { name: 'Register this passkey' }).click();
  await settle(page);
  await page.getByRole('slider').press('End');
  await page.getByRole('slider').press('Enter');
  assert.equal((await received('approval_response'))[0].token.signature.alg, 'ed25519', 'the first one needs none');

  const id = `key-${sample.sha256(Buffer.from(key, 'base64url')).slice(0, 32)}`;
  const passkey = { key: id, name, kind: 'passkey', since: sample.at(Date.now()), is_revoked: false, n_grants: 0, site };
  fake.shown = { ...fake.shown, devices: [...sample.DEVICES, passkey] };
  fake.tell({ type: 'activity', activity: fake.shown.activity, grants: fake.shown.grants, n_more_grants: 0, devices: fake.shown.devices });
  const card = sample.irreversibleCard();
  fake.cards([card]);
  await page.locator(`[id="${card.id}-intent"]`).waitFor();
  const slide = async () => {
    await settle(page);
    await page.getByRole('button', { name: 'Send to github.com' }).click();
    await settle(page);
    await page.getByRole('slider').press('End');
    await page.getByRole('slider').press('Enter');
    await page.getByText('Your passkey signs exactly this and nothing else.').waitFor();
    await page.waitForTimeout(400);
  };
  await slide();
  assert.equal(await page.locator('dialog .rung-now').innerText(), '3 Passkey');
  await shot(page, 'passkey-sheet-375-light');
  assert.equal(await page.getByRole('button', { name: 'Sign with this browser' }).count(), 0, 'no way around it');

  // Whoever holds the phone is not its owner: the authenticator says so, and nothing is sent.
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
  await page.getByRole('button', { name: 'Sign with the passkey' }).click();
  await page.getByText('The passkey was not used. Nothing was signed.').waitFor();
  assert.equal(sent('approval_response').length, 1);
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
  await slide();
  await page.getByRole('button', { name: 'Sign with the passkey' }).click();
  await until(() => sent('approval_response').length === 2);
  const { token } = sent('approval_response')[1];
  assert.equal(token.signature.alg, 'webauthn-es256');
  assert.equal(token.body.key, id);
  const [data, client, signature] = token.signature.sig.split('.').map((part) => Buffer.from(part, 'base64url'));
  assert.equal(data.length, 37);
  assert.equal(data[32] & 0x05, 0x05, 'present and verified');
  const said = JSON.parse(client);
  assert.equal(said.challenge, createHash('sha256').update(canonical(token.body)).digest('base64url'), 'the challenge is the hash of what is signed');
  const point = Buffer.from(key, 'base64url');
  const jwk = { kty: 'EC', crv: 'P-256', x: point.subarray(1, 33).toString('base64url'), y: point.subarray(33).toString('base64url') };
  const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
  assert.ok(verify('sha256', signed, createPublicKey({ key: jwk, format: 'jwk' }), signature));

  await page.evaluate(() => { location.hash = 'activity'; });
  await page.getByRole('tab', { name: 'What is allowed' }).click();
  const block = page.locator('.grant', { hasText: 'On pages of localhost it signs what cannot be undone' });
  await block.getByRole('button', { name: /^Revoke/ }).click();
  await block.locator('.filled').click();
  assert.equal((await received('withdraw'))[0].withdrawal.signature.alg, 'webauthn-es256', 'a passkey signs its own end');
});

test('a passkey of another address signs nothing here, and the page says where', async (t) => {
  const passkey = { key: 'key-other', name: 'Passkey', kind: 'passkey', since: sample.at(Date.now()), is_revoked: false, n_grants: 0, site: { rp_id: 'silas.home.arpa', credential: 'AAEC' } };
  const page = await open(t, { cards: [sample.irreversibleCard()], devices: [...sample.DEVICES, passkey] });
  await settle(page);
  await page.getByRole('button', { name: 'Send to github.com' }).click();
  await settle(page);
  await page.getByRole('slider').press('End');
  await page.getByRole('slider').press('Enter');
  const sheet = page.getByRole('dialog', { name: 'Sign for good' });
  await sheet.getByText('Your passkey counts on pages of silas.home.arpa.').waitFor();
  assert.equal(await sheet.locator('.filled').count(), 0);
  assert.equal(sent('approval_response').length, 0);
});
