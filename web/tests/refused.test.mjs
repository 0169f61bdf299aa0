// A decision that Silas refuses, or that never reaches it, in a real browser: the card says so while it is there, and a notice
// above everything when it is not. No answer is lost without a word, and none is taken for another.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle, shot } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, fake, open, received, retry, sent, until } from './stage.mjs';

const WHY = 'Plans may not work in `tidepool` any more.';
const refuse = (card) => fake.tell({ type: 'decided', request_id: card.id, recorded: false, message: WHY });
const notice = (page, text) => page.locator('.notice[role=alert]').filter({ hasText: text });

/** Everything that was told before has been seen once this was. */
async function caughtUp(page) {
  fake.seq += 1;
  const { seq } = fake;
  fake.tell({ type: 'message', seq, entry: sample.entry('silas', `Entry ${seq}.`, 0) });
  await until(() => fake.acks.includes(seq));
  await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
}

/** A card whose answer is on its way and stays there. */
async function pressed(t, card) {
  const page = await open(t, { entries: ENTRIES, cards: [card] });
  await settle(page);
  fake.silent = true;
  await page.locator('.dock .filled').click();
  await received('approval_response');
  fake.silent = false;
  return page;
}

async function comeBack(page) {
  const n = fake.acks.length;
  await until(async () => {
    await retry(page);
    return fake.acks.length > n;
  });
}

test('a refused decision says why and can be taken again', async (t) => {
  const page = await open(t, { cards: [sample.lowCard()] });
  await settle(page);
  fake.shown = { ...fake.shown, cards: [] };
  await page.locator('.dock .filled').click();
  await page.locator('.dock').getByText('This card is not open any more.').waitFor();
  await page.locator('.dock .filled:enabled').waitFor();
});

for (const [what, inOrder] of [
  ['after the card left', ['leave', 'refuse']], ['before the card leaves', ['refuse', 'leave']],
]) {
  test(`a refusal that comes ${what} stands above everything until it is closed, also over a new connection`, async (t) => {
    const card = sample.rehearsedCard();
    const page = await open(t, { entries: ENTRIES, cards: [card] });
    await settle(page);
    fake.silent = true;
    await page.getByRole('button', { name: 'Apply 2 files', exact: true }).click();
    await received('approval_response');
    fake.silent = false;
    const does = {
      leave: () => fake.cards([]),
      refuse: () => fake.tell({ type: 'decided', request_id: card.id, recorded: false, message: 'Plans may not work in `tidepool` any more.' }),
    };
    for (const one of inOrder) does[one]();
    await page.locator('.card').waitFor({ state: 'detached' });
    const notice = page.getByRole('alert').filter({ hasText: 'Plans may not work in tidepool any more. Your answer was not recorded' });
    await notice.waitFor();
    await shot(page, `refused-${inOrder.join('-')}-375-light`);
    assert.match(await notice.innerText(), /its card is gone\. If you still want it, say it again/);
    const n = fake.acks.length;
    fake.drop();
    await until(async () => {
      await retry(page);
      return fake.acks.length > n;
    });
    await notice.waitFor();
    await notice.getByRole('button', { name: 'Close' }).click();
    await notice.waitFor({ state: 'detached' });
  });
}

test('a card that asks anew after a refusal says so, and can be decided again', async (t) => {
  const card = sample.lowCard();
  const page = await pressed(t, card);
  refuse(card);
  await page.locator('.dock').getByText('Plans may not work in tidepool any more.').waitFor();
  assert.equal(await page.locator('.notice[role=alert]').count(), 0, 'the card itself says it');
  const again = { ...card, offer: { ...card.offer, nonce: sample.lowCard().offer.nonce } };
  assert.notEqual(again.offer.nonce, card.offer.nonce);
  fake.cards([again]);
  await notice(page, 'Plans may not work in tidepool any more. Your answer was not recorded, and its card asks anew. Decide again.').waitFor();
  await shot(page, 'refused-anew-375-light');
  assert.equal(await page.locator('.dock-failed').count(), 0, 'this offer was not refused');
  await settle(page);
  await page.locator('.dock .filled:enabled').click();
  await until(() => sent('approval_response').length === 2);
  assert.equal(sent('approval_response')[1].token.body.offer.nonce, again.offer.nonce);
});

test('a refusal of an answer that this page knows nothing of is told if its card is gone, and only then', async (t) => {
  const card = sample.lowCard();
  const page = await open(t, { entries: ENTRIES, cards: [card] });
  await settle(page);
  refuse(card);
  await caughtUp(page);
  assert.equal(await page.locator('.notice[role=alert]').count(), 0, 'whoever decided elsewhere is told there');
  await page.locator('.dock .filled:enabled').waitFor();
  refuse({ id: 'card-gone' });
  await notice(page, 'its card is gone. If you still want it, say it again in the Stream.').waitFor();
  await page.locator('.dock .filled:enabled').waitFor();
});

test('an answer that was not taken is said on its card, with the code above, and can be given again', async (t) => {
  const card = sample.lowCard();
  const page = await pressed(t, card);
  assert.ok(await page.locator('.dock .filled').isDisabled());
  fake.tell({ type: 'error', code: 'E_CHANNEL_BUSY', message: 'Too many messages. Nothing was changed.', todo: 'Wait a moment.' });
  await page.locator('.dock-failed').getByText('Too many messages. Nothing was changed.').waitFor();
  assert.match(await notice(page, 'Too many messages.').innerText(), /Wait a moment\.\s*E_CHANNEL_BUSY/);
  await settle(page);
  await page.locator('.dock .filled:enabled').click();
  await until(() => sent('approval_response').length === 2);
});

test('what goes wrong with something else frees no answer that is on its way, and goes with the connection', async (t) => {
  const card = sample.lowCard();
  const page = await pressed(t, card);
  fake.tell({ type: 'error', code: 'E_WORK_UNKNOWN', message: 'There is no such work.', todo: 'Look at the list.' });
  await notice(page, 'There is no such work.').waitFor();
  assert.ok(await page.locator('.dock .filled').isDisabled(), 'its answer may still come');
  assert.equal(await page.locator('.dock-failed').count(), 0);
  fake.drop();
  await comeBack(page);
  await notice(page, 'There is no such work.').waitFor({ state: 'detached' });
  await page.locator('.dock-failed').getByText('Silas did not get your answer. Nothing was done. Decide again.').waitFor();
});

test('an answer that could not be sent outlives a card that left while it was signed', async (t) => {
  const card = sample.lowCard();
  const page = await open(t, { entries: ENTRIES, cards: [card] });
  await settle(page);
  // A key in hardware takes its time, and so does this one.
  await page.evaluate(() => {
    const sign = crypto.subtle.sign.bind(crypto.subtle);
    window.signing = new Promise((began) => {
      crypto.subtle.sign = (...all) => {
        crypto.subtle.sign = sign;
        began();
        return new Promise((resolve) => { window.finish = () => resolve(sign(...all)); });
      };
    });
  });
  await page.locator('.dock .filled').click();
  await page.evaluate(() => window.signing);
  fake.cards([]);
  await page.locator('.card').waitFor({ state: 'detached' });
  fake.refuse = true;
  fake.drop();
  await page.getByText('Silas is not answering.').waitFor();
  await page.evaluate(() => window.finish());
  fake.refuse = false;
  await comeBack(page);
  await notice(page, 'The connection broke. Nothing was sent. Your answer was not recorded, and its card is gone.').waitFor();
  assert.equal(sent('approval_response').length, 0);
  await notice(page, 'Nothing was sent.').getByRole('button', { name: 'Close' }).click();
  await notice(page, 'Nothing was sent.').waitFor({ state: 'detached' });
});
