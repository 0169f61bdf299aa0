// A real Silas for the tests: the binary, a data directory of its own, and a repository with a failing check. It can be
// stopped, killed, and started again where it was. Nothing in it is only for tests: what happens soon here is a setting.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BINARY = process.env.SILAS_BINARY ?? fileURLToPath(new URL('../../target/debug/silas', import.meta.url));
/** Generous: a loaded machine is slow, a hang is forever. */
export const PATIENCE_MS = 60_000;

/** Each plan asks first, also where the house rules would let it be rehearsed. */
export const ASKING = { SILAS__APPROVAL__REHEARSE_FIRST: 'false' };
/** How long a card can be approved. */
export const parkingAfter = (seconds) => ({ SILAS__APPROVAL__PLAN_TIMEOUT_SECONDS: String(seconds) });

/** A script of one test, which is a command: what was not counted is not applied by itself. */
export const counted = (command) => `echo 1..1\nif ${command}; then echo ok 1 - it is so; else echo not ok 1 - it is so; exit 1; fi\n`;

/** Starts the server and reads the address that it prints. @param {Record<string, string>} [settings] @param {number} [at] Its port; any free one otherwise. */
export async function startSilas(settings = {}, at = 0) {
  const place = mkdtempSync(join(tmpdir(), 'silas-story-'));
  const repo = join(realpathSync(place), 'tidepool');
  // A home of its own, which is empty: whose it is that runs the tests is not Silas's to write.
  const home = join(place, 'home');
  mkdirSync(home);
  mkdirSync(join(repo, 'tides'), { recursive: true });
  writeFileSync(join(repo, 'tides', 'zone.txt'), 'UTC\n');
  writeFileSync(join(repo, 'check.sh'), counted('grep -q Vienna tides/zone.txt'));
  writeFileSync(join(repo, 'fix.sh'), "echo Europe/Vienna > tides/zone.txt\n");
  // The keyring of whoever runs the tests is not theirs.
  const env = (more = {}) => ({ ...process.env, HOME: home, SILAS__KEYS__KEYRING: 'false', ...more });
  /** Everything that it printed. */
  const log = [];
  let server;
  let port = String(at);

  /** Starts it on the same data and, after the first time, the same port. */
  async function up(now = settings) {
    server = spawn(BINARY, ['start', '--port', port, '--data-dir', join(place, 'data')], { cwd: '/', env: env(now), stdio: ['ignore', 'pipe', 'pipe'] });
    server.stderr.on('data', (chunk) => {
      log.push(String(chunk));
      process.stderr.write(chunk);
    });
    const url = await new Promise((resolve, reject) => {
      let printed = '';
      const late = setTimeout(() => reject(new Error(`no address in: ${printed}`)), PATIENCE_MS);
      server.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${printed}`)));
      server.stdout.on('data', (chunk) => {
        printed += chunk;
        log.push(String(chunk));
        const [address] = printed.match(/http:\/\/localhost:\d+\/\S*(?=\s)/) ?? [];
        if (address) {
          clearTimeout(late);
          resolve(address);
        }
      });
    });
    ({ port } = new URL(url));
    return url;
  }

  const end = (signal) => new Promise((resolve) => {
    server.once('exit', resolve);
    if (!server.kill(signal)) resolve(undefined);
  });
  /** It stops as it should, with everything put in order. */
  const terminate = () => end('SIGTERM');
  /** It is gone from one instruction to the next. */
  const kill = () => end('SIGKILL');
  /** It takes no notice of anything, until it is killed or told to go on. */
  const freeze = () => server.kill('SIGSTOP');
  const thaw = () => server.kill('SIGCONT');
  const stop = async () => {
    await terminate();
    rmSync(place, { recursive: true, force: true });
  };
  /** What `silas verify` says of a file to whoever knows the root key, where there is no data of this Silas. */
  const verify = (file) => execFileSync(BINARY, ['verify', file, '--key', command('key', 'root').trim()], { cwd: place, env: { HOME: place }, encoding: 'utf8' });
  /** A command in the terminal, and what it prints. An object at the end says what it reads. */
  const command = (...args) => {
    const { input = '' } = typeof args.at(-1) === 'object' ? args.pop() : {};
    return execFileSync(BINARY, ['--data-dir', join(place, 'data'), ...args], { cwd: place, env: env(), encoding: 'utf8', input });
  };
  /** The names of all entries of the ledger, from the first on, as the terminal lists them. */
  const events = () => command('audit', 'list', '--last', '1000').split('\n').flatMap((line) => /^\s*\d+\s.*?\b([a-z]+(?:_[a-z]+)+)\b/.exec(line)?.[1] ?? []);

  /** How often each of these is in the ledger. */
  const counts = (...names) => {
    const all = events();
    return names.map((name) => all.filter((event) => event === name).length);
  };
  const count = (name) => counts(name)[0];
  const wish = `run \`sh fix.sh tides/zone.txt\` in \`${repo}\` and check with \`sh check.sh\``;
  /** As it was in the beginning: the owner's own edit. */
  const breakAgain = () => writeFileSync(join(repo, 'tides', 'zone.txt'), 'UTC\n');

  return { url: await up(), wish, breakAgain, freeze, thaw, count, counts, repo, home, place, log, up, terminate, kill, stop, verify, command, events, binary: BINARY };
}
