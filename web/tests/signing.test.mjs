// What is signed is what is shown, in a real browser: every card that the runtime words can be signed here, and none whose
// words, payload or evidence differ from each other. How many taps that takes is tested elsewhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonical } from '../lib/canonical.js';
import { settle, shot } from './browser.mjs';
import { sha256 } from './fake-server.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, anotherStage, fake, open, received, sent, until } from './stage.mjs';

for (const [width, height] of [[375, 812], [1280, 800]]) {
  test(`what the runtime put on a card can be signed at ${width} px, and nothing that it points to is hidden: every kind`, async (t) => {
    const page = await open(t, { entries: ENTRIES }, { width, height });
    for (const name of sample.REAL_CARDS.filter((known) => sample.realCard(known).offer)) {
      const card = sample.realCard(name);
      fake.cards([card]);
      await page.locator(`[id="${card.id}-intent"]`).waitFor();
      await readsAll(page, card, name);
      await signs(page, card, name);
      await page.getByText('Nothing to decide').waitFor();
    }
  });
}

/** Everything that the face points to is on the page, and open where something is only counted above. */
async function readsAll(page, { face, payload }, name) {
  const pointsBelow = face.facts.some(({ text }) => /listed below|^…\//i.test(text)) || (face.evidence?.before.length ?? 0) > 4 || (face.kind === 'done' && face.diffs.length > 4);
  const startsOpen = pointsBelow || face.risk === 'high' || face.risk === 'irreversible';
  if (startsOpen) assert.equal(await page.locator('.details').getAttribute('open'), '', `${name}: what is listed below is seen`);
  else if (await page.locator('.details:not([open])').count()) await page.locator('.details summary').click();
  const text = await page.locator('.details').textContent();
  for (const { title, lines } of face.details) {
    for (const line of [title, ...lines]) assert.ok(text.includes(line), `${name}, ${title}: ${line}`);
  }
  if (face.quote) for (const words of [face.quote.text, face.asked]) assert.ok(text.includes(words), `${name}: ${words}`);
  const { executor } = JSON.parse(payload);
  if (executor) await page.locator('.signed').getByText(executor.model).first().waitFor();
}

/** The first button and whatever its risk asks for, up to a signature of exactly this. */
async function signs(page, { id, face: { risk }, offer, payload }, name) {
  await settle(page);
  await page.locator('.dock > .button').first().click();
  const { executor, sandbox } = JSON.parse(payload);
  const staysInside = offer.kind === 'rehearsal' && !executor && sandbox.hosts.length === 0;
  // One tap decides what has a low risk, and what only happens in a copy; then there is no dock any more.
  const isOneTap = risk === 'low' || (risk === 'medium' && staysInside);
  if (!isOneTap) await settle(page);
  if (isOneTap) await received('approval_response');
  else if (risk === 'medium') await page.getByRole('button', { name: 'Confirm' }).click();
  else await slideToTheEnd(page);
  if (risk === 'irreversible') {
    await settle(page);
    await page.getByRole('button', { name: 'Sign with this browser' }).click();
  }
  const answers = () => sent('approval_response').filter(({ request_id }) => request_id === id);
  await until(() => answers().length > 0);
  const [{ token }] = answers();
  assert.deepEqual([token.body.offer.plan_hash, token.body.offer.kind], [sha256(payload), offer.kind], name);
}

/** With keys, which is the exact way. */
async function slideToTheEnd(page) {
  await page.getByRole('slider').press('End');
  await page.getByRole('slider').press('Enter');
}

const shown = (card, change) => {
  const face = { ...card.face, ...change };
  return { ...card, face, offer: { ...card.offer, shown: sample.sha256(canonical(face)) } };
};

for (const [what, spoil] of [
  ['the face', (card) => ({ ...card, face: { ...card.face, intent: 'Change 1 file in tidepool' } })],
  ['the payload', (card) => ({ ...card, payload: card.payload.replace('fix.sh', 'rm.sh') })],
  ['the payload’s spelling', (card) => { const payload = card.payload.replace('{', '{ '); return { ...card, payload, offer: { ...card.offer, plan_hash: sample.sha256(payload) } }; }],
  ['the installation', (card) => ({ ...card, offer: { ...card.offer, installation: 'inst-other' } })],
  ['the kind', (card) => ({ ...card, offer: { ...card.offer, kind: 'root' } })],
  ['what a rehearsal allows', (card) => ({ ...shown(card, { state: 'Rehearsal' }), show_first: undefined })],
]) {
  test(`if ${what} is not what would be signed, the dock is replaced`, async (t) => {
    const page = await open(t, { cards: [spoil(sample.planCard())] });
    await page.getByText('This card and the request differ. Nothing was signed. Reload, or decide in the terminal.').waitFor();
    assert.equal(await page.locator('.dock button').count(), 0);
  });
}

test('the details say what the payload says, not only what the face says', async (t) => {
  const page = await open(t, { cards: [sample.planCard()] });
  assert.equal(await page.locator('.details').evaluate((details) => details.open), false);
  await page.locator('.details summary').click();
  const signed = await page.locator('.signed').innerText();
  for (const part of ['sh fix.sh', 'sh check.sh ends with code 0', '/home/mira/code/tidepool, read and change', 'None', '10 min and $0.20 at most']) assert.ok(signed.includes(part), part);
  await shot(page, 'plan-details-375-light');
});

test('agreeing to a model signs exactly what its card says', async (t) => {
  const page = await open(t, { cards: [sample.modelCard()] });
  await settle(page);
  await page.getByRole('button', { name: 'Agree, make 1 test call' }).click();
  await settle(page);
  await page.getByRole('button', { name: 'Confirm' }).click();
  const [{ token }] = await received('approval_response');
  assert.equal(token.body.offer.kind, 'model');
  assert.equal(token.body.verdict, 'approved');
});

test('“show me first” signs its own offer: with one tap where it stays in the copy, with the steps of doing it where something leaves', async (t) => {
  const card = sample.planCard();
  const page = await open(t, { entries: ENTRIES, cards: [card] });
  await settle(page);
  await page.getByRole('button', { name: 'Do it, show me first' }).click();
  const [{ token }] = await received('approval_response');
  assert.deepEqual([token.body.offer, token.body.verdict], [card.show_first, 'approved']);
  // What a model does is sent to it, so it is asked twice.
  const modelled = sample.realCard('model_plan');
  fake.cards([modelled]);
  await page.locator(`[id="${modelled.id}-intent"]`).waitFor();
  await settle(page);
  await page.getByRole('button', { name: 'Do it, show me first' }).click();
  await page.getByText('Nothing is applied before you have seen it.').waitFor();
  await settle(page);
  assert.equal(sent('approval_response').length, 1);
  await page.getByRole('button', { name: 'Confirm' }).click();
  await until(() => sent('approval_response').length === 2);
  assert.deepEqual(sent('approval_response')[1].token.body.offer, modelled.show_first);
});

test('a conflict signs the merge, or the plan again, each with its own offer, and drops only by a no', async (t) => {
  let n_pressed = 0;
  const press = async (name, label) => {
    // Each on a page of its own; the first has its server already.
    if (n_pressed++ > 0) await anotherStage();
    const card = sample.realCard(name);
    const page = await open(t, { entries: ENTRIES, cards: [card] });
    await settle(page);
    await page.getByRole('button', { name: label }).click();
    // What lays both together in a copy applies nothing; what does the plan again may.
    if (label === 'Redo on my version') {
      await settle(page);
      assert.equal(sent('approval_response').length, 0);
      await page.getByRole('button', { name: 'Confirm' }).click();
    }
    const [{ token }] = await received('approval_response');
    return [card, token.body];
  };
  const [merge, merging] = await press('conflict_merge', 'Merge both, check again');
  assert.deepEqual([merging.offer, merging.verdict, merging.offer.kind], [merge.offer, 'approved', 'rehearsal']);
  const [redo, redoing] = await press('conflict_merge', 'Redo on my version');
  assert.deepEqual([redoing.offer, redoing.verdict, redoing.offer.kind], [redo.instead.offer, 'approved', 'plan']);
  const [only, again] = await press('conflict', 'Redo on my version');
  assert.deepEqual([again.offer, again.verdict], [only.offer, 'approved']);
  const [drop, dropped] = await press('conflict_merge', 'Drop Silas\'s change');
  assert.deepEqual([dropped.offer, dropped.verdict], [drop.offer, 'declined']);
});

test('a conflict whose other plan is not what was hashed cannot be signed', async (t) => {
  const card = sample.realCard('conflict_merge');
  const swapped = { ...card, instead: { ...card.instead, payload: card.payload } };
  const page = await open(t, { entries: ENTRIES, cards: [swapped] });
  await page.getByText('This card and the request differ.').waitFor();
});

for (const [what, spoil] of [
  ['the checks', (card) => shown(card, { evidence: { ...card.face.evidence, before: card.face.evidence.after } })],
  ['the outcome', (card) => shown(card, { evidence: { ...card.face.evidence, outcome: 'guarded' } })],
  ['the changes', (card) => shown(card, { diffs: card.face.diffs.slice(1) })],
  ['everything that was found', (card) => shown(card, { evidence: null })],
]) {
  test(`a result whose card lies about ${what} cannot be signed, though its hashes fit`, async (t) => {
    const page = await open(t, { cards: [spoil(sample.rehearsedCard())] });
    await page.getByText('This card and the request differ.').waitFor();
    assert.equal(await page.locator('.dock button').count(), 0);
  });
}
