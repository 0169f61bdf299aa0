// The lines above a card that ask for care: decisions that were too quick, and a queue in which much needs to be read. They
// can be ignored and hold up nothing. In a real browser; pictures go to shots/.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { canonical } from '../lib/canonical.js';
import { cameUp, decided } from '../lib/pace.js';
import { objections, shot, sideways, smallTargets, unnamed, weakTexts } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, fake, open, pass, sent, stopwatch, until } from './stage.mjs';

const intent = (page, card) => page.locator(`[id="${card.id}-intent"]`);

const fits = async (page, what) => {
  assert.deepEqual(await sideways(page), { by: 0, elements: [] }, what);
  assert.deepEqual(await weakTexts(page), [], what);
  assert.deepEqual(await smallTargets(page), [], what);
  assert.deepEqual(await unnamed(page), [], what);
  assert.deepEqual(await objections(page), [], what);
};

test('five quick decisions are remarked upon above the next, and hold up nothing', async (t) => {
  const cards = Array.from({ length: 5 }, () => sample.rootCard());
  const payload = JSON.parse(sample.planCard().payload);
  payload.sandbox.hosts = ['tides.example:443'];
  const text = canonical(payload);
  const made = sample.planCard();
  const last = { ...made, payload: text, offer: { ...made.offer, plan_hash: sample.sha256(text) }, show_first: undefined };
  delete last.show_first;
  const page = await open(t, { entries: ENTRIES, cards: [...cards, last] }, { prepare: stopwatch });
  for (const [n, card] of cards.entries()) {
    // What was quick before a reload was quick.
    if (n === 3) {
      await page.waitForFunction(async () => (await (await import('/lib/database.js')).all('choices')).some(({ name, times }) => name === 'pace' && times.length === 3));
      await page.reload();
    }
    await intent(page, card).waitFor();
    await page.locator('.dock .filled:enabled').waitFor();
    await pass(page);
    await page.locator('.dock .filled').click();
    await page.getByRole('button', { name: 'Confirm' }).waitFor();
    await pass(page);
    await page.getByRole('button', { name: 'Confirm' }).click();
    await until(() => sent('approval_response').some(({ request_id }) => request_id === card.id));
  }
  const remark = page.getByText('Most of the last five took less than a second. The next one sends something.');
  await remark.waitFor();
  await page.locator('.dock .filled:enabled').waitFor();
  await page.reload();
  await remark.waitFor();
  // Five times and when, and nothing of what was decided; after a night it counts no more.
  const kept = await page.evaluate(async () => {
    const { all, put } = await import('/lib/database.js');
    const found = (await all('choices')).find(({ name }) => name === 'pace');
    await put('choices', { ...found, times: found.times.map(({ ms, at }) => ({ ms, at: at - 9 * 3_600_000 })) });
    return found.times.map((took) => ({ ...took, at: typeof took.at }));
  });
  assert.deepEqual(kept, Array(5).fill({ ms: 800, at: 'number' }));
  await page.reload();
  await intent(page, last).waitFor();
  await page.waitForFunction(async () => (await import('/lib/store.js')).state.loaded);
  await page.locator('.dock .filled:enabled').waitFor();
  assert.equal(await remark.count(), 0);
});

test('more than five decisions that need care are said to keep; low ones, parked ones and what is to be entered do not count', async (t) => {
  const plans = (n, options) => Array.from({ length: n }, () => sample.planCard(options));
  const page = await open(t, { entries: ENTRIES, cards: [sample.lowCard(), sample.planCard()] });
  const line = page.locator('.review .notice-inside');
  const shows = async (cards) => {
    fake.cards(cards);
    await page.locator('.ambient', { hasText: `${cards.length} need review` }).waitFor();
    return (await line.allInnerTexts()).map((words) => words.trim());
  };
  const calm = [...Array.from({ length: 4 }, () => sample.lowCard()), ...plans(3, { state: 'parked' }), sample.secretCard(), sample.choiceCard()];
  assert.deepEqual(await shows([...calm, ...plans(5)]), [], 'fourteen wait, five of them with care');
  const words = 'of these need care. They keep until you are ready. None of them runs before you decide.';
  assert.deepEqual(await shows([...calm, ...plans(5), sample.highCard()]), [`6 ${words}`]);
  assert.deepEqual(await shows([sample.lowCard(), ...plans(4), sample.highCard(), sample.irreversibleCard(), sample.rootCard()]), [`7 ${words}`]);
  await page.locator('.dock .filled:enabled').waitFor();
  for (const width of [375, 1280]) {
    await page.setViewportSize({ width, height: 812 });
    await shot(page, `care-${width}-light`);
    await fits(page, `care at ${width}`);
  }
  assert.deepEqual(await shows([...plans(5), sample.lowCard()]), []);
});

test('what bears on the decision comes before what can be asked any day: a card was missed, and six need care', async (t) => {
  const missed = sample.planCard({ state: 'parked' });
  const plans = Array.from({ length: 6 }, () => sample.planCard());
  const page = await open(t, { entries: ENTRIES, cards: [missed, ...plans] });
  const line = page.locator('.review .notice-inside');
  await line.getByText('6 of these need care.').waitFor();
  assert.equal(await line.count(), 1, 'one line at a time');
  await shot(page, 'care-before-asking-375-light');
  fake.cards([missed, ...plans.slice(1)]);
  await line.getByText('A card was parked because nobody answered it.').waitFor();
  assert.equal(await line.count(), 1);
});

test('page and ledger mean the same by too quick', async (t) => {
  const cases = JSON.parse(readFileSync(new URL('pace.json', import.meta.url), 'utf8'));
  assert.ok(cases.length >= 8);
  // What was decided in one case is forgotten in the next: a day lies between them.
  let now = 0;
  t.mock.timers.enable({ apis: ['Date'], now });
  for (const { name, decisions, times } of cases) {
    now += 24 * 3_600_000;
    let [was, n_times] = [false, 0];
    for (const [n, { after_s: after, risk, ms, quick }] of decisions.entries()) {
      now += after * 1000;
      t.mock.timers.setTime(now);
      const id = `${name} ${n}`;
      cameUp(id, 0);
      const is = await decided({ id, face: { risk } }, ms);
      assert.equal(is, quick, `${name}: decision ${n + 1}`);
      n_times += is && !was ? 1 : 0;
      was = is;
    }
    assert.equal(n_times, times, name);
  }
});
