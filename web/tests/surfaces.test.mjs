// The surfaces in a real browser, in states that are hard to reach with the real server: sizes, contrast, targets, names,
// other colours, keys. How cards are decided is tested elsewhere. Pictures go to shots/.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonical } from '../lib/canonical.js';
import { ownProfile, serious, settle, shot, sideways, smallTargets, unnamed, weakTexts } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, fake, focused, open, received, until } from './stage.mjs';

const SCENES = {
  welcome: ['stream', {}],
  stream: ['stream', { entries: ENTRIES, work: [sample.finishedWork(), sample.runningWork()], cards: [sample.planCard()] }],
  plan: ['review', { entries: ENTRIES, cards: [sample.planCard(), sample.rootCard(), sample.highCard()] }],
  longest: ['review', { entries: ENTRIES, cards: [sample.longestCard(), sample.longestCard()] }],
  irreversible: ['review', { entries: ENTRIES, cards: [sample.irreversibleCard(), sample.planCard()] }],
  unknown: ['review', { entries: ENTRIES, cards: [sample.unknownCard(), sample.planCard()] }],
  secret: ['review', { cards: [sample.secretCard(), sample.planCard()] }],
  'secret-parked': ['review', { cards: [sample.secretCard({ state: 'parked' })] }],
  choice: ['review', { cards: [sample.choiceCard(), sample.secretCard()] }],
  'no-model': ['stream', { entries: [sample.entry('owner', 'what is the capital of France', 3000), sample.entry('silas', sample.NO_MODEL, 1000)] }],
  rehearsed: ['review', { entries: ENTRIES, cards: [sample.rehearsedCard(), sample.planCard(), sample.highCard()] }],
  low: ['review', { entries: ENTRIES, cards: [sample.lowCard(), sample.planCard()] }],
  done: ['review', { entries: ENTRIES, cards: [sample.doneCard(), sample.planCard()] }],
  conflict: ['review', { entries: ENTRIES, cards: [sample.conflictCard(), sample.planCard()] }],
  parked: ['review', { cards: [sample.planCard({ state: 'parked', issued: Date.now() - 600_000 }), sample.rootCard(), sample.highCard()] }],
  many: ['review', { entries: ENTRIES, cards: [sample.rehearsedCard(), ...Array.from({ length: 5 }, () => sample.planCard()), sample.highCard()] }],
  nothing: ['review', {}],
  activity: ['activity', {}],
  'activity-spending': ['activity/spending', {}],
  'activity-none': ['activity/refused', { activity: { ...sample.ACTIVITY, rows: sample.ACTIVITY.rows.filter(({ topics }) => !topics.includes('refusal')) } }],
  failed: ['review', { entries: ENTRIES, cards: [sample.failedCard()] }],
  broken: ['activity', { activity: { ...sample.ACTIVITY, verified: false } }],
  proof: [`proof/${sample.PROOF.execution}`, {}],
  ...Object.fromEntries(sample.REAL_CARDS.map((name) => [`real-${name}`, ['review', { entries: ENTRIES, cards: [sample.realCard(name)] }]])),
};

/** What is not a surface of its own: sheets, the steps of a decision, a lost connection, the screen before pairing. */
const STATES = {
  stop: async (page) => page.getByRole('button', { name: 'Stop everything' }).click(),
  more: async (page) => {
    // Also with a mouse, at every size: much is reached from nowhere else.
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('dialog', { name: 'More' }).waitFor();
  },
  chip: async (page) => {
    await settle(page);
    await page.locator('.dock .filled').click();
    await page.getByRole('button', { name: 'Confirm' }).waitFor();
  },
  slide: async (page) => {
    await settle(page);
    await page.locator('.dock .filled').click();
    await page.getByRole('slider').waitFor();
  },
  sheet: async (page) => {
    await STATES.slide(page);
    await settle(page);
    await page.getByRole('slider').press('End');
    await page.getByRole('slider').press('Enter');
    await page.getByRole('dialog', { name: 'Sign for good' }).waitFor();
  },
  allowed: async (page) => {
    await page.evaluate(() => { location.hash = 'activity'; });
    await page.getByRole('tab', { name: 'What is allowed' }).click();
  },
  night: async (page) => {
    await page.evaluate(() => { location.hash = 'activity'; });
    await page.getByRole('button', { name: /Last night|While you were away/ }).click();
  },
  reconnecting: async (page) => {
    fake.refuse = true;
    fake.drop();
    await page.locator('.notice').waitFor();
  },
};
const CARDS_OF = { chip: sample.planCard, slide: sample.highCard, sheet: sample.irreversibleCard };

/** One of every surface and kind, the longest of each, and the first that everybody signs; what is left differs from these in its words only. */
const TELLING = Object.entries(SCENES).filter(([name]) => !name.startsWith('real-') || name.endsWith('_longest') || name === 'real-house_rules');

for (const scheme of ['light', 'dark']) {
  for (const [width, height] of [[375, 812], [1280, 800]]) {
    test(`every state between at ${width} px, ${scheme}: nothing sideways, contrast, names, and nothing serious for axe`, async (t) => {
      const page = await open(t, {}, { width, height, scheme, at: 'stream' });
      for (const [name, reach] of Object.entries(STATES)) {
        fake.shown = sample.snapshot({ entries: ENTRIES, cards: [(CARDS_OF[name] ?? sample.planCard)()] });
        await page.goto('about:blank');
        const n = fake.acks.length;
        await page.goto(`${fake.url}#review`);
        await page.locator('.card').first().waitFor();
        // As when it was opened: there must be a connection before one is cut.
        await until(() => fake.acks.length > n);
        await reach(page);
        await shot(page, `state-${name}-${width}-${scheme}`);
        assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
        assert.deepEqual(await weakTexts(page), [], name);
        assert.deepEqual(await unnamed(page), [], name);
        assert.deepEqual(await serious(page), [], name);
      }
    });

    test(`every surface at ${width} px, ${scheme}: nothing sideways, contrast, targets, names`, async (t) => {
      const page = await open(t, {}, { width, height, scheme, at: 'stream' });
      for (const [name, [at, change]] of width === 375 ? Object.entries(SCENES) : TELLING) {
        fake.shown = sample.snapshot(change);
        await page.goto('about:blank');
        await page.goto(`${fake.url}#${at}`);
        await page.locator('.ambient', { hasText: /quiet|running|active|review/ }).or(page.locator('.proof-head')).first().waitFor();
        await shot(page, `${name}-${width}-${scheme}`);
        assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
        assert.deepEqual(await weakTexts(page), [], name);
        assert.deepEqual(await smallTargets(page), [], name);
        assert.deepEqual(await unnamed(page), [], name);
        assert.deepEqual(await serious(page), [], name);
      }
    });
  }
}

for (const [what, options, textSize] of [['320 px', { width: 320, height: 640 }, ''], ['200 % text', {}, '200%'], ['320 px and 200 % text', { width: 320, height: 640 }, '200%'], ['right to left', {}, '']]) {
  test(`${what}: nothing is cut off sideways`, async (t) => {
    const page = await open(t, {}, { ...options, at: 'stream' });
    for (const [name, [at, change]] of TELLING) {
      fake.shown = sample.snapshot(change);
      await page.goto('about:blank');
      await page.goto(`${fake.url}#${at}`);
      await page.locator('main').waitFor();
      await page.evaluate(([size, rtl]) => {
        document.documentElement.style.fontSize = size;
        if (rtl) document.documentElement.dir = 'rtl';
      }, [textSize, what === 'right to left']);
      await page.locator('.card, .turn, .welcome, .nothing, .timeline, .activity-none, .proof-head').first().waitFor();
      assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
      await shot(page, `${name}-${what.replaceAll(/\W+/g, '-')}`);
    }
  });
}

test('the body of every card fits 300 px at 375 px, and nothing of it is lost', async (t) => {
  const page = await open(t, {}, { at: 'review' });
  for (const name of sample.REAL_CARDS) {
    const card = sample.realCard(name);
    fake.cards([card]);
    await page.locator(`[id="${card.id}-intent"]`).waitFor();
    const height = await page.locator('.card-body').evaluate((body) => body.offsetHeight);
    assert.ok(height <= 300, `${name}: ${height}`);
    const text = await page.locator('.card').textContent();
    for (const fact of card.face.facts) assert.ok(text.includes(fact.text.replaceAll('`', '')), `${name} lost ${fact.label}`);
  }
});

test('the empty Stream offers three ways to begin: one is said with the tap, the others fill the composer with what is to be changed selected', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  assert.equal(await page.locator('.welcome-row').count(), 3);
  const chosen = async (name) => {
    await page.getByRole('button', { name }).click();
    await page.waitForFunction(() => document.activeElement?.id === 'composer' && document.activeElement.selectionEnd > document.activeElement.selectionStart);
    return page.locator('#composer').evaluate((field) => [field.value, field.value.slice(field.selectionStart, field.selectionEnd)]);
  };
  assert.deepEqual(await chosen(/call the dentist/), ['add task `call the dentist`', 'call the dentist']);
  assert.equal((await chosen(/Run a command/))[1], 'COMMAND');
  await page.getByText('What else you can say').click();
  await page.getByRole('button', { name: 'put back the last change' }).click();
  assert.equal(await page.locator('#composer').inputValue(), 'put back the last change');
  await shot(page, 'welcome-more-375-light');
  assert.deepEqual(await sideways(page), { by: 0, elements: [] });
  assert.deepEqual([...await weakTexts(page), ...await smallTargets(page), ...await serious(page)], []);
  await page.getByRole('button', { name: 'Try it on a sample project' }).click();
  const [said] = await received('message');
  assert.equal(said.message.body.text, 'Try it on a sample project');
});

test('keys lead to the surfaces and decide nothing; a wide page slides Activity over and gives focus back', async (t) => {
  const page = await open(t, { cards: [sample.planCard()] }, { width: 1280, height: 800, at: 'stream' });
  await page.keyboard.press('/');
  await focused(page, 'composer');
  await page.keyboard.type('ra.?');
  assert.equal(await page.getByRole('textbox').inputValue(), 'ra.?');
  await page.getByRole('link', { name: 'Activity' }).focus();
  await page.keyboard.press('a');
  await page.locator('dialog').getByRole('heading', { name: /While you/ }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'ActivityA');
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'This browser' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('r');
  await focused(page, `${fake.shown.cards[0].id}-intent`);
  assert.equal(fake.received.length, 0);
});

test('text stays text, and characters that hide or turn others are shown', async (t) => {
  const card = sample.planCard();
  card.face = { ...card.face, intent: 'Change <b>1</b> file\u202Egnp.sh', facts: [{ label: 'May change', text: '/tmp/a\u200Bb\u200Dc' }] };
  card.offer = { ...card.offer, shown: sample.sha256(canonical(card.face)) };
  const page = await open(t, { entries: [sample.entry('silas', '<img src=x onerror=alert(1)> \u2066x')], cards: [card] });
  assert.equal(await page.locator('.intent').innerText(), 'Change <b>1</b> file⟨U+202E⟩gnp.sh');
  await page.getByText('/tmp/a⟨U+200B⟩b⟨U+200D⟩c').first().waitFor();
  await page.evaluate(() => { location.hash = 'stream'; });
  await page.getByText('<img src=x onerror=alert(1)> ⟨U+2066⟩x').waitFor();
  assert.equal(await page.locator('.stream img').count(), 0);
});

test('reduced motion and forced colours', async (t) => {
  const page = await open(t, { entries: ENTRIES, work: [sample.runningWork()], cards: [sample.doneCard()] }, { at: 'stream', reducedMotion: 'reduce', forcedColors: 'active' });
  await page.locator('.work').waitFor();
  assert.equal(await page.locator('.icon-spinner').isVisible(), false);
  await shot(page, 'stream-forced-colours');
  await page.evaluate(() => { location.hash = 'review'; });
  await page.locator('.undo').waitFor();
  assert.equal(await page.locator('.ring').isVisible(), false);
  await shot(page, 'done-forced-colours');
});

test('the page can be installed: its manifest is read without a complaint, and what it names is there', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  const cdp = await page.context().newCDPSession(page);
  const { url, errors, data } = await cdp.send('Page.getAppManifest');
  assert.deepEqual(errors, []);
  assert.equal(new URL(url).pathname, '/manifest.webmanifest');
  const manifest = JSON.parse(data);
  assert.equal(manifest.display, 'standalone');
  assert.equal(manifest.start_url, manifest.scope);
  // Not every system that installs a page can read a picture of lines.
  assert.deepEqual(manifest.icons.map(({ purpose, sizes }) => `${purpose} ${sizes}`), ['any any', 'any 192x192', 'any 512x512', 'maskable 512x512', 'maskable any']);
  const [touch] = await page.locator('link[rel=apple-touch-icon]').evaluateAll((links) => links.map((link) => ({ src: link.getAttribute('href'), type: 'image/png', sizes: '180x180' })));
  for (const { src, type, sizes } of [...manifest.icons, touch]) {
    const answer = await page.request.get(new URL(src, fake.url).href);
    assert.equal(answer.headers()['content-type'], type, src);
    // The size stands in the head of the file.
    const bytes = await answer.body();
    if (type === 'image/png') assert.equal(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, sizes, src);
  }
});

test('nothing speaks against installing it, by the word of a browser that could', async () => {
  // A private window, as every other page of these tests has, installs nothing.
  const { context, close } = await ownProfile();
  try {
    const page = await context.newPage();
    await page.goto(fake.url);
    await page.evaluate(async () => void (await navigator.serviceWorker.ready));
    const cdp = await context.newCDPSession(page);
    assert.deepEqual((await cdp.send('Page.getInstallabilityErrors')).installabilityErrors, []);
  } finally {
    await close();
  }
});

test('axe is awake: it finds what is put there to be found', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  await page.evaluate(() => document.querySelector('main').append(document.createElement('img')));
  const found = await serious(page);
  assert.equal(found.length, 1);
  assert.match(found[0], /^image-alt/);
});

test('an answer says when nothing was made of what was said', async (t) => {
  const said = (came_of, ago) => ({ ...sample.entry('silas', `About ${came_of}.`, ago), answers: { message: 'msg-1', came_of } });
  const page = await open(t, { entries: [...ENTRIES, said('refused', 502), said('asked', 501), said('answered', 500)] }, { at: 'stream' });
  await page.getByText('About answered.').waitFor();
  const labels = await page.locator('.turn', { hasText: 'About ' }).locator('.turn-label').allTextContents();
  assert.deepEqual(labels.map((label) => label.endsWith('nothing was done')), [true, false, false], labels.join());
});
