// Activity in a real browser: what happened, what is allowed, and the log whose head this browser keeps for itself.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonical } from '../lib/canonical.js';
import { objections, shot, sideways, smallTargets, unnamed, weakTexts } from './browser.mjs';
import { sha256 } from './fake-server.mjs';
import * as sample from './sample-cards.mjs';
import { fake, open, received, sent } from './stage.mjs';

/** A zone in which it is about this hour now. */
const zoneOfHour = (hour) => {
  const ahead = ((hour - new Date().getUTCHours() + 36) % 24) - 12;
  return `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
};

for (const [hour, filter, title] of [[8, 'Last night', 'While you slept'], [20, 'While you were away', 'While you were away']]) {
  test(`back at ${hour} o’clock: Activity begins with “${title}”, keeps to that time, and says what it came to`, async (t) => {
    const page = await open(t, {}, { at: 'activity', timezoneId: zoneOfHour(hour) });
    await page.getByRole('heading', { name: title }).waitFor();
    assert.equal(await page.getByRole('button', { name: filter }).getAttribute('aria-pressed'), 'true');
    await page.getByText(/^7 things since \d\d:\d\d\. 1 was refused\. \$0\.31 of \$2\.00 spent\.$/).waitFor();
    const some = await page.locator('.timeline .row').count();
    await shot(page, `away-${hour}-375-light`);
    assert.deepEqual(await objections(page), []);
    await page.getByRole('button', { name: 'Everything', exact: true }).click();
    await page.getByRole('heading', { name: 'What Silas did' }).waitFor();
    const all = await page.locator('.timeline .row').count();
    assert.ok(some > 0 && some < all, `${some} of ${all}`);
    await page.getByText('8 things so far. 1 was refused. $0.42 of $2.00 spent today.').waitFor();
    fake.tell({ type: 'activity', activity: { ...sample.ACTIVITY, spent: { ...sample.ACTIVITY.spent, microusd: 0 } }, grants: [], n_more_grants: 0, devices: sample.DEVICES, no_model: null });
    await page.getByText(/^8 things so far\. 1 was refused\.$/).waitFor();
    assert.equal(await page.locator('.timeline .row').count(), all, 'what was chosen stays chosen');
  });
}

test('each filter keeps the rows that are about it, by tap, by keys and by address, and says what it would list', async (t) => {
  const page = await open(t, {}, { at: 'activity/changes' });
  const rows = () => page.locator('.timeline .row .row-text').allTextContents();
  await page.getByRole('heading', { name: 'What changed' }).waitFor();
  assert.deepEqual(await rows(), ['Put 2 files back', 'Proved 2 changed files']);
  await page.getByText('2 changes, newest first.').waitFor();
  assert.deepEqual(await page.locator('.row-words b').allTextContents(), ['Proved']);
  await page.getByRole('button', { name: 'Decisions' }).click();
  await page.getByRole('heading', { name: 'What you decided' }).waitFor();
  assert.deepEqual(await rows(), ['Plans may work in ~/code/tidepool', 'You approved a plan']);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'What was refused' }).waitFor();
  assert.deepEqual([await rows(), await page.locator('.row-words b').allTextContents()], [['Refused to work in /etc'], ['Refused']]);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByText('$0.42 of $2.00 spent today.').waitFor();
  assert.deepEqual([await rows(), await page.locator('.row-note').allTextContents()], [['Asked anthropic/claude-haiku-4-5'], ['It cost $0.31']]);
  assert.equal(new URL(page.url()).hash, '#activity/spending');
  const pressed = page.locator('.filter[aria-pressed=true]');
  const strip = await page.locator('.filters').boundingBox();
  const chip = await pressed.boundingBox();
  assert.ok(chip.x >= strip.x - 1 && chip.x + chip.width <= strip.x + strip.width + 1, 'what is chosen is in sight');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'What Silas did' }).waitFor();
  assert.equal((await rows()).length, 8);
  assert.ok((await page.locator('.row-words b').allTextContents()).includes('red'));
  for (const [filter, title, words] of [['changes', 'What changed', 'applies, rehearses for you or puts back'], ['decisions', 'What you decided', 'approve, decline, allow or take back'], ['refused', 'What was refused', 'does not do, and why'], ['spending', 'What was spent', 'Each question to a model with its cost']]) {
    fake.tell({ type: 'activity', activity: { ...sample.ACTIVITY, spent: { ...sample.ACTIVITY.spent, microusd: 0 }, rows: sample.ACTIVITY.rows.filter(({ topics }) => topics.length === 0) }, grants: [], devices: sample.DEVICES, no_model: null });
    await page.evaluate((name) => { location.hash = `activity/${name}`; }, filter);
    await page.getByRole('heading', { name: title }).waitFor();
    await page.getByText(words).waitFor();
    assert.equal(await page.locator('.timeline .row').count(), 0, filter);
  }
  await page.getByText('Nothing was spent today.').waitFor();
});

for (const [width, height] of [[375, 812], [1280, 800]]) {
  for (const [what, away] of [['there was no pause', null], ['a pause is long over', { ...sample.ACTIVITY.away, to: sample.at(Date.now() - 3 * 3_600_000) }], ['somebody is just back', sample.ACTIVITY.away]]) {
    test(`what is chosen is in sight at ${width} px: ${what}`, async (t) => {
      const page = await open(t, { activity: { ...sample.ACTIVITY, away } }, { width, height, at: 'activity' });
      const chosen = page.locator('.filter[aria-pressed=true]');
      const isInSight = () => chosen.evaluate((chip) => {
        const [a, b] = [chip.getBoundingClientRect(), chip.closest('.filters').getBoundingClientRect()];
        return a.left >= b.left - 1 && a.right <= b.right + 1;
      });
      await chosen.waitFor();
      assert.ok(await isInSight(), await chosen.innerText());
      const isPushed = await page.locator('.filters').evaluate((strip) => strip.scrollLeft > 1);
      assert.ok(!isPushed, 'the strip begins at its beginning');
      for (const name of ['spending', 'everything']) {
        await page.evaluate((filter) => { location.hash = `activity/${filter}`; }, name);
        await chosen.getByText(name, { exact: false }).waitFor();
        assert.ok(await isInSight(), name);
      }
    });
  }
}

test('a pause that is long over is a filter and no longer the first thing told', async (t) => {
  const away = { ...sample.ACTIVITY.away, to: sample.at(Date.now() - 3 * 3_600_000) };
  const page = await open(t, { activity: { ...sample.ACTIVITY, away, rows: sample.ACTIVITY.rows.map((row, n) => ({ ...row, at: sample.at(Date.now() - n * 3_600_000) })) } }, { at: 'activity' });
  await page.getByRole('heading', { name: 'What Silas did' }).waitFor();
  await page.getByRole('button', { name: /Last night|While you were away/ }).click();
  await page.getByRole('heading', { name: /While you/ }).waitFor();
});

test('grants, cards, what happened and work beyond the first page can all be reached', async (t) => {
  const row = (/** @type {number} */ seq) => ({ seq, at: sample.at(Date.now()), icon: 'tick', text: `Row ${seq}`, note: '', topics: [] });
  const activity = { ...sample.snapshot().activity, rows: [row(9), row(8)], earlier: 8 };
  const page = await open(t, { activity, n_more_grants: 1, work: [sample.finishedWork()], cards: [sample.planCard(), sample.rootCard()], n_more_cards: 1 }, { at: 'activity' });
  fake.beyond = [{ ...fake.shown.grants[0], token: 'tok-beyond', title: 'Far down the list' }];
  fake.pages.activity = ({ before }) => ({ type: 'activity_page', before, rows: [row(before - 1)], earlier: before > 7 ? before - 1 : null });
  await page.getByRole('button', { name: 'Show earlier' }).click();
  await page.getByText('Row 7').waitFor();
  // A new first page pushes nothing out that was shown.
  fake.tell({ type: 'activity', activity: { ...activity, rows: [row(10), row(9)], earlier: 9 }, grants: fake.shown.grants, n_more_grants: 1, devices: fake.shown.devices, no_model: null });
  await page.getByText('Row 10').waitFor();
  assert.equal(await page.getByText(/^Row \d+$/).count(), 4);
  await page.getByRole('button', { name: 'Show earlier' }).click();
  await page.getByText('Row 6').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Show earlier' }).count(), 0, 'this is the beginning');

  const item = (/** @type {number} */ n) => ({ execution: `exec-${n}`, work_item: 'work-1', title: `Work ${n}`, place: 'repo', state: 'applied', outcome: 'proved', files: 1, started_at: sample.at(Date.now()), ended_at: null, undo_until: null, has_proof: true });
  fake.pages.work_list = ({ from }) => ({ type: 'work_list', from, work_list: [item(from), item(from + 1)], n_more_work: from === 0 ? 2 : 0 });
  await page.getByText('All work').click();
  await page.getByText('Work 1').waitFor();
  await page.getByRole('button', { name: 'Show more of 2' }).click();
  await page.getByText('Work 3').waitFor();
  assert.equal(await page.getByRole('link', { name: 'See the proof' }).count(), 4);

  await page.getByRole('tab', { name: 'What is allowed' }).click();
  await page.getByText('3 grants. Everything else asks you first.').waitFor();
  await page.getByRole('button', { name: 'Show 1 more of 1' }).click();
  await page.getByText('Far down the list').waitFor();
  fake.pages.cards = ({ from }) => ({ type: 'cards_page', from, cards: [{ ...sample.planCard(), id: 'card-beyond' }], n_more_cards: 0 });
  await page.goto(page.url().replace(/#.*/, '#review'));
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.getByText('Up next').waitFor();
  await page.waitForFunction(() => document.querySelectorAll('.up-next li').length === 2);
});

for (const [width, height, scheme] of [[375, 812, 'dark'], [1280, 800, 'light']]) {
  test(`how deciding goes at ${width} px, ${scheme}: asked for when it is opened`, async (t) => {
    const page = await open(t, { activity: sample.DECIDED }, { width, height, scheme, at: 'activity' });
    assert.equal(await page.getByText('Declined').count(), 0);
    await page.getByText('How deciding goes').click();
    await page.getByText('So few that they may not be read.').waitFor();
    const text = await page.locator('.measures:not(.works)').innerText();
    for (const words of ['Time to decide', '5 s', 'should be 2 to 15 s', 'Nothing of it leaves this machine.']) assert.ok(text.includes(words), words);
    await page.locator('.measures:not(.works) dl').scrollIntoViewIfNeeded();
    await shot(page, `measures-${width}-${scheme}`);
    assert.deepEqual(await sideways(page), { by: 0, elements: [] });
    assert.deepEqual(await weakTexts(page), []);
    assert.deepEqual(await smallTargets(page), []);
  });
}

const allowed = async (page) => {
  await page.getByRole('tab', { name: 'What is allowed' }).click();
  await page.locator('.grant').first().waitFor();
};

for (const [width, height, scheme] of [[375, 812, 'light'], [375, 812, 'dark'], [1280, 800, 'light'], [320, 640, 'dark']]) {
  test(`what is allowed at ${width} px, ${scheme}: in words, with what is left, and nothing that does not fit`, async (t) => {
    const page = await open(t, {}, { width, height, scheme, at: 'activity' });
    await allowed(page);
    const text = await page.locator('.activity').innerText();
    for (const words of ['2 grants. Everything else asks you first.', '700 of 1,000 left · until ', 'No limit · since ', 'Safari on iPhone', 'mira’s terminal']) assert.ok(text.includes(words), words);
    assert.ok(!text.includes('lost laptop'), 'a revoked device is not among those that may decide');
    assert.equal(await page.locator('.grant-meter').count(), 1);
    await page.getByRole('button', { name: 'Revoke Safari on iPhone' }).click();
    await page.getByText('Its page closes. 2 grants that it signed go too.').waitFor();
    await shot(page, `allowed-${width}-${scheme}`);
    assert.deepEqual(await sideways(page), { by: 0, elements: [] });
    assert.deepEqual(await weakTexts(page), []);
    assert.deepEqual(await smallTargets(page), []);
    assert.deepEqual(await unnamed(page), []);
  });
}

test('Revoke takes two taps, is signed by this browser, and says so when it was not done', async (t) => {
  const page = await open(t, {}, { at: 'activity' });
  await allowed(page);
  await page.getByRole('button', { name: 'Revoke Work in tidepool' }).click();
  assert.deepEqual(sent('withdraw'), []);
  await page.getByRole('button', { name: 'Keep it' }).click();
  fake.keeps = true;
  await page.getByRole('button', { name: 'Revoke Work in tidepool' }).click();
  await page.locator('.grant-sure .filled').click();
  await page.getByText('Nothing was revoked. Try again.').first().waitFor();
  assert.equal(await page.locator('.grant', { hasText: 'Work in tidepool' }).count(), 1);
  fake.keeps = false;
  await page.locator('.grant-sure .filled').click();
  await page.locator('.grant', { hasText: 'Work in tidepool' }).waitFor({ state: 'detached' });
  const { withdrawal } = sent('withdraw')[1];
  assert.deepEqual(withdrawal.body.what, { grant: 'tok-root' });
  assert.deepEqual([withdrawal.body.kind, withdrawal.body.epoch, withdrawal.body.key], ['withdrawal', 3, [...fake.devices.keys()][0]]);
});

/** A chain of entries as the server would write it. */
function chain(n, version = '1') {
  const links = [];
  for (let seq = 1; seq <= n; seq++) {
    const prev = links.at(-1)?.hash ?? '0'.repeat(64);
    const link = { seq, at: `2026-01-01T00:00:${String(seq).padStart(2, '0')}.000000Z`, event: 'stream_started', body: canonical({ event: 'stream_started', version }), prev };
    links.push({ ...link, hash: sha256(canonical(['v1', 'ledger', seq, link.at, link.body, prev])) });
  }
  return links;
}

const upTo = (links, epoch = 1) => ({ ...sample.ACTIVITY, n_entries: links.length, head: { seq: links.length, hash: links.at(-1).hash }, epoch });
const doubt = (page) => page.locator('.notice', { hasText: 'does not continue what this browser has seen' });

/** Waits until this browser has kept the head with this number. */
const kept = (page, seq) => page.waitForFunction((wanted) => new Promise((resolve) => {
  const request = indexedDB.open('silas');
  request.onsuccess = () => {
    const heads = request.result.transaction('heads').objectStore('heads').getAll();
    heads.onsuccess = () => {
      request.result.close();
      resolve(heads.result[0]?.seq === wanted);
    };
  };
}), seq);

/** The page leaves and comes back to a server that shows this. */
async function back(page, links, epoch = 1) {
  fake.links = links;
  fake.shown = sample.snapshot({ activity: upTo(links, epoch) });
  fake.received.length = 0;
  await page.goto('about:blank');
  await page.goto(fake.url);
  await page.locator('.ambient', { hasText: 'quiet' }).waitFor();
}

test('the page keeps the head of the log and sees for itself that a later one extends it', async (t) => {
  const links = chain(12);
  const page = await open(t, { activity: upTo(links.slice(0, 4)) });
  await kept(page, 4);
  await back(page, links);
  await received('ledger');
  assert.deepEqual(sent('ledger')[0], { type: 'ledger', after: 4 });
  await kept(page, 12);
  assert.equal(await doubt(page).count(), 0);
  await back(page, links);
  assert.deepEqual(sent('ledger'), [], 'it has been there already');
});

test('a log that was cut, written anew or forged on the way is refused, and the refusal stays', async (t) => {
  const links = chain(12);
  const page = await open(t, { activity: upTo(links.slice(0, 8)) });
  await kept(page, 8);
  await back(page, links.slice(0, 5));
  await doubt(page).filter({ hasText: 'ends at entry 5' }).waitFor();
  await back(page, chain(12, '2'));
  await doubt(page).filter({ hasText: 'written anew' }).waitFor();
  await back(page, links.with(9, { ...links[9], body: '{}' }));
  await doubt(page).waitFor();
  assert.equal(await page.getByRole('button', { name: 'I restored it' }).count(), 0);
  await back(page, links);
  await kept(page, 12);
  assert.equal(await doubt(page).count(), 0, 'the honest one still counts');
});

test('after a restore the owner says that it was theirs, once', async (t) => {
  const page = await open(t, { activity: upTo(chain(8)) });
  await kept(page, 8);
  await back(page, chain(6, 'restored'), 2);
  await doubt(page).filter({ hasText: 'restored from a backup' }).waitFor();
  await page.getByRole('button', { name: 'I restored it' }).click();
  await doubt(page).waitFor({ state: 'detached' });
  await kept(page, 6);
  await back(page, chain(6, 'restored'), 2);
  assert.equal(await doubt(page).count(), 0);
});
