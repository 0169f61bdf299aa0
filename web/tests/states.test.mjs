// What a page shows when it is not simply open and looked at: loading, offline, hidden, decided elsewhere, too late,
// seen in other colours and sizes. In a real browser; pictures go to shots/. How most of these look is looked at with all
// the others.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, objections, settle, shot, sideways, smallTargets, unnamed, weakTexts } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { fake, open as openPage, received, sent, until } from './stage.mjs';

/** As its owner set it: text of twice the ordinary size. */
let largePrint;

before(async () => {
  largePrint = await launch(['--blink-settings=defaultFontSize=32']);
});
after(() => largePrint.close());

const open = (t, change, { large = false, ...options } = {}) => openPage(t, change, { by: large ? largePrint : undefined, ...options });
const said = (page, words) => page.locator('#app > [role=status]', { hasText: words }).waitFor({ state: 'attached' });
const intent = (page, card) => page.locator(`[id="${card.id}-intent"]`);
const ENTRIES = [sample.entry('owner', sample.ASKED, 300_000)];
const EDIT = { path: 'tides/parse.py', added: 1, removed: 1, lines: [{ removed: 'mine' }, { added: 'old' }] };

const fits = async (page, what) => {
  assert.deepEqual(await sideways(page), { by: 0, elements: [] }, what);
  assert.deepEqual(await weakTexts(page), [], what);
  assert.deepEqual(await smallTargets(page), [], what);
  assert.deepEqual(await unnamed(page), [], what);
  assert.deepEqual(await objections(page), [], what);
};

test('later edit: Undo is greyed with the reason, Compare shows both, and both go when the edit does', async (t) => {
  fake.edits = [EDIT];
  const card = sample.doneCard();
  const page = await open(t, { entries: ENTRIES, cards: [card] });
  await page.getByText('parse.py was changed since. Undo would overwrite it.').waitFor();
  assert.ok(await page.locator('.undo').isDisabled());
  assert.deepEqual((await received('later_edits'))[0].execution, JSON.parse(card.payload).execution);
  await page.getByRole('button', { name: 'Compare' }).click();
  const sheet = page.getByRole('dialog', { name: 'Compare' });
  await sheet.getByText('mine').waitFor();
  await sheet.getByText('old', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  assert.equal(sent('approval_response').length, 0);
  fake.edits = [];
  // Whoever comes back to the page finds it looked at again.
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await page.locator('.undo:enabled').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Compare' }).count(), 0);
});

test('several later edits are counted', async (t) => {
  fake.edits = [EDIT, { ...EDIT, path: 'tides/report.py' }, { ...EDIT, path: 'a.py' }];
  const page = await open(t, { cards: [sample.doneCard()] });
  await page.getByText('parse.py and 2 other files were changed since. Undo would overwrite them.').waitFor();
});

test('the undo window ends under somebody’s eyes: the card is gone, its place offers a plan for exactly that work', async (t) => {
  const card = sample.doneCard({ issued: Date.now() - 299_000 });
  const page = await open(t, { entries: ENTRIES, cards: [card] });
  await page.getByRole('button', { name: 'Plan a way back' }).waitFor();
  fake.cards([]);
  await intent(page, card).waitFor();
  fake.wayBack = sample.planCard();
  await page.getByRole('button', { name: 'Plan a way back' }).click();
  assert.deepEqual(await received('way_back'), [{ type: 'way_back', execution: JSON.parse(card.payload).execution }]);
  await intent(page, fake.wayBack).waitFor();
  assert.equal(await intent(page, card).count(), 0);
  assert.equal(sent('approval_response').length, 0, 'asking for a plan decides nothing');
});

test('a done card that is over makes room for the next card by itself, and Done puts it away', async (t) => {
  const card = sample.doneCard({ issued: Date.now() - 299_500 });
  const page = await open(t, { cards: [card] });
  await page.getByRole('button', { name: 'Plan a way back' }).waitFor();
  fake.cards([]);
  const next = sample.planCard();
  fake.cards([next]);
  await intent(page, next).waitFor();
  assert.equal(await intent(page, card).count(), 0);
  fake.cards([]);
  await page.getByText('Nothing to decide').waitFor();
});

test('Done on a card that is over leaves nothing behind', async (t) => {
  const card = sample.doneCard({ issued: Date.now() - 299_500 });
  const page = await open(t, { cards: [card] });
  await page.getByRole('button', { name: 'Plan a way back' }).waitFor();
  fake.cards([]);
  await page.locator('.ambient', { hasText: 'All quiet' }).waitFor();
  await settle(page);
  await page.getByRole('button', { name: 'Done', exact: true }).click();
  await page.getByText('Nothing to decide').waitFor();
  assert.deepEqual(sent('dismiss'), [], 'there is no card any more that could be put away');
});

test('a proof offers the way back once undo is over, and not before', async (t) => {
  const { execution } = sample.PROOF;
  const page = await open(t, {}, { at: `proof/${execution}` });
  fake.wayBack = sample.planCard();
  await page.getByRole('button', { name: 'Plan a way back' }).click();
  assert.equal((await received('way_back'))[0].execution, execution);
  await intent(page, fake.wayBack).waitFor();
  const done = sample.doneCard();
  fake.cards([done]);
  await page.evaluate((hash) => { location.hash = hash; }, `proof/${JSON.parse(done.payload).execution}`);
  await page.locator('.proof-head').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Plan a way back' }).count(), 0);
  fake.cards([]);
  fake.proof = { state: 'undone' };
  await page.evaluate((hash) => { location.hash = hash; }, `proof/${execution}`);
  await page.locator('.proof-head').waitFor();
});

test('the countdown is said at 4, 2 and 1 minutes and at 10 seconds, also when a second is skipped', async (t) => {
  const page = await open(t, { cards: [sample.doneCard()] }, { prepare: (p) => p.clock.install() });
  await page.locator('.undo').waitFor();
  await page.clock.pauseAt(Date.now() + 10_000);
  const left = async () => {
    const [, minutes, seconds] = /(\d+):(\d\d)/.exec(await page.locator('.undo-time').textContent());
    return Number(minutes) * 60 + Number(seconds);
  };
  for (const [mark, words] of [[240, '4 min left to undo'], [120, '2 min left to undo'], [60, '1 min left to undo'], [10, '10 seconds left to undo']]) {
    await page.clock.fastForward(((await left()) - mark) * 1000 + 500);
    await page.clock.runFor(1500);
    await said(page, words);
  }
});

test('progress is said at most every ten seconds, however many tasks run', async (t) => {
  const two = [sample.runningWork(), { ...sample.runningWork(), execution: 'exec-other', title: 'Another task' }];
  const page = await open(t, { entries: ENTRIES, work: two }, { at: 'stream', prepare: (p) => p.clock.install() });
  await page.locator('.work').nth(1).waitFor();
  await page.clock.pauseAt(Date.now() + 10_000);
  // Time enough for both to have been told of.
  await page.clock.runFor(25_000);
  await said(page, 'Step 4 of 6');
  await page.evaluate(() => {
    const region = document.querySelector('#app > [role=status]');
    window.heard = [];
    new MutationObserver(() => window.heard.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
  });
  for (const [n, work] of two.entries()) fake.tell({ type: 'work', work: { ...work, steps: work.steps.map((step, at) => ({ ...step, state: at < 4 ? 'done' : at === 4 ? 'running' : 'waiting', label: at === 4 ? `Apply ${n}` : step.label })) } });
  await page.getByText('Apply 0').waitFor();
  await page.getByText('Apply 1').waitFor();
  await page.clock.runFor(9000);
  assert.equal((await page.evaluate(() => window.heard)).length, 1, 'the second task waits for its turn');
  await page.clock.runFor(2000);
  assert.equal((await page.evaluate(() => window.heard)).length, 2);
});

test('answered elsewhere: says where and when, then the next card comes up', async (t) => {
  const [mine, next] = [sample.rehearsedCard(), sample.planCard()];
  const page = await open(t, { entries: ENTRIES, cards: [mine, next] }, { prepare: (p) => p.clock.install() });
  await page.locator('.dock .filled:enabled').waitFor();
  await page.clock.pauseAt(Date.now() + 10_000);
  fake.tell({ type: 'answered', answered: { card: mine.id, verdict: 'approved', device: 'Mira’s laptop', at: sample.at(Date.now()) } });
  fake.cards([next]);
  await page.locator('.dock-elsewhere', { hasText: /^Applied on Mira’s laptop, \d\d:\d\d$/ }).waitFor();
  await said(page, 'Applied on Mira’s laptop');
  assert.equal(await page.locator('.dock button').count(), 0);
  await intent(page, mine).waitFor();
  await page.clock.runFor(3900);
  await intent(page, mine).waitFor();
  await page.clock.runFor(200);
  await intent(page, next).waitFor();
  assert.equal(await page.locator('.dock-elsewhere').count(), 0);
});

test('what was decided here, and a card that nobody looks at, are not told as decided elsewhere', async (t) => {
  const [mine, next] = [sample.lowCard(), sample.planCard()];
  const page = await open(t, { cards: [mine, next] });
  fake.tell({ type: 'answered', answered: { card: next.id, verdict: 'declined', device: 'Mira’s laptop', at: sample.at(Date.now()) } });
  await settle(page);
  await page.locator('.dock .filled').click();
  await received('approval_response');
  await intent(page, next).waitFor();
  assert.equal(await page.locator('.dock-elsewhere').count(), 0);
  assert.ok(await page.evaluate(() => document.activeElement?.matches('.intent')), 'focus goes to the next title');
});

test('a new card is said politely and takes no focus from somebody who is typing', async (t) => {
  const first = sample.lowCard();
  const page = await open(t, { entries: ENTRIES, cards: [first] }, { width: 1280, height: 800, at: 'stream' });
  await settle(page);
  await page.locator('.dock .filled').click();
  await page.locator('#composer').focus();
  await page.keyboard.type('hel');
  await until(() => sent('approval_response').length > 0);
  const next = sample.planCard();
  fake.cards([next]);
  await said(page, `New in Review: ${next.face.intent}`);
  await page.keyboard.type('lo');
  assert.equal(await page.locator('#composer').inputValue(), 'hello');
});

for (const [at, where] of [['review', '.review .loading'], ['activity', '.activity .loading'], ['stream', '.stream .loading']]) {
  test(`loading ${at}: the shell at once, then bars in the shape of a card, and nothing that is not known yet`, async (t) => {
    const page = await open(t, { cards: [sample.planCard()] }, { at });
    let go;
    fake.holdWelcome = new Promise((resolve) => { go = resolve; });
    await page.reload();
    await page.locator('.top').waitFor();
    const bars = page.locator(where);
    await bars.waitFor({ state: 'attached' });
    assert.deepEqual(await bars.evaluate((e) => [getComputedStyle(e).animationName, getComputedStyle(e).animationDelay]), ['appear', '0.3s']);
    for (const words of ['Nothing to decide', 'Nothing yet', 'Nothing happens without you']) assert.equal(await page.getByText(words).count(), 0, words);
    await shot(page, `loading-${at}-375-light`);
    go();
    await bars.waitFor({ state: 'detached' });
  });
}

test('empty: Review has nothing to decide, Activity has nothing to list', async (t) => {
  const page = await open(t, { activity: { ...sample.ACTIVITY, rows: [], away: null } });
  await page.getByText('Nothing to decide').waitFor();
  await page.evaluate(() => { location.hash = 'activity'; });
  await page.getByText('Nothing yet. Everything Silas does will be listed here.').waitFor();
});

test('an error has what happened, what to do, one action, and its code small at the end', async (t) => {
  const page = await open(t, { cards: [sample.planCard()] });
  fake.tell({ type: 'error', code: 'E_LLM_TIMEOUT', message: 'The model did not answer in 30 s. Nothing changed.', todo: 'Try again, or use Ollama.' });
  const notice = page.getByRole('alert');
  await notice.waitFor();
  assert.equal((await notice.locator('p').innerText()).replaceAll(/\s+/g, ' ').trim(), 'The model did not answer in 30 s. Nothing changed. Try again, or use Ollama. E_LLM_TIMEOUT');
  assert.equal(await notice.locator('b').innerText(), 'The model did not answer in 30 s. Nothing changed.');
  assert.equal(await notice.getByRole('button').count(), 1);
});

test('offline: the last known state with its time, read only', async (t) => {
  const page = await open(t, { cards: [sample.planCard()] }, { host: 'silas.localhost' });
  await settle(page);
  // Nobody has closed the connection; it is only dead.
  await page.context().setOffline(true);
  await page.getByText('This device is offline.').waitFor();
  await page.getByText(/What you see is from \d\d:\d\d\. Work on the machine goes on\./).waitFor();
  await page.locator('.ambient', { hasText: /^Offline · last seen \d\d:\d\d$/ }).waitFor();
  await page.locator('.intent').waitFor();
  assert.ok(await page.locator('.dock .button').first().isDisabled());
  await page.getByRole('button', { name: 'Stop everything' }).click();
  await page.getByRole('heading', { name: 'This page cannot reach Silas' }).waitFor();
  await page.getByText('On its machine: silas stop --all').waitFor();
  await page.keyboard.press('Escape');
  await page.context().setOffline(false);
  await page.locator('.dock .filled:enabled').waitFor();
  await until(() => fake.acks.length > 1);
  assert.equal(fake.acks.length, 2, 'it connected anew, and once');
});

/** As when the owner has another window in front of this one. */
const hide = (page, hidden = true) => page.evaluate((is) => {
  Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (is ? 'hidden' : 'visible') });
  document.dispatchEvent(new Event('visibilitychange'));
}, hidden);

/** Notifications are the browser's own; only its question is answered here, because nobody could. */
const desk = async (page) => {
  await page.context().grantPermissions(['notifications']);
  await page.addInitScript(() => {
  window.asked = 0;
  window.badges = [];
  let permission = 'default';
  Object.defineProperty(Notification, 'permission', { configurable: true, get: () => permission });
  Notification.requestPermission = async () => {
    window.asked += 1;
    permission = 'granted';
    return permission;
  };
  navigator.setAppBadge = async (n) => void window.badges.push(n);
  });
};
const shown = (page) => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(({ title, body, tag, data }) => ({ title, body, tag, data })));

test('notifications: asked for after the first missed card only, one per decision, and never more than intent and risk', async (t) => {
  const page = await open(t, {}, { serviceWorkers: 'allow', prepare: desk });
  await page.getByText('Nothing to decide').waitFor();
  await page.evaluate(() => navigator.serviceWorker.ready);
  assert.equal(await page.getByRole('button', { name: 'Tell me', exact: true }).count(), 0, 'not at first run');
  const plan = sample.planCard();
  fake.cards([plan]);
  await intent(page, plan).waitFor();
  fake.cards([{ ...plan, state: 'parked' }]);
  await page.getByText('Parked', { exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Tell me', exact: true }).count(), 0, 'nor for a card that was parked under the owner’s eyes');

  await hide(page);
  const missed = sample.planCard();
  fake.cards([missed]);
  fake.cards([{ ...missed, state: 'parked' }]);
  await until(async () => (await page.getByRole('button', { name: 'Tell me', exact: true }).count()) === 1);
  assert.deepEqual([await page.evaluate(() => window.asked), await shown(page)], [0, []], 'nothing is told without a yes');
  await hide(page, false);
  await shot(page, 'ask-to-tell-375-light');
  await fits(page, 'ask to tell');
  await page.getByRole('button', { name: 'Tell me', exact: true }).click();
  await until(() => page.evaluate(() => window.asked === 1));
  await page.getByRole('button', { name: 'Tell me', exact: true }).waitFor({ state: 'detached' });

  const [one, other] = [sample.planCard(), sample.highCard()];
  fake.cards([one]);
  await intent(page, one).waitFor();
  assert.deepEqual(await shown(page), [], 'whoever looks need not be told');
  await hide(page);
  fake.cards([one, other, sample.doneCard()]);
  await until(async () => (await shown(page)).length === 1);
  const [told] = await shown(page);
  assert.deepEqual([told.title, told.body, told.data], [other.face.intent, 'High risk · a plan waits for you', { card: other.id }]);
  assert.ok(!JSON.stringify(told).includes(other.face.asked));
  // The same task asks again: it takes the place of the notification before.
  const again = { ...sample.rehearsedCard(), offer: { ...sample.rehearsedCard().offer, work_item_id: other.offer.work_item_id } };
  fake.cards([one, again]);
  await until(async () => (await shown(page))[0]?.title === again.face.intent);
  assert.equal((await shown(page)).length, 1);
  assert.equal(await page.evaluate(() => window.badges.at(-1)), 2, 'the badge is the count on Review');
  fake.cards([one]);
  await until(async () => (await shown(page)).length === 0);
  assert.equal(sent('approval_response').length, 0);
});

test('not now is remembered, and More can change it', async (t) => {
  const page = await open(t, { cards: [sample.planCard({ state: 'parked' })] }, { serviceWorkers: 'allow', prepare: desk });
  await page.getByRole('button', { name: 'Not now', exact: true }).click();
  await page.getByRole('button', { name: 'Tell me', exact: true }).waitFor({ state: 'detached' });
  await page.waitForFunction(async () => (await (await import('/lib/database.js')).all('choices')).some(({ name, wanted }) => name === 'notifications' && wanted === false));
  await page.reload();
  await page.getByText('Parked', { exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Tell me', exact: true }).count(), 0);
  assert.equal(await page.evaluate(() => window.asked), 0);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Tell me when a card waits' }).click();
  await page.getByRole('button', { name: 'Turn them off here' }).waitFor();
  assert.equal(await page.evaluate(() => window.asked), 1);
});

test('tapping a notification leads to its card, in the page that is open or in a new one, and decides nothing', async (t) => {
  const [first, second] = [sample.lowCard(), sample.highCard()];
  const page = await open(t, { cards: [first, second] }, { at: 'stream', serviceWorkers: 'allow' });
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.locator('.ambient', { hasText: '2 need review' }).waitFor();
  await until(() => page.context().serviceWorkers().length > 0);
  const [worker] = page.context().serviceWorkers();
  await worker.evaluate((card) => {
    const event = new ExtendableEvent('notificationclick');
    Object.defineProperty(event, 'notification', { value: { data: { card }, close: () => {} } });
    self.dispatchEvent(event);
  }, second.id);
  await intent(page, second).waitFor();
  await page.goto('about:blank');
  await page.goto(`${fake.url}#review/${second.id}`);
  await intent(page, second).waitFor();
  await page.goto('about:blank');
  await page.goto(`${fake.url}#review/card-gone`);
  await intent(page, first).waitFor();
  assert.equal(sent('approval_response').length, 0);
});

const SCENES = {
  stream: ['stream', { entries: ENTRIES, work: [sample.finishedWork(), sample.runningWork()], cards: [sample.planCard()] }],
  plan: ['review', { entries: ENTRIES, cards: [sample.planCard(), sample.highCard()] }],
  rehearsed: ['review', { entries: ENTRIES, cards: [sample.rehearsedCard(), sample.planCard()] }],
  irreversible: ['review', { entries: ENTRIES, cards: [sample.irreversibleCard()] }],
  slide: ['review', { entries: ENTRIES, cards: [sample.highCard()] }, async (page) => {
    await settle(page);
    await page.locator('.dock .filled').click();
    await page.getByRole('slider').waitFor();
  }],
  chip: ['review', { entries: ENTRIES, cards: [sample.planCard()] }, async (page) => {
    await settle(page);
    await page.locator('.dock .filled').click();
    await page.getByRole('button', { name: 'Confirm' }).waitFor();
  }],
  done: ['review', { entries: ENTRIES, cards: [sample.doneCard(), sample.planCard()] }],
  activity: ['activity', {}],
  proof: [`proof/${sample.PROOF.execution}`, {}],
};
for (const [what, options] of [
  ['a phone on its side', { width: 812, height: 375 }], ['a phone on its side, dark', { width: 812, height: 375, scheme: 'dark' }],
  ['more contrast', { contrast: 'more' }], ['more contrast, dark', { contrast: 'more', scheme: 'dark' }],
  ['forced colours', { forcedColors: 'active' }], ['forced colours, dark', { forcedColors: 'active', scheme: 'dark' }],
  ['200 % text on its side', { width: 812, height: 375, large: true }], ['200 % text', { large: true }], ['200 % text at 320 px', { width: 320, height: 640, large: true }],
]) {
  test(`${what}: everything is there, nothing sideways, and the dock can be reached`, async (t) => {
    const page = await open(t, {}, { ...options, at: 'stream' });
    for (const [name, [at, change, reach = async () => {}]] of Object.entries(SCENES)) {
      fake.shown = sample.snapshot(change);
      await page.goto('about:blank');
      await page.goto(`${fake.url}#${at}`);
      await page.locator('main').waitFor();
      await page.locator('.card, .turn, .timeline, .proof-head').first().waitFor();
      await reach(page);
      if (at === 'review') await settle(page);
      await shot(page, `${name}-${what.replaceAll(/\W+/g, '-')}`);
      assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
      assert.deepEqual(await smallTargets(page), [], name);
      if (!options.forcedColors) assert.deepEqual(await weakTexts(page), [], name);
      // Without scrolling: what decides and where one writes are at the edge, whatever the height.
      const edge = page.locator('.dock, .composer');
      if (!options.large && (await edge.count()) > 0) assert.ok(await edge.evaluate((e) => e.getBoundingClientRect().bottom <= innerHeight + 1 && e.getBoundingClientRect().top >= 0), `${name}: out of sight`);
      const last = page.locator('.dock .last, .composer .send, .timeline li:last-child, .proof-file').last();
      await last.scrollIntoViewIfNeeded();
      const covered = await last.evaluate((e) => {
        const { left, top, width, height } = e.getBoundingClientRect();
        const there = document.elementFromPoint(left + width / 2, top + height / 2);
        return !(there && (e.contains(there) || there.contains(e)));
      });
      assert.equal(covered, false, `${name}: what comes last is covered`);
    }
  });
}

test('the focus ring is 3 px of the tint with a gap of 2', async (t) => {
  const page = await open(t, { cards: [sample.planCard()] });
  await settle(page);
  await page.locator('.intent').focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  const ring = await page.evaluate(() => {
    const { outlineWidth, outlineStyle, outlineOffset, outlineColor } = getComputedStyle(document.activeElement);
    const probe = document.createElement('i');
    probe.style.color = 'var(--tint)';
    document.body.append(probe);
    const tint = getComputedStyle(probe).color;
    probe.remove();
    return { outlineWidth, outlineStyle, outlineOffset, isTint: outlineColor === tint };
  });
  assert.deepEqual(ring, { outlineWidth: '3px', outlineStyle: 'solid', outlineOffset: '2px', isTint: true });
});
