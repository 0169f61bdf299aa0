// The surfaces in a real browser, in states that are hard to reach with the real server: heights, other colours, keys, texts,
// installing. How each looks and how cards are decided is tested elsewhere. Pictures go to shots/.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonical } from '../lib/canonical.js';
import { objections, ownProfile, shot, sideways, smallTargets, weakTexts } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, fake, focused, open, received } from './stage.mjs';

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
  assert.deepEqual(await chosen(/call the dentist/), ['add task call the dentist', 'call the dentist']);
  assert.equal((await chosen(/Run a command/))[1], 'COMMAND');
  await page.getByText('What else you can say').click();
  await page.getByRole('button', { name: 'put back the last change' }).click();
  assert.equal(await page.locator('#composer').inputValue(), 'put back the last change');
  await shot(page, 'welcome-more-375-light');
  assert.deepEqual(await sideways(page), { by: 0, elements: [] });
  assert.deepEqual([...await weakTexts(page), ...await smallTargets(page), ...await objections(page)], []);
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
  const found = await objections(page);
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

test('a sentence that lacks a part is made whole by a tap, and said by nobody but its owner', async (t) => {
  const answers = { message: 'msg-1', came_of: 'refused' };
  const text = 'In which directory? Nothing was done yet.\n• run make test in ~/code/app\n• run make test in `~/my notes`';
  const entries = [...ENTRIES, { ...sample.entry('silas', text, 500), answers }];
  const page = await open(t, { entries }, { at: 'stream' });
  const chips = page.getByRole('list', { name: 'Say it like this' }).getByRole('button');
  await chips.first().waitFor();
  assert.deepEqual(await chips.allTextContents(), ['run make test in ~/code/app', 'run make test in `~/my notes`']);
  assert.deepEqual([...await smallTargets(page), ...await weakTexts(page), ...await objections(page)], []);
  assert.deepEqual(await sideways(page), { by: 0, elements: [] });
  await chips.first().click();
  assert.equal(await page.locator('#composer').inputValue(), 'run make test in ~/code/app');
  // A model's lines are no buttons, and neither is a long list.
  for (const more of [{ text, in_models_words: true, answers }, { text: '• a\n'.repeat(1) + [1, 2, 3, 4, 5, 6].map((n) => `• run ${n} in /x`).join('\n'), answers }]) {
    fake.seq += 1;
    fake.tell({ type: 'message', seq: fake.seq, entry: { ...sample.entry('silas', more.text, 0), ...more } });
    await page.getByRole('list', { name: 'Say it like this' }).waitFor({ state: 'detached' });
    fake.seq += 1;
    fake.tell({ type: 'message', seq: fake.seq, entry: { ...sample.entry('silas', text, 0), answers } });
    await chips.first().waitFor();
  }
});
