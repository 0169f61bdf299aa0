// What is signed is what is seen: attempts to hide part of a change or of a command on the face of a card, in a real
// browser. Each has its card of an honest look, and must be found out by reading the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonical } from '../lib/canonical.js';
import { settle } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { open } from './stage.mjs';

/** The same card with other contents, and hashes that are right for them. */
function remade(card, { face = (same) => same, payload = (same) => same }) {
  const made = { ...card, face: face(structuredClone(card.face)), payload: canonical(payload(JSON.parse(card.payload))) };
  const hashes = { shown: sample.sha256(canonical(made.face)), plan_hash: sample.sha256(made.payload) };
  made.offer = { ...made.offer, ...hashes };
  if (made.show_first) made.show_first = { ...made.show_first, ...hashes };
  return made;
}

const figure = (page, path) => page.locator('.details .diff', { has: page.locator('.path', { hasText: new RegExp(`^${path}$`) }) });
const asSeen = (locator) => locator.evaluate((element) => /** @type {HTMLElement} */ (element).innerText);

test('every changed file is named, and what is in none of its lines is said', async (t) => {
  const page = await open(t, { cards: [sample.realCard('half_seen')] });
  await page.getByText('6 files, not all shown').waitFor();
  // Nobody has to look for it: the details are open.
  await page.getByRole('heading', { name: 'Not on this card' }).waitFor();
  const seen = async (path) => (await asSeen(figure(page, path))).replaceAll(/\s+/g, ' ');
  const cut = await seen('tides/tables.py');
  assert.match(cut, /2,048 changed lines not shown here/);
  assert.doesNotMatch(cut, /unchanged/);
  assert.match(await seen('tides/map.png'), /Not text, or too large to show\./);
  assert.doesNotMatch(await seen('tides/map.png'), /\+0/);
  assert.match(await seen('tides/report.py'), /Becomes executable/);
  assert.match(await seen('hooks/late.sh'), /New, executable/);
  assert.match(await seen('zone.cfg'), /Becomes a link.*symlink to \/etc\/passwd/);
  assert.match(await seen('old.cfg'), /Is deleted/);
  // What cannot be read is not applied with one tap, however green its checks are.
  await settle(page);
  await page.locator('.dock .filled:enabled').click();
  assert.match(await page.locator('#consequence').innerText(), /Part of it is not on this card\./);
});

test('a card of an earlier version does not call changed lines unchanged either', async (t) => {
  const lines = [{ added: 'a = 1' }, { gap: 51 }];
  const diff = { path: 'tides/a.py', mode_before: { file: 0o600 }, mode_after: { file: 0o644 }, added: 52, removed: 0, lines };
  const page = await open(t, { cards: [remade(sample.rehearsedCard(), { face: (face) => ({ ...face, diffs: [diff] }) })] });
  await figure(page, 'tides/a.py').waitFor();
  const seen = await asSeen(figure(page, 'tides/a.py'));
  assert.match(seen, /51 changed lines not shown here/);
  assert.match(seen, /Permissions 600 become 644/);
  assert.doesNotMatch(seen, /unchanged/);
});

test('many files are all listed', async (t) => {
  const diffs = Array.from({ length: 84 }, (_, n) => ({ path: n === 83 ? 'zz_evil.py' : `made/${n}.txt`, mode_after: { file: 0o644 }, added: 1, removed: 0, lines: [{ added: 'x' }], is_verbatim: true }));
  const page = await open(t, { cards: [remade(sample.rehearsedCard(), { face: (face) => ({ ...face, diffs }) })] });
  await page.locator('.details .diff').first().waitFor();
  assert.equal(await page.locator('.details .diff').count(), 84);
  await figure(page, 'zz_evil.py').waitFor();
});

test('a command reads as it runs: its words, its lines, its spaces and its backticks', async (t) => {
  const steps = [['rm', 'a b'], ['rm', 'a', 'b'], 'echo `rm x`', { python: 'if False:\n    pass\nevil()' }, { python: '# only a comment\rimport os' }, 'echo a\u{e0100}\u3164\u2800\u034fb'];
  const shown = ["rm 'a b'", 'rm a b', 'echo `rm x`', 'python: if False:\n    pass\nevil()', 'python: # only a comment⟨U+000D⟩import os', 'echo a⟨U+E0100⟩⟨U+3164⟩⟨U+2800⟩⟨U+034F⟩b'];
  const card = remade(sample.planCard(), {
    payload: (plan) => ({ ...plan, steps: steps.map((run) => ({ run, cwd: null })) }),
    // As a runtime would put it that lets everything through.
    face: (face) => ({ ...face, details: [{ title: 'Steps', lines: steps.map((run) => (Array.isArray(run) ? run.join(' ') : run.python ?? run)) }] }),
  });
  const page = await open(t, { cards: [card] });
  await page.locator('.details summary').click();
  const signed = page.locator('.signed .detail', { hasText: 'Steps' }).first().locator('li');
  assert.deepEqual(await signed.evaluateAll((lines) => lines.map((line) => line.innerText)), shown);
  const face = page.locator('.details-body > .detail', { has: page.getByRole('heading', { name: 'Steps', exact: true }) }).locator('li');
  assert.deepEqual((await face.evaluateAll((lines) => lines.map((line) => line.innerText))).slice(2), shown.slice(2).map((line) => line.replace('python: ', '')));
});

test('a conflict shows both plans that its buttons sign', async (t) => {
  const page = await open(t, { cards: [sample.realCard('conflict_merge')] });
  const summary = page.locator('.details summary');
  await summary.waitFor();
  if (await page.locator('.details:not([open])').count()) await summary.click();
  await page.locator('.signed').getByRole('heading', { name: 'If you redo it: Directories' }).waitFor();
});
