// A secret and a model, from the page alone, with a real Silas: asked for by a plan and by a provider, typed into a card,
// and afterwards looked for everywhere. It should be in the vault and nowhere else. Each stop is looked at on a phone and at
// a desk; one value is entered on each.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, settle, shot, sideways, smallTargets, weakTexts } from './browser.mjs';
import { direct, startProvider } from './model-provider.mjs';
import { DESK, PHONE } from './owner.mjs';
import { PATIENCE_MS, startSilas } from './real-server.mjs';

const SECRET = 'canary-f00d-51c3-mail';
const KEY = 'sk-canary-9e77ab20';

const silas = await startSilas();
const REPO = realpathSync(silas.repo);
let browser;
let context;
let page;
let model;
const frames = [];
const requests = [];

/** The keys with which the model was asked. */
const asked = [];

before(async () => {
  // It knows one key.
  model = await startProvider(({ body, authorization }, say) => {
    asked.push(authorization);
    if (authorization !== `Bearer ${KEY}`) return 401;
    return say(body.includes('capital') ? direct('Paris.') : '{"word":"ready"}');
  });
  browser = await launch();
  context = await browser.newContext(PHONE);
  context.setDefaultTimeout(PATIENCE_MS);
  page = await context.newPage();
  page.on('websocket', (socket) => {
    socket.on('framesent', ({ payload }) => frames.push(String(payload)));
    socket.on('framereceived', ({ payload }) => frames.push(String(payload)));
  });
  page.on('request', (request) => requests.push({ url: request.url(), method: request.method(), headers: JSON.stringify(request.headers()) }));
  await page.goto(silas.url);
  await page.getByRole('button', { name: 'Pair this browser' }).click();
  await page.getByText('Nothing happens without you.').waitFor();
});
after(async () => {
  await browser?.close();
  model?.close();
  await silas.stop();
});

const tab = (name, on = page) => on.getByRole('navigation', { name: 'Surfaces' }).getByRole('link', { name }).tap();
const card = (intent, on = page) => on.locator('.card', { has: on.getByRole('heading', { name: intent }) });
const step = (what) => console.log(`- ${what}`);

async function say(text) {
  await tab('Stream');
  await page.getByRole('textbox', { name: 'Ask or tell' }).fill(text);
  await page.getByRole('button', { name: 'Send' }).tap();
  await tab(/Review/);
}

/** Until the page is laid out for it. */
async function resize(viewport) {
  await page.setViewportSize(viewport);
  await page.locator(viewport === DESK.viewport ? '.frame.wide' : '.frame:not(.wide)').waitFor();
}

/** What is on the page stays on it when it is as wide as a desk, and fits there too. */
async function look(name) {
  for (const { viewport } of [PHONE, DESK]) {
    const what = `${viewport.width}-${name}`;
    await resize(viewport);
    await shot(page, `secrets-${what}`);
    assert.deepEqual(await sideways(page), { by: 0, elements: [] }, what);
    assert.deepEqual(await weakTexts(page), [], what);
    assert.deepEqual(await smallTargets(page), [], what);
    if (viewport !== PHONE.viewport) continue;
    for (const body of await page.locator('.card-body').all()) assert.ok((await body.evaluate((it) => it.offsetHeight)) <= 300, what);
  }
  await resize(PHONE.viewport);
}

async function approve() {
  await settle(page);
  await page.locator('.dock .filled').tap();
  await settle(page);
  await page.getByRole('button', { name: 'Confirm' }).tap();
}

const field = () => page.locator('.entry-field[type=password]');

/** With a thumb, on a phone. */
async function type(value) {
  await field().fill(value);
  await settle(page);
  await page.getByRole('button', { name: 'Save to vault' }).tap();
}

/** With a mouse and keys, at a desk. */
async function typeAtDesk(value) {
  await resize(DESK.viewport);
  await field().click();
  await page.keyboard.type(value);
  assert.equal(await field().inputValue(), value);
  await settle(page);
  await page.keyboard.press('Enter');
}

/** Every file; a socket or a link is none. */
function files(directory) {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? files(path) : entry.isFile() ? [path] : [];
  });
}

/** A value as it is, in base64 and in hexadecimal. */
const spellings = (value) => [value, Buffer.from(value).toString('base64').replace(/=+$/, ''), Buffer.from(value).toString('hex')];
const finds = (text, value) => spellings(value).some((spelling) => text.includes(spelling));

test('a plan asks for its secret, a provider for its key, and neither value is anywhere but in the vault', async () => {
  const plan = `---\nid: task-use-secret\ntitle: Use the secret\ntype: task\nsteps:\n  - run: 'silas-secret get mail | wc -c | tr -d " " > length.txt'\nverify:\n  - name: it was given\n    run: cat length.txt\n    expect: { contains: "${SECRET.length}" }\nsandbox:\n  directories:\n    - { path: ${REPO}, access: write }\n  secrets: [mail]\n---\nUse it.\n`;
  step('a plan that names a secret which the vault lacks asks for it');
  await say(plan);
  await card(/^Let plans work in/).waitFor();
  await approve();
  await card('Paste the secret mail').waitFor();
  await look('1-asked');
  step('a second tab shows the same card, and one answer takes it from both');
  const other = await context.newPage();
  await other.goto(`${new URL(silas.url).origin}/#review`);
  await card('Paste the secret mail', other).waitFor();
  await type(SECRET);
  await card(/^Run 1 command in/).waitFor();
  await card('Paste the secret mail', other).waitFor({ state: 'detached' });
  await other.close();
  await look('2-goes-on');
  assert.match(silas.command('secret', 'list'), /^mail\s+set /);

  step('a model is added by cards alone');
  await say('what is the capital of France');
  await tab('Stream');
  await page.getByRole('button', { name: 'Add a model' }).waitFor();
  await look('3-no-model');
  await page.getByRole('button', { name: 'Add a model' }).tap();
  // The plan waits behind it.
  await card('Choose who answers open questions').waitFor();
  await look('4-choice');
  await page.locator('.choice', { hasText: 'Other address' }).tap();
  await page.getByRole('textbox', { name: 'Model' }).fill('test');
  await page.getByRole('textbox', { name: 'Address' }).fill('ftp://nowhere');
  await settle(page);
  await page.getByRole('button', { name: 'Go on with this one' }).tap();
  await page.getByRole('alert').getByText('Address: write it whole').waitFor();
  await look('5-other-address');
  // What was typed on the phone is there at the desk, and on the phone again.
  assert.equal(await page.getByRole('textbox', { name: 'Model' }).inputValue(), 'test');
  await page.getByRole('textbox', { name: 'Address' }).fill(model.url);
  await settle(page);
  await page.getByRole('button', { name: 'Go on with this one' }).tap();
  await card(/^Paste the key for 127\.0\.0\.1/).waitFor();
  await look('6-key');
  await typeAtDesk(KEY);
  step('the agreement says what leaves and to whom; nothing was sent before it');
  await card('Ask a model on this machine').waitFor();
  await look('7-agreement');
  assert.deepEqual(asked, []);
  await settle(page);
  await page.getByRole('button', { name: 'Agree, make 1 test call' }).tap();
  await card('The model answers').waitFor();
  await page.getByText('on this machine answered in').first().waitFor();
  await look('8-tested');
  await settle(page);
  await page.getByRole('button', { name: 'Done' }).tap();
  step('it answers at once, without a restart');
  await say('what is the capital of France');
  await tab('Stream');
  await page.locator('.turn', { hasText: 'Paris.' }).waitFor();
  await look('9-answered');
  assert.deepEqual(asked, Array(2).fill(`Bearer ${KEY}`));

  step('the search');
  const page_keeps = await page.evaluate(async () => {
    const stores = await Promise.all((await indexedDB.databases()).map(({ name }) => new Promise((resolve) => {
      const opening = indexedDB.open(name);
      opening.onsuccess = async () => {
        const read = (store) => new Promise((done) => { const all = opening.result.transaction(store).objectStore(store).getAll(); all.onsuccess = () => done(all.result); });
        resolve(await Promise.all([...opening.result.objectStoreNames].map(read)));
        opening.result.close();
      };
    })));
    const cached = await Promise.all((await caches.keys()).map(async (name) => {
      const cache = await caches.open(name);
      return Promise.all((await cache.keys()).map(async (request) => request.url + await (await cache.match(request)).text()));
    }));
    const { state } = await import('/lib/store.js');
    return JSON.stringify({ stores, cached, local: { ...localStorage }, session: { ...sessionStorage }, history: history.state, state, url: location.href, html: document.documentElement.outerHTML });
  });
  const exported = join(silas.place, 'export');
  silas.command('audit', 'export', '--with-texts', exported);
  const processes = execFileSync('sh', ['-c', 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null; true'], { encoding: 'latin1', maxBuffer: 1 << 28 });
  const everything = {
    page: page_keeps, frames: frames.join('\n'), requests: JSON.stringify(requests), log: silas.log.join(''), processes,
    ...Object.fromEntries(files(silas.place).filter(existsSync).map((path) => [path, readFileSync(path, 'latin1')])),
  };
  assert.ok(Object.keys(everything).some((path) => path.endsWith('agent.sqlite-wal')) && Object.keys(everything).some((path) => path.includes('export')));
  assert.ok(everything.frames.includes('secure_input') && everything.requests.includes('/secrets/mail'), 'the search is blind');
  for (const [where, text] of Object.entries(everything)) {
    for (const value of [SECRET, KEY]) assert.ok(!finds(text, value), `${value} is in ${where}`);
  }
  // In the vault it is sealed, so it is not found there either; that it is there was shown by its use.
  assert.match(silas.command('secret', 'list'), /compatible:127\.0\.0\.1/);
});
