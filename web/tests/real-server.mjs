// A real Silas for the story: the binary, a data directory of its own, and a repository with a failing check.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BINARY = process.env.SILAS_BINARY ?? fileURLToPath(new URL('../../target/debug/silas', import.meta.url));
/** Generous: a loaded machine is slow, a hang is forever. */
export const PATIENCE_MS = 60_000;

/** Starts the server and reads the address that it prints. */
/** @param {Record<string, string>} [settings] @param {number} [port] Any free one, if none is given. */
export async function startSilas(settings = {}, port = 0) {
  const place = mkdtempSync(join(tmpdir(), 'silas-story-'));
  const repo = join(place, 'tidepool');
  // A home of its own, which is empty: whose it is that runs the tests is not Silas's to write.
  const home = join(place, 'home');
  mkdirSync(home);
  mkdirSync(join(repo, 'tides'), { recursive: true });
  writeFileSync(join(repo, 'tides', 'zone.txt'), 'UTC\n');
  writeFileSync(join(repo, 'check.sh'), 'grep -q Vienna tides/zone.txt\n');
  writeFileSync(join(repo, 'fix.sh'), "echo Europe/Vienna > tides/zone.txt\n");
  const server = spawn(BINARY, ['start', '--port', String(port), '--data-dir', join(place, 'data')], {
    cwd: '/',
    // The keyring of whoever runs the tests is not theirs.
    env: { ...process.env, HOME: home, SILAS__KEYS__KEYRING: 'false', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  /** Everything that it printed. */
  const log = [];
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
      const [address] = printed.match(/http:\/\/localhost:\d+\/#pair=\S+/) ?? [];
      if (address) {
        clearTimeout(late);
        resolve(address);
      }
    });
  });
  const stop = () => new Promise((resolve) => {
    server.once('exit', () => {
      rmSync(place, { recursive: true, force: true });
      resolve();
    });
    server.kill('SIGTERM');
  });
  /** What `silas verify` says of a file to whoever knows the root key, where there is no data of this Silas. */
  const verify = (file) => execFileSync(BINARY, ['verify', file, '--key', command('key', 'root').trim()], { cwd: place, env: { HOME: place }, encoding: 'utf8' });
  /** A command in the terminal, and what it prints. An object at the end says what it reads. */
  const command = (...args) => {
    const { input = '' } = typeof args.at(-1) === 'object' ? args.pop() : {};
    return execFileSync(BINARY, ['--data-dir', join(place, 'data'), ...args], { cwd: place, encoding: 'utf8', input });
  };
  return { url, repo, home, stop, verify, place, log, command, pid: server.pid };
}
