// Another page in the same browser, another name for this machine, a browser that is not paired: what each of them gets
// from a real Silas, in a real Chromium. It should be nothing.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { launch, settle } from './browser.mjs';
import { PATIENCE_MS, startSilas } from './real-server.mjs';

const silas = await startSilas();
const { origin, port } = new URL(silas.url);

let browser;
let elsewhere;
let stranger;
let owner;

/** A page of somebody else's, on another port of the same machine: the same site, another origin. */
function serveElsewhere() {
  return new Promise((resolve) => {
    const server = createServer((request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><title>elsewhere</title><p>elsewhere</p>');
    });
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

before(async () => {
  elsewhere = await serveElsewhere();
  // A name that an attacker's name server lets point to this machine.
  // What newer browsers do about that themselves is switched off: the server must not need it.
  browser = await launch(['--host-resolver-rules=MAP rebound.example 127.0.0.1', '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessForNavigations']);
  const context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE_MS);
  // The owner's own page is open and paired in the very same browser.
  owner = await context.newPage();
  await owner.goto(silas.url);
  await owner.getByRole('button', { name: 'Pair this browser' }).click();
  await owner.getByText('Nothing happens without you.').waitFor();
  stranger = await context.newPage();
  await stranger.goto(`http://localhost:${elsewhere.address().port}/`);
});
after(async () => {
  await browser?.close();
  elsewhere?.close();
  await silas.stop();
});

/** Opens a WebSocket in that page, says what it is told, and gives everything that came and how it ended. */
const socket = (page, url, say) => page.evaluate(([url, say]) => new Promise((resolve) => {
  const heard = [];
  const ws = new WebSocket(url);
  ws.onmessage = ({ data }) => {
    heard.push(JSON.parse(data).type);
    for (const text of say.splice(0)) ws.send(text);
  };
  ws.onclose = ({ code }) => resolve({ heard, code });
}), [url, say]);

/** What a page can learn of a request: whether it was refused by the browser, and what could be read. */
const attempt = (page, url, options) => page.evaluate(async ([url, options]) => {
  try {
    const response = await fetch(url, options);
    return { type: response.type, status: response.status, text: await response.text() };
  } catch {
    return { type: 'refused', status: 0, text: '' };
  }
}, [url, options]);

const nothing = { type: 'refused', status: 0, text: '' };
const opaque = { type: 'opaque', status: 0, text: '' };
/** The head of the ledger, as the owner's own page reads it: whatever happens would have moved it. */
const narrative = () => owner.evaluate(async () => {
  const { devices, sign } = await import('/lib/keys.js');
  const { base64url, utf8 } = await import('/lib/bytes.js');
  const { timestamp } = await import('/lib/time.js');
  const [device] = await devices();
  const claim = { key: device.key, timestamp: timestamp(), nonce: `n-${crypto.randomUUID()}` };
  const signature = await sign(device, { kind: 'read', path: '/api/activity', installation: device.installation, ...claim });
  const authorization = `Silas ${base64url(utf8(JSON.stringify({ ...claim, signature })))}`;
  const { head, n_entries } = await (await fetch('/api/activity', { headers: { authorization } })).json();
  return { head, n_entries };
});

test('a page of another origin cannot open the socket', async () => {
  const { heard, code } = await socket(stranger, `ws://localhost:${port}/ws`, ['{"type":"stop"}']);
  assert.deepEqual({ heard, code }, { heard: [], code: 1006 });
});

test('it can read nothing, not even with the owner\'s page open beside it', async () => {
  for (const path of ['/', '/health', '/pair', '/api/review', '/api/activity', '/api/work', '/metrics', '/openapi.json', '/app.js']) {
    assert.deepEqual(await attempt(stranger, origin + path, {}), nothing, path);
    // Without asking to read it the browser sends the request, and gives the page nothing of the answer.
    const sent = await attempt(stranger, origin + path, { mode: 'no-cors', credentials: 'include' });
    assert.ok(sent.type === 'refused' || JSON.stringify(sent) === JSON.stringify(opaque), `${path}: ${JSON.stringify(sent)}`);
    assert.deepEqual(await attempt(stranger, origin + path, { headers: { authorization: 'Silas e30' } }), nothing, path);
  }
  // A script is no way around it, though it is there for the owner's own page.
  assert.equal((await attempt(owner, `${origin}/protocol.js`, {})).status, 200);
  const loaded = await stranger.evaluate((src) => new Promise((resolve) => {
    const script = document.createElement('script');
    script.src = src;
    script.onload = () => resolve('loaded');
    script.onerror = () => resolve('refused');
    document.head.append(script);
  }), `${origin}/protocol.js`);
  // Ports of one machine are one site to a browser, but not one origin: by the server's own word that is not enough.
  assert.equal(loaded, 'refused');
});

/** The header with which the owner's own page would give this secret: what a page from elsewhere could at best have stolen. */
const signedGift = (path, body) => owner.evaluate(async ([path, body]) => {
  const { devices, sign } = await import('/lib/keys.js');
  const { base64url, sha256, utf8 } = await import('/lib/bytes.js');
  const { timestamp } = await import('/lib/time.js');
  const [device] = await devices();
  const claim = { key: device.key, timestamp: timestamp(), nonce: `n-${crypto.randomUUID()}` };
  const signature = await sign(device, { kind: 'write', method: 'POST', path, body: await sha256(body), installation: device.installation, ...claim });
  return `Silas ${base64url(utf8(JSON.stringify({ ...claim, signature })))}`;
}, [path, body]);

test('it cannot give the secret that a card asks for, not even with a signature of the owner\'s', async () => {
  // Silas really waits for one: the key of a provider.
  await owner.getByRole('button', { name: 'Add a model' }).click();
  await owner.getByRole('heading', { name: 'Choose who answers open questions' }).waitFor();
  await settle(owner);
  await owner.getByRole('button', { name: 'Go on with this one' }).click();
  await owner.getByRole('heading', { name: 'Paste the key for openrouter.ai' }).waitFor();
  const before = await narrative();
  const [path, body] = ['/secrets/openrouter', '{"value":"stolen"}'];
  const rebound = await browser.newPage();
  await rebound.route(`http://rebound.example:${port}/start`, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
  await rebound.goto(`http://rebound.example:${port}/start`);
  for (const mode of ['cors', 'no-cors']) {
    const authorization = await signedGift(path, body);
    const got = await attempt(stranger, origin + path, { method: 'POST', mode, headers: { 'content-type': 'application/json', authorization }, body });
    assert.ok(got.type === 'refused' || got.type === 'opaque', JSON.stringify(got));
    // A page under a bent name is of one origin with what it asks, and gets past the browser; not past the door.
    assert.equal((await attempt(rebound, path, { method: 'POST', headers: { authorization: await signedGift(path, body) }, body })).status, 421);
  }
  await rebound.close();
  assert.deepEqual(await narrative(), before);
  // A browser that is not paired gets no further, though its origin is right.
  const nobody = await browser.newContext();
  const page = await nobody.newPage();
  await page.goto(`${origin}/`);
  assert.equal((await attempt(page, path, { method: 'POST', body })).status, 401);
  await nobody.close();
  assert.deepEqual(await narrative(), before);
  // The same signature from the owner's own page is taken: nothing else stood in the way.
  const taken = await attempt(owner, path, { method: 'POST', headers: { authorization: await signedGift(path, body) }, body });
  assert.deepEqual([taken.status, taken.text], [200, '{"stored":true}']);
});

test('it can post nothing: no pairing, no secret, no approval', async () => {
  const before = await narrative();
  const posts = [
    ['/pair', '{"public":"x","name":"evil","proof":"x","house_rules":null}'],
    ['/secrets/ref-1', '{"value":"stolen"}'],
    ['/ws', '{"type":"approval_response"}'],
    ['/api/review', '{"verdict":"approved"}'],
  ];
  for (const [path, body] of posts) {
    for (const type of ['text/plain', 'application/json']) {
      assert.deepEqual(await attempt(stranger, origin + path, { method: 'POST', headers: { 'content-type': type }, body }), nothing, path);
    }
    const form = await stranger.evaluate(([action, body]) => new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.name = `f${Math.random()}`;
      const form = Object.assign(document.createElement('form'), { method: 'POST', action, target: frame.name, enctype: 'text/plain' });
      form.append(Object.assign(document.createElement('input'), { name: body, value: '' }));
      frame.onload = () => {
        if (!form.isConnected) return;
        form.remove();
        let text = 'unreadable';
        try { text = frame.contentDocument?.body.innerText ?? 'unreadable'; } catch { /* another origin: as it should be */ }
        resolve(text);
      };
      document.body.append(frame, form);
      form.submit();
    }), [origin + path, body]);
    assert.ok(['', 'unreadable'].includes(form), `${path}: ${form}`);
  }
  assert.ok(before.n_entries > 0);
  assert.deepEqual(await narrative(), before);
});

test('it cannot show the owner\'s page in a frame of its own', async () => {
  const shown = await stranger.evaluate((src) => new Promise((resolve) => {
    const frame = Object.assign(document.createElement('iframe'), { src });
    frame.onload = () => {
      try {
        resolve(frame.contentDocument === null ? 'blocked' : frame.contentDocument.title);
      } catch {
        resolve('blocked');
      }
    };
    document.body.append(frame);
  }), `${origin}/`);
  assert.equal(shown, 'blocked');
  const frames = stranger.frames().filter((frame) => frame.url().startsWith(origin));
  for (const frame of frames) assert.equal(await frame.locator('#app').count(), 0);
});

test('a name that was bent to this machine gets nothing', async () => {
  const page = await browser.newPage();
  const rebound = `http://rebound.example:${port}`;
  // The attacker's own page, loaded while the name still pointed to the attacker.
  await page.route(`${rebound}/start`, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html><p>rebound</p>' }));
  await page.goto(`${rebound}/start`);
  // From there everything is of one origin, and a browser lets it through, if only to be told 421.
  const said = [];
  page.on('response', (response) => said.push(response.status()));
  page.on('requestfailed', (request) => said.push(request.failure().errorText));
  for (const path of ['/', '/app.js', '/health', '/pair', '/api/review', '/metrics']) {
    assert.equal((await attempt(page, path, {})).text, '', path);
  }
  assert.equal((await attempt(page, '/pair', { method: 'POST', body: '{}' })).text, '');
  assert.deepEqual(await socket(page, `ws://rebound.example:${port}/ws`, []), { heard: [], code: 1006 });
  assert.deepEqual(said, Array(7).fill(421));
  await page.close();
});

test('a browser on this machine that is not paired sees nothing and can only pair', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(`${origin}/`);
  await page.getByText('silas pair').first().waitFor();
  for (const say of [['{"type":"tasks"}'], ['{"type":"stop"}'], ['not json'], ['{"type":"auth","key":"key-1","signature":{"alg":"ed25519","key":"key-1","sig":"AA"},"resume":null}']]) {
    assert.deepEqual(await socket(page, `ws://localhost:${port}/ws`, say), { heard: ['challenge'], code: 4001 });
  }
  for (const path of ['/api/review', '/api/activity', '/api/work', '/metrics']) {
    const { status, text } = await attempt(page, path, {});
    assert.equal(status, 401, path);
    assert.deepEqual(Object.keys(JSON.parse(text)).sort(), ['code', 'message', 'todo'], path);
  }
  const { status } = await attempt(page, '/pair', { method: 'POST', body: '{"public":"x","name":"x","proof":"x","house_rules":null}' });
  assert.ok([400, 403].includes(status), String(status));
  await context.close();
});

test('the page for programs\' authors shows the document, and a paired browser reads with its key', async () => {
  await owner.goto(`${origin}/api.html`);
  await owner.getByRole('heading', { name: 'GET /api/review' }).waitFor();
  await owner.getByRole('heading', { name: 'ClientMessage' }).waitFor();
  const section = owner.locator('section', { has: owner.getByRole('heading', { name: 'GET /api/activity' }) });
  await section.getByRole('button').click();
  await section.getByText('"summary"').waitFor();
});
