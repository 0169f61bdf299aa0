// What there is to read can be read: nothing stands behind the composer or beyond an edge, words use the room that is there,
// and a way back does not scroll away.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonical } from '../lib/canonical.js';
import { blocksOf } from '../lib/prose.js';
import { objections, settle, shot, sideways, weakTexts } from './browser.mjs';
import { ENTRIES, fake, open, received, scene, sent } from './stage.mjs';
import * as sample from './sample-cards.mjs';

/** What is signed about a card follows what it shows. */
const shown = (card, face) => ({ ...card, face, ...(card.offer && { offer: { ...card.offer, shown: sample.sha256(canonical(face)) } }) });
const box = (page, selector) => page.locator(selector).first().boundingBox();

test('all that the empty Stream offers stands above the composer of a phone, and so does what is opened', async (t) => {
  const page = await open(t, {}, { at: 'stream' });
  const end = async (selector) => {
    const { y, height } = await box(page, selector);
    return y + height;
  };
  const composer = (await box(page, '.composer')).y;
  for (const what of ['.welcome-note', '.welcome-more > summary']) assert.ok(await end(what) <= composer, `${what} ends at ${await end(what)}, the composer begins at ${composer}`);
  await page.getByText('What else you can say').click();
  await page.waitForFunction(() => document.querySelectorAll('.welcome-sentence')[2]?.getBoundingClientRect().bottom < document.querySelector('.composer').getBoundingClientRect().top);
});

test('every filter of Activity is in sight', async (t) => {
  for (const [width, height] of [[375, 812], [1280, 800]]) {
    const page = await open(t, {}, { width, height, at: 'activity' });
    await page.locator('.filter').first().waitFor();
    const beyond = await page.locator('.filter').evaluateAll((all) => all.filter((chip) => {
      const [a, b] = [chip.getBoundingClientRect(), chip.parentElement.getBoundingClientRect()];
      return a.left < b.left || a.right > b.right;
    }).map((chip) => chip.textContent));
    assert.deepEqual(beyond, []);
  }
});

test('the way back from a proof stays in reach', async (t) => {
  const page = await open(t, {}, { at: `proof/${sample.PROOF.execution}` });
  await page.locator('.proof-file').waitFor();
  const { y } = await box(page, '.proof-back');
  assert.ok(await page.locator('.proof').evaluate((proof) => {
    proof.scrollTop = proof.scrollHeight;
    return proof.scrollTop > 100;
  }), 'there is something to scroll');
  assert.equal((await box(page, '.proof-back')).y, y);
  await shot(page, 'proof-end-375-light');
  await page.getByRole('button', { name: 'Back', exact: true }).click();
  await page.locator('.proof').waitFor({ state: 'detached' });
});

test('the words of the owner on a result use the room that is there, and end at a word', async (t) => {
  const card = sample.doneCard();
  const words = 'Put the clock right in the tides report and say in the readme which zone it is, please, for every harbour of the north';
  const page = await open(t, { entries: ENTRIES, cards: [shown(card, { ...card.face, asked: words })] });
  const asked = page.locator('.asked');
  await asked.getByText('…').waitFor();
  const said = (await asked.innerText()).replace(/^“/, '').replace(/ …”$/, '');
  assert.ok(words.startsWith(`${said} `), `ended at a word: ${said}`);
  assert.ok(said.length > 40, `two lines of it: ${said}`);
  assert.ok(await asked.evaluate((e) => e.scrollHeight <= e.clientHeight + 1), 'nothing of it is cut off');
  await scene(page, { entries: ENTRIES, cards: [shown(card, { ...card.face, asked: 'Put the clock right, and say so' })] }, 'review');
  await asked.getByText('“Put the clock right, and say so”').waitFor();
});

test('lines of a conflict that a side did not change are not marked as its edit', async (t) => {
  const card = sample.realCard('conflict');
  const [yours, silas] = card.face.versions.shown;
  const versions = {
    ...card.face.versions,
    shown: [{ ...yours, lines: ['as it was', 'mine'], kept: [0] }, { ...silas, lines: ['its own', 'more of it'] }],
    compare: [{ path: 'tides/report.py', lines: [{ removed: 'as it was' }, { removed: 'mine' }, { added: 'its own' }, { added: 'more of it' }], kept: [0] }],
  };
  const page = await open(t, { entries: ENTRIES, cards: [shown(card, { ...card.face, versions })] });
  const marks = (selector) => page.locator(selector).evaluateAll((all) => all.map((line) => line.innerText.replaceAll(/\s+/g, ' ').trim()));
  await page.locator('.versions').waitFor();
  assert.deepEqual(await marks('.version li'), ['+ added: mine', '+ added: its own'], 'of one line each, the changed one');
  await page.locator('.details summary').click();
  assert.deepEqual(await marks('.compared li'), ['Before as it was', 'You mine', 'Silas its own', 'Silas more of it']);
  await shot(page, 'conflict-kept-375-light');
});

test('a result shows the change first, open where there is room', async (t) => {
  const page = await open(t, { entries: ENTRIES, cards: [sample.rehearsedCard()] });
  await page.locator('.details[open] .diff').first().waitFor();
  assert.equal(await page.locator('.details-body > *').first().evaluate((e) => e.className), 'diff', 'before anything that is said about it');
  const [diff, dock] = [await box(page, '.details .diff'), await box(page, '.dock')];
  assert.ok(diff.y + 60 < dock.y, 'its first lines are seen without scrolling');
  const low = await open(t, { entries: ENTRIES, cards: [sample.rehearsedCard()] }, { height: 667 });
  await low.locator('.card').waitFor();
  assert.equal(await low.locator('.details[open]').count(), 0);
});

test('many files are put in place by two steps, however well they are proved', async (t) => {
  const card = sample.rehearsedCard();
  const diffs = Array.from({ length: 30 }, (_, n) => ({ ...card.face.diffs[0], path: `tides/${n}.py` }));
  const face = { ...card.face, diffs };
  const { evidence: { before, after } } = face;
  const payload = canonical({ ...JSON.parse(card.payload), findings: sample.sha256(canonical({ after, before, diffs })) });
  const made = shown({ ...card, payload, offer: { ...card.offer, plan_hash: sample.sha256(payload) } }, face);
  const page = await open(t, { entries: ENTRIES, cards: [made] });
  await page.locator('.dock .filled:enabled').waitFor();
  await settle(page);
  await page.locator('.dock .filled').click();
  await settle(page);
  assert.equal(sent('approval_response').length, 0);
  await page.getByRole('button', { name: 'Confirm' }).click();
  assert.equal((await received('approval_response'))[0].token.body.offer.kind, 'apply');
});

test('after an undo on a phone it is said what happened, where it was pressed', async (t) => {
  const page = await open(t, { entries: ENTRIES, cards: [sample.doneCard()] });
  await settle(page);
  await page.locator('.undo').click();
  await page.getByText('Nothing to decide').waitFor();
  assert.equal(await page.locator('.told').count(), 0, 'nothing has happened yet');
  fake.tell({ type: 'message', seq: 1, entry: sample.entry('silas', 'Put 2 files back in tidepool, exactly as before.', 0) });
  await page.locator('.told', { hasText: 'Put 2 files back in tidepool, exactly as before.' }).waitFor();
  await shot(page, 'undone-375-light');
  assert.deepEqual(await sideways(page), { by: 0, elements: [] });
});

const SAID = 'Two things are off:\n\n- the **zone** is dropped\n  when it is read\n- `report.py` adds it twice\n\n1. Keep it\n2. Test it\n\n```python\nwhen = parse(text)  # <b>not bold</b>\n\nprint(when)\n```\nSee [here](https://tides.example/x.png) ![x](https://tides.example/x.png) <img src=x>.';

test('what a model said is text with lists and code, and no markup of its own', async (t) => {
  const page = await open(t, { entries: [sample.entry('owner', 'What is off?', 2000), { ...sample.entry('silas', SAID, 1000), in_models_words: true }] }, { at: 'stream' });
  const prose = page.locator('.prose');
  await prose.waitFor();
  assert.deepEqual(await prose.locator(':scope > *').evaluateAll((all) => all.map((e) => e.tagName)), ['P', 'UL', 'OL', 'PRE', 'P']);
  assert.deepEqual(await prose.locator('li').allInnerTexts(), ['the **zone** is dropped\nwhen it is read', '`report.py` adds it twice', 'Keep it', 'Test it']);
  assert.equal(await prose.locator('pre').innerText(), 'when = parse(text)  # <b>not bold</b>\n\nprint(when)');
  assert.equal(await prose.locator('a, img, b, strong, script').count(), 0);
  await shot(page, 'prose-375-light');
  assert.deepEqual(await sideways(page), { by: 0, elements: [] });
  assert.deepEqual([...await weakTexts(page), ...await objections(page)], []);
});

test('every word of what a model said is in one of its blocks', () => {
  const words = (text) => text.match(/[\p{L}\d]+/gu) ?? [];
  for (const text of [SAID, 'One line', '', '```\nnot closed\nat all', '- a\n\n- b\n\ntext\n1) c\n   more\n7. d', 'text\n- item\ntext again', '~~~sh\n```\n~~~\nend']) {
    const told = blocksOf(text).map((block) => ('items' in block ? block.items.map((item, n) => (block.kind === 'numbers' ? `${block.start + n} ${item}` : item)).join('\n') : block.text)).join('\n');
    const wanted = words(text.replaceAll(/^(```|~~~)(python|sh)$/gm, ''));
    assert.deepEqual(words(told), wanted, text);
  }
});

test('nothing lies over the page but what asks for an answer', async (t) => {
  const page = await open(t, { entries: ENTRIES, cards: [sample.planCard()] });
  fake.tell({ type: 'error', code: '', message: 'The model did not answer.', todo: 'Try again.' });
  await page.getByRole('alert').waitFor();
  const over = await page.evaluate(() => [...document.querySelectorAll('body *')].filter((e) => getComputedStyle(e).position === 'fixed' && !e.closest('dialog')).map((e) => e.className));
  assert.deepEqual(over, []);
  const [notice, card] = [await box(page, '.notice'), await box(page, '.card')];
  assert.ok(notice.y + notice.height <= card.y);
});
