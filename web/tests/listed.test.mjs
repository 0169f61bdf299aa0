// What a card is called in a list is the same in the page and in the terminal.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { listed } from '../lib/listed.js';
import { open } from './stage.mjs';
import * as sample from './sample-cards.mjs';

const REAL = JSON.parse(readFileSync(new URL('real-cards.json', import.meta.url), 'utf8'));

test('every card is listed as the runtime lists it', () => {
  const told = Object.values(REAL).filter((card) => card.listed);
  assert.ok(told.length > 3, 'results are told apart');
  for (const [name, card] of Object.entries(REAL)) assert.equal(listed(card.face), card.listed ?? card.face.intent, name);
});

test('what is up next says which result it is', async (t) => {
  const cards = ['rehearsed', 'done', 'report'].map((name) => sample.realCard(name));
  const page = await open(t, { cards });
  await page.locator('.next-intent').first().waitFor();
  const shown = await page.locator('.next-words').allInnerTexts();
  // What may be a model's stands on a line of its own.
  const words = cards.slice(1).map(({ face }) => [face.intent, listed(face).slice(face.intent.length).replace(/^[:,]? /, '')].join('\n'));
  assert.deepEqual(shown.map((text) => text.replaceAll(/\s*\n\s*/g, '\n')), words);
  assert.ok(shown.some((text) => text.includes('‘sh fix.sh')), shown.join('; '));
});
