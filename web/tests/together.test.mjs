// Several pages in front of one real Silas: two tabs of one device, another device, and a hand that taps twice. What is
// decided is decided once, each page says so, and a device that was taken out sees nothing any more.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, settle, shot } from './browser.mjs';
import { DESK, PHONE, approve, card, eventually, look, openPage, pair, say, show, step, tree, troubleOf } from './owner.mjs';
import { ASKING, startSilas } from './real-server.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const PLAN = 'Run 1 command in tidepool';
const DONE = '1 file changed in tidepool';
/** The line in the place of the buttons, and that there are no buttons. */
const toldElsewhere = async (page, words) => {
  await page.locator('.dock-elsewhere', { hasText: words }).waitFor();
  return page.locator('.dock button').count();
};

/** How many cards tell of something that can be undone. */
const nDone = (page) => page.evaluate(async () => (await import('/lib/store.js')).state.cards.filter(({ face }) => face.kind === 'done').length);

/** That it was answered elsewhere stays, for whoever looks slower than people read; until `goOn`. */
const keepWhatIsTold = (page) => page.evaluate(() => {
  const real = window.setTimeout;
  window.setTimeout = (act, ms, ...more) => (ms === 4000 ? (window.over = act, 0) : real(act, ms, ...more));
  window.goOn = () => {
    window.setTimeout = real;
    window.over();
  };
});
const goOn = async (page) => {
  await page.locator('.dock-elsewhere').waitFor();
  await page.evaluate(() => window.goOn());
};

test('one card in two tabs and on two devices is decided once, by one tap or by two at the same time', async () => {
  const silas = await startSilas(ASKING);
  const [phone, desk] = [await browser.newContext(PHONE), await browser.newContext(DESK)];
  const [first, second, other] = [await openPage(phone), await openPage(phone), await openPage(desk)];
  const all = [first, second, other];
  const zone = () => readFileSync(join(silas.repo, 'tides/zone.txt'), 'utf8');
  const browsers = () => JSON.parse(silas.command('device', 'list', '--json')).filter(({ kind, is_revoked: isRevoked }) => kind === 'browser' && !isRevoked).map(({ called }) => called);
  const everywhere = (intent) => Promise.all(all.map((page) => card(page, intent).waitFor()));
  const ask = async () => {
    silas.breakAgain();
    await say(first, silas.wish);
    await show(first, 'review');
    await card(first, PLAN).waitFor();
  };
  try {
    step('a second tab is the same device, and the terminal lets another one in');
    await pair(first, silas.url);
    await second.goto(`${new URL(silas.url).origin}/#review`);
    const [address] = silas.command('pair').match(/http:\/\/localhost\S+/);
    await other.goto(address);
    await other.getByRole('button', { name: 'Pair this browser' }).waitFor();
    await look(other, 'together-pairing');
    await pair(other, address);
    await show(other, 'review');
    assert.equal(silas.command('device', 'list').match(/\(browser,/g).length, 2);
    const original = tree(silas.repo);

    step('decided in one tab: the other tab and the other device say so and can decide nothing');
    await say(first, silas.wish);
    await show(first, 'review');
    await everywhere(/^Let plans work in/);
    await Promise.all([second, other].map(keepWhatIsTold));
    const told = [second, other].map((page) => toldElsewhere(page, /^Allowed on Chromium on Linux, \d\d:\d\d$/));
    await approve(first);
    assert.deepEqual(await Promise.all(told), [0, 0]);
    await Promise.all([second, other].map(goOn));
    await everywhere(PLAN);
    assert.equal(silas.count('root_granted'), 1);

    step('half decided on one device, decided on the other');
    await settle(other);
    await other.locator('.dock .filled:enabled').waitFor();
    const { x, y } = await other.locator('.dock .filled').boundingBox();
    await other.mouse.click(x + 40, y + 20);
    await other.getByRole('button', { name: 'Confirm' }).waitFor();
    await Promise.all([second, other].map(keepWhatIsTold));
    const overtaken = toldElsewhere(other, /^Approved on Chromium on Linux, \d\d:\d\d$/).then(async (buttons) => {
      const scrolled = await other.locator('.review').evaluate((review) => review.scrollTop);
      await shot(other, 'together-elsewhere-1280');
      return [buttons, scrolled];
    });
    await approve(first);
    assert.deepEqual(await overtaken, [0, 0], 'no button is left, and nothing has moved');
    await Promise.all([second, other].map(goOn));
    await everywhere(DONE);
    assert.deepEqual(silas.counts('decision_recorded', 'work_applied'), [2, 1]);

    step('decided in two tabs and on two devices in the same moment');
    await ask();
    await everywhere(PLAN);
    for (const page of all) {
      await settle(page);
      await page.locator('.dock .filled').click();
      await settle(page);
    }
    // All three are sent before the first of them is heard.
    silas.freeze();
    for (const page of all) {
      await page.getByRole('button', { name: 'Confirm' }).click();
      await page.locator('.dock .filled:disabled').waitFor();
    }
    silas.thaw();
    await everywhere(DONE);
    await eventually('what was decided', () => zone() === 'Europe/Vienna\n' && silas.count('work_applied') === 2);
    assert.deepEqual(silas.counts('decision_recorded', 'work_started'), [3, 2]);

    step('a double tap decides once, and so does one on Undo');
    await ask();
    await settle(first);
    await first.locator('.dock .filled').dblclick();
    await settle(first);
    assert.equal(silas.count('decision_recorded'), 3, 'the second tap only opened the question');
    const spot = await first.getByRole('button', { name: 'Confirm' }).boundingBox();
    const before = await nDone(first);
    await first.mouse.dblclick(spot.x + spot.width / 2, spot.y + spot.height / 2);
    await eventually('what was decided', () => silas.count('work_applied') === 3);
    await everywhere(DONE);
    assert.equal(silas.count('decision_recorded'), 4);
    await eventually('its card', async () => await nDone(first) === before + 1);
    await settle(first);
    await first.locator('.undo:enabled').waitFor();
    await first.locator('.undo').dblclick();
    // The file is there before the entry that tells of it.
    await eventually('the undo', () => zone() === 'UTC\n' && silas.count('work_undone') === 1);
    assert.deepEqual(silas.counts('decision_recorded', 'work_undone'), [5, 1]);
    assert.deepEqual(tree(silas.repo), original);
    assert.match(silas.command('audit', 'verify'), /unbroken|verified|holds/i);

    step('Activity counts what was decided, and the terminal counts the same');
    await show(first, 'activity');
    await first.getByText('How deciding goes').click();
    await first.locator('.measures:not(.works) dl > div').first().waitFor();
    const rows = await first.locator('.measures:not(.works) dl > div').evaluateAll((all) => all.map((row) => [row.querySelector('dt'), ...row.querySelectorAll('dd')].map(({ innerText }) => innerText.trim())));
    const measures = JSON.parse(silas.command('activity', '--measures', '--json'));
    assert.deepEqual(rows, measures.map(({ name, value, target, note }) => [name, `${value} ${note}`.trim(), `should be ${target}`]));
    // A directory and three plans of medium risk were allowed with two taps each, and one result was taken back. Three things were said.
    const values = Object.fromEntries(measures.map(({ name, value }) => [name, value]));
    assert.deepEqual(
      ['By hand, for finished work', 'Declined', 'Sent back', 'Undone', 'Typed', 'Five too quick to be read'].map((name) => values[name]),
      ['2.0 each: 6 taps for 3 pieces', '0 of 4, 0 %', '0 of 4, 0 %', '1 of 3, 33 %', '3 of 8, 37 %', '0 times this week'],
    );
    assert.ok(values['Time to decide, medium risk'] && !values['Time to decide, low risk'], JSON.stringify(values));
    await first.locator('.measures:not(.works) dl').scrollIntoViewIfNeeded();
    await look(first, 'together-measures-375');

    step('a device is taken out in the terminal: its page closes at once and keeps nothing in sight');
    await show(other, 'stream');
    await other.locator('.turn-owner').first().waitFor();
    const taken = browsers();
    silas.command('device', 'revoke', taken.at(-1));
    await other.getByText('Silas does not know this browser any more. Pair it again.').waitFor();
    const sees = async () => {
      const text = await other.evaluate(() => document.documentElement.outerHTML);
      return ['tidepool', 'fix.sh', 'files changed', 'Stop everything'].filter((words) => text.includes(words));
    };
    assert.deepEqual(await sees(), []);
    assert.equal(await other.title(), 'Silas');
    const kept = await other.evaluate(async () => JSON.stringify((await import('/lib/store.js')).state));
    assert.ok(!kept.includes('tidepool'), 'nor behind what is in sight');
    await look(other, 'together-revoked-1280');
    await other.reload();
    await other.getByText('Silas does not know this browser any more. Pair it again.').waitFor();
    assert.deepEqual(await sees(), []);
    assert.equal(await other.locator('button.filled').count(), 0);

    step('the other device goes on, until all its tabs are closed with it');
    await ask();
    silas.command('device', 'revoke', taken.at(0));
    for (const page of [first, second]) {
      await page.getByText('Silas does not know this browser any more. Pair it again.').waitFor();
      await page.getByText('silas pair').waitFor();
      assert.equal(await page.locator('.card .intent, button.filled').count(), 0, 'a code that was used is not offered again');
    }
    await look(first, 'together-revoked-375');
    assert.equal(silas.count('decision_recorded'), 5);
    for (const page of all) assert.deepEqual(troubleOf(page), []);
  } finally {
    await Promise.all([phone.close(), desk.close()]);
    await silas.stop();
  }
});
