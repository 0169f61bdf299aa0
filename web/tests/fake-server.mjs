// A Silas that is only a stage: serves the page under the real policy, speaks the real protocol, checks real
// signatures, and shows whatever cards a test puts on it. For states that are hard to reach with the real one.

import { createHash, createHmac, createPublicKey, randomUUID, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';
import { canonical } from '../lib/canonical.js';
import { INSTALLATION, PROOF, at, evidence, houseRules, sha256, snapshot } from './sample-cards.mjs';

const WEB = fileURLToPath(new URL('..', import.meta.url));
export const CODE = 'correct-horse';
const REPOSITORY = join(WEB, '..');
/** The policy of the real one, from where it is written: lines that end in a backslash go on without their indentation. */
export const POLICY = /^const POLICY: &str = "([^"]*)";/m.exec(readFileSync(join(REPOSITORY, 'crates/silas-web/src/guard.rs'), 'utf8'))[1].replaceAll(/\\\n\s*/g, '');
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png', '.json': 'application/json', '.webmanifest': 'application/manifest+json' };

function publicKey(base64url) {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: base64url }, format: 'jwk' });
}

function holds(key, body, signature) {
  return signature.alg === 'ed25519' && verify(null, Buffer.from(canonical(body)), publicKey(key), Buffer.from(signature.sig, 'base64url'));
}

/** @param {{ port?: number }} [options] */
export async function startFake({ port = 0 } = {}) {
  const devices = new Map();
  const received = [];
  const fake = { beyond: [], pages: {}, given: [], refuseSecret: null, hold: null, frames: [], shown: snapshot(), received, devices, sockets: new Set(), refuse: false, rules: houseRules(), silent: false, seq: 0, acks: [], since: null, edits: [], wayBack: null, holdWelcome: null, links: [], proof: {}, evidence: {}, measures: [{ name: 'Time to decide', value: '5 s', target: '2 to 15 s', note: '' }, { name: 'Declined', value: '0 of 21, 0 %', target: '5 to 15 %', note: 'So few that they may not be read.' }] };

  const http = createServer(async (request, response) => {
    response.setHeader('content-security-policy', POLICY);
    const { pathname } = new URL(request.url, 'http://localhost');
    if (pathname === '/pair' && request.method === 'GET') return json(response, 200, { installation: INSTALLATION, epoch: 3, house_rules: fake.rules });
    if (pathname === '/pair') return pair(request, response);
    if (pathname.startsWith('/secrets/')) return secret(request, response);
    try {
      const file = pathname === '/openapi.json' ? join(REPOSITORY, 'docs/openapi.json') : join(WEB, normalize(pathname === '/' ? '/index.html' : pathname));
      const bytes = await readFile(file);
      response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });

  const json = (response, status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

  /** Takes a secret as the real one does: a signature of a device over exactly this body; then the card is answered. */
  async function secret(request, response) {
    let body = '';
    for await (const part of request) body += part;
    const { key, timestamp, nonce, signature } = JSON.parse(Buffer.from(request.headers.authorization.replace(/^Silas /, ''), 'base64url'));
    const proof = { kind: 'write', method: request.method, path: request.url, body: sha256(body), installation: INSTALLATION, key, timestamp, nonce };
    const known = devices.get(key);
    if (!known || !holds(known.public, proof, signature)) return json(response, 401, { code: 'E_CHANNEL_AUTH', message: 'Not signed.', todo: '' });
    fake.given.push([request.url, JSON.parse(body).value]);
    if (fake.refuseSecret) return json(response, fake.refuseSecret.status, fake.refuseSecret.body);
    if (fake.hold) await fake.hold;
    json(response, 200, { stored: true });
    return fake.cards(fake.shown.cards.filter(({ input }) => `/secrets/${encodeURIComponent(input?.ref_id)}` !== request.url));
  }

  async function pair(request, response) {
    let text = '';
    for await (const part of request) text += part;
    const { public: key, name, proof, house_rules: token, replaces } = JSON.parse(text);
    const wanted = createHmac('sha256', CODE).update(`silas-pair ${key}`).digest('base64url');
    if (proof !== wanted) return json(response, 403, { code: 'pairing_code', message: 'This code is not valid any more. Nothing was paired.', todo: 'On the machine where Silas runs: silas pair' });
    const id = `key-${createHash('sha256').update(Buffer.from(key, 'base64url')).digest('hex').slice(0, 32)}`;
    const agreed = !fake.rules || (token && token.body.key === id && token.body.verdict === 'approved' && canonical(token.body.offer) === canonical(fake.rules.offer) && holds(key, token.body, token.signature));
    if (!agreed) return json(response, 403, { code: 'house_rules', message: 'The house rules were not signed.', todo: 'Reload the page.' });
    const old = replaces && devices.get(replaces.body.key);
    if (old && replaces.body.what.device === replaces.body.key && holds(old.public, replaces.body, replaces.signature)) devices.delete(replaces.body.key);
    devices.set(id, { public: key, name });
    return json(response, 200, { installation: INSTALLATION, certificate: { body: { key: id, name }, signature: {} } });
  }

  const wss = new WebSocketServer({ noServer: true });
  http.on('upgrade', (request, socket, head) => {
    if (fake.refuse) return socket.destroy();
    return wss.handleUpgrade(request, socket, head, (ws) => session(ws));
  });

  function session(ws) {
    const challenge = `n-${randomUUID()}`;
    const send = (message) => ws.send(JSON.stringify(message));
    let device = null;
    send({ type: 'challenge', challenge, installation: INSTALLATION });
    ws.on('close', () => fake.sockets.delete(ws));
    ws.on('message', async (data) => {
      fake.frames.push(String(data));
      const message = JSON.parse(data);
      if (!device) {
        const known = devices.get(message.key);
        if (!known || !holds(known.public, { kind: 'session', challenge, installation: INSTALLATION, key: message.key }, message.signature)) return ws.close(4001);
        device = known;
        if (fake.holdWelcome) await fake.holdWelcome;
        fake.sockets.add(ws);
        return send({ type: 'welcome', device: known.name, session: 'sess-1', seq: fake.seq, head: fake.seq, resumed: false, since: fake.since, snapshot: { ...fake.shown, now: at(Date.now()) } });
      }
      if (message.type === 'ack') return void fake.acks.push(message.seq);
      received.push(message);
      if (fake.silent) return undefined;
      if (message.type === 'message') return said(message.message, device, send);
      if (message.type === 'approval_response') return decided(message, device, send);
      if (message.type === 'renew' || message.type === 'dismiss' || ['decision_response', 'model_choose', 'model_again', 'model_another'].includes(message.type)) return send({ type: 'decided', request_id: message.request_id, recorded: true, message: 'Recorded.' });
      if (message.type === 'ledger') return send({ type: 'ledger', part: { after: message.after, links: fake.links.filter(({ seq }) => seq > message.after), head: fake.shown.activity.head } });
      if (message.type === 'grants') return send({ type: 'grants_page', from: message.from, grants: fake.beyond, n_more_grants: 0 });
      if (message.type === 'cards' || message.type === 'activity' || message.type === 'work_list') return send(fake.pages[message.type](message));
      if (message.type === 'evidence') return send({ type: 'evidence', evidence: evidence(message.seq, fake.evidence) });
      if (message.type === 'passkey_add') return undefined;
      if (message.type === 'measures') return send({ type: 'measures', measures: fake.measures });
      if (message.type === 'later_edits') return send({ type: 'later_edits', execution: message.execution, edits: fake.edits });
      if (message.type === 'way_back') {
        fake.cards([...fake.shown.cards, fake.wayBack]);
        return send({ type: 'asked', card: fake.wayBack });
      }
      if (message.type === 'stop') return send({ type: 'stopped', n_works: fake.shown.work.filter(({ running }) => running).length });
      if (message.type === 'withdraw') return withdrawn(message.withdrawal, device, send);
      if (message.type === 'bundle') return send({ type: 'bundle', execution: message.execution, bundle: '{"format":"silas-proof"}\n' });
      if (message.type === 'proof') return send({ type: 'proof', proof: { ...PROOF, ...fake.proof, execution: message.execution } });
      return undefined;
    });
  }

  function said({ body, signature }, device, send) {
    const shape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(body.timestamp) && /^n-[0-9a-f-]{36}$/.test(body.nonce);
    if (!shape || !holds(device.public, body, signature)) return send({ type: 'error', code: 'bad_signature', message: 'The message was not signed by this device.', todo: 'Pair it again.' });
    const entry = { id: `msg-${body.nonce.slice(2)}`, sender: 'owner', text: body.text, at: body.timestamp };
    fake.shown = { ...fake.shown, entries: [...fake.shown.entries, entry] };
    fake.seq += 1;
    return send({ type: 'message', seq: fake.seq, entry });
  }

  function withdrawn({ body, signature }, device, send) {
    const good = body.kind === 'withdrawal' && body.epoch === fake.shown.epoch && holds(device.public, body, signature);
    if (!good || fake.keeps) return send({ type: 'withdrawn', done: false, message: 'Nothing was revoked. Try again.' });
    const { what } = body;
    const all = what.grants ?? [what.grant];
    const grants = fake.shown.grants.filter(({ token }) => !all.includes(token));
    fake.beyond = fake.beyond.filter(({ token }) => !all.includes(token));
    const devs = fake.shown.devices.map((known) => (known.key === what.device ? { ...known, is_revoked: true } : known));
    fake.shown = { ...fake.shown, grants, devices: devs };
    send({ type: 'activity', activity: fake.shown.activity, grants, n_more_grants: fake.beyond.length, devices: devs });
    return send({ type: 'withdrawn', done: true, message: 'Revoked. It holds from now on.' });
  }

  function decided({ request_id, token }, device, send) {
    const card = fake.shown.cards.find(({ id }) => id === request_id);
    const good = card && canonical(token.body.offer) === canonical(card.offer) && holds(device.public, token.body, token.signature);
    send({ type: 'decided', request_id, recorded: Boolean(good), message: good ? 'Recorded.' : 'This card is not open any more.' });
    if (good) fake.cards(fake.shown.cards.filter(({ id }) => id !== request_id));
  }

  const tell = (message) => fake.sockets.forEach((ws) => ws.send(JSON.stringify(message)));
  fake.tell = tell;
  fake.cards = (cards) => {
    fake.shown = { ...fake.shown, cards };
    tell({ type: 'cards', cards, n_more_cards: 0 });
  };
  fake.drop = (code) => fake.sockets.forEach((ws) => (code ? ws.close(code) : ws.terminate()));
  fake.close = () => new Promise((resolve) => {
    wss.clients.forEach((ws) => ws.terminate());
    http.closeAllConnections();
    http.close(resolve);
  });

  // A port that was ours a moment ago may be somebody's way out for another.
  await new Promise((resolve, reject) => {
    let tries = 0;
    http.on('error', (error) => (error.code === 'EADDRINUSE' && (tries += 1) < 100 ? setTimeout(listen, 100) : reject(error)));
    const listen = () => http.listen(port, '127.0.0.1', resolve);
    listen();
  });
  fake.url = `http://localhost:${http.address().port}/`;
  return fake;
}

export { sha256 };
