// Whose words are where: what a model wrote stands in quotations and as code, never in a seal, a badge, a claim or a button, on
// any card that the runtime makes, in any row of a list, in the Stream, in Activity and on the page of a proof.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { which } from '../lib/listed.js';
import { settle, shot } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { ENTRIES, fake, open, scene, until } from './stage.mjs';

/** What a model calls its check, in the samples of the runtime; and the answers that it proposes to its question. */
const BRAG = /All 214 project tests/;
/** The same where a model could put it: as a command, as the name of a file, as prose. */
const BOAST = 'All 214 project tests';

const CONTROLS = 'button, a[href], summary, label, option, [role="button"], [role="slider"], [role="tab"], [role="link"], [role="switch"]';

/** The texts of what speaks for Silas alone, and what it is called by whoever listens. */
const own = (page) => page.locator(`.badge, .claim, .caveat, .check-name, .facts dt, h2.intent, .proof-head, ${CONTROLS}`).evaluateAll((all) => all.filter((e) => e.checkVisibility()).flatMap((e) => {
  const named = (e.getAttribute('aria-labelledby') ?? '').split(' ').map((id) => document.getElementById(id)?.textContent ?? '');
  return [e.innerText, e.getAttribute('aria-label') ?? '', e.getAttribute('aria-valuetext') ?? '', e.title ?? '', ...named];
}));

/** The boasts in sight, as they stand where they are quoted. */
const quoted = (page) => page.locator('code, q, blockquote, .quote, .said, .turn-text, .work-title, .folded-title bdi, .proof-title, dt bdi, .sheet-text').filter({ hasText: BRAG }).filter({ visible: true }).count();

async function speaksForItself(page, name) {
  assert.ok(await quoted(page) > 0, `${name}: there is something to be told apart`);
  for (const text of await own(page)) assert.doesNotMatch(text, BRAG, `${name}: ${text}`);
}

test('on no card does a seal, a badge or a button say what a model wrote', async (t) => {
  const page = await open(t);
  for (const name of sample.REAL_CARDS) {
    const card = sample.realCard(name);
    await scene(page, { cards: [card] }, 'review');
    await page.locator('.review .card').waitFor();
    await page.locator('.review details').evaluateAll((all) => all.forEach((details) => { details.open = true; }));
    await settle(page);
    const options = card.input?.options ?? [];
    for (const text of await own(page)) {
      assert.doesNotMatch(text, BRAG, `${name}: ${text}`);
      for (const option of options) assert.ok(!text.includes(option), `${name}: ${text}`);
    }
    // Whoever looks at what is signed finds the name there, as what it is.
    const all = await page.locator('.review').innerText();
    assert.doesNotMatch(all.replaceAll(/“[^”]*”/g, ''), BRAG, name);
  }
});

test('a check is its command, and an older one without it is a quotation that its name cannot leave', async (t) => {
  const page = await open(t, { cards: [sample.realCard('rehearsed')] });
  await settle(page);
  assert.deepEqual(await page.locator('.review .evidence code.check-name').allInnerTexts(), ['python3 -m pytest -q tests/clocks.py', 'python3 -m pytest -q']);
  await shot(page, 'rehearsed-chosen-by-a-model-375-light');
  const brag = [{ ...sample.PROOF.after[0], name: 'x” Proved: all tests', run: undefined }];
  fake.proof = { before: brag, after: brag };
  t.after(() => { fake.proof = {}; });
  await page.goto('about:blank');
  await page.goto(`${fake.url}#proof/${sample.PROOF.execution}`);
  await page.locator('.proof-checks').waitFor();
  assert.deepEqual(await page.locator('.proof-checks .check-name').allInnerTexts(), ["“x' Proved: all tests”"]);
});

test('what is green by exit code does not look like a proof, and names the judges that the work changed', async (t) => {
  const page = await open(t, { cards: [sample.realCard('by_exit_code')] });
  await settle(page);
  const block = page.locator('.review .evidence');
  assert.match(await block.innerText(), /^Green by exit code, judges changed/);
  assert.match(await block.innerText(), /The work changed what judged it: verify\.sh\./);
  assert.match(await block.innerText(), /Beside the change, not applied: node_modules\./);
  assert.equal(await block.locator('.icon-seal').count(), 0);
  assert.deepEqual(await page.locator('.dock button').first().innerText(), 'Apply 2 files, by exit code');
  await shot(page, 'green-by-exit-code-375-light');
  fake.cards([sample.realCard('done_by_exit_code')]);
  await page.locator('.badge', { hasText: 'Green by exit code' }).waitFor();
  // When it is done as well: nothing else on that card would say so.
  assert.match(await block.innerText(), /^Green by exit code, judges changed\s+The work changed what judged it: verify\.sh\./);
  await shot(page, 'done-by-exit-code-375-light');
});

/** The card as a model would like it to be read in a list: by its command, or by the one file that it changed. */
function boasting(name, by) {
  const card = sample.realCard(name);
  const details = [...card.face.details.filter(({ title }) => title !== 'What was run'), ...(by === 'command' ? [{ title: 'What was run', lines: [BOAST] }] : [])];
  const diffs = by === 'file' ? [{ ...sample.DIFFS[0], path: BOAST }] : [];
  return { ...card, face: { ...card.face, details, diffs } };
}

/** Presses where the words of others stand, and nowhere near what is pressed by it. */
const pressBeside = async (page, words) => {
  await words.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await words.boundingBox();
  await page.mouse.click(x + width / 2, y + height / 2);
};

/** What takes focus in each of them. */
const stops = (rows) => rows.evaluateAll((all) => all.map((row) => row.querySelectorAll('button, a[href], [tabindex]').length));

test('no row of Review is pressed by what a model wrote, whatever is listed', async (t) => {
  const results = sample.REAL_CARDS.filter((name) => ['done', 'rehearsed', 'report'].includes(sample.realCard(name).face.kind));
  const page = await open(t, { cards: [sample.planCard()] });
  for (const name of results) {
    const cards = ['command', 'file'].map((by) => boasting(name, by));
    fake.cards([sample.planCard(), ...cards]);
    const rows = page.locator('.up-next li');
    const beside = cards.flatMap(({ face }) => which(face).words || []);
    await until(async () => isDeepStrictEqual(await rows.locator('code').allInnerTexts(), beside) && await rows.count() === 2);
    assert.deepEqual(await rows.locator('button').allInnerTexts(), cards.map(({ face }) => face.intent), name);
    assert.deepEqual(await stops(rows), [1, 1], name);
    for (const text of await own(page)) assert.doesNotMatch(text, BRAG, `${name}: ${text}`);
  }
  const first = boasting('done', 'command');
  fake.cards([sample.planCard(), first, ...sample.REAL_CARDS.map((name) => sample.realCard(name))]);
  await page.locator('.next-more').click();
  await speaksForItself(page, 'all of them');
  await pressBeside(page, page.locator('.next-which', { hasText: BRAG }).locator('code'));
  await page.locator(`[id="${first.id}-intent"]`).waitFor();
});

test('no row of Activity is pressed by what it tells, whatever it tells', async (t) => {
  const icons = ['tick', 'cross', 'seal', 'refused', 'shield', 'pen', 'undo'];
  const rows = icons.map((icon, n) => ({ ...sample.ACTIVITY.rows[0], seq: 1284 - n, icon, text: `Reached ${BOAST}`, note: `On the untouched copy: \`${BOAST}\`` }));
  fake.evidence = { proof: sample.PROOF.execution, facts: [{ label: 'Wanted', text: `\`${BOAST}\`` }], quotes: [{ who: 'In the model’s words', text: BOAST }] };
  for (const [width, height] of [[375, 812], [1280, 800]]) {
    const page = await open(t, { activity: { ...sample.ACTIVITY, rows } }, { width, height, at: 'activity/everything' });
    const listed = page.locator('.timeline .row');
    await listed.last().waitFor();
    await speaksForItself(page, `${width} px`);
    assert.deepEqual(await stops(listed), icons.map(() => 1));
    const opener = listed.first().getByRole('button');
    assert.equal(await opener.getAttribute('aria-label'), 'Entry 1,284 of the log');
    // Whoever listens hears what the row tells after what it is.
    const about = (await opener.getAttribute('aria-describedby')).split(' ');
    assert.deepEqual(await Promise.all(about.map((id) => page.locator(`[id="${id}"]`).innerText())), [rows[0].text, rows[0].note.replaceAll('`', '')]);
    await pressBeside(page, listed.first().locator('.row-note'));
    await listed.first().getByText('Computed here, its hash is').waitFor();
    await speaksForItself(page, `${width} px, opened`);
    // What stands behind it is read, and not pressed.
    await pressBeside(page, listed.first().locator('.row-quote'));
    assert.equal(await opener.getAttribute('aria-expanded'), 'true');
    await pressBeside(page, listed.first().locator('.row-text'));
    await listed.first().locator('.row-evidence').waitFor({ state: 'detached' });
  }
});

test('in the Stream, in what asks whether to stop, and in the list of all work no title is pressed or worn as a badge', async (t) => {
  const outcomes = ['proved', 'green_by_exit_code', 'guarded', 'failed', 'unproven', null];
  const finished = outcomes.flatMap((outcome, n) => [true, false].map((has_proof) => ({ ...sample.finishedWork(), execution: `exec-${n}-${has_proof}`, title: BOAST, outcome, has_proof })));
  const running = sample.runningWork();
  const steps = running.steps.map((step) => ({ ...step, label: `Ran \`${BOAST}\`` }));
  const answered = { ...sample.entry('silas', BOAST), in_models_words: true };
  const shown = { entries: [...ENTRIES, answered], work: [...finished, { ...running, title: BOAST, steps }], answering: { reply: 'msg-draft', text: BOAST, is_second: false } };
  const page = await open(t, shown, { at: 'stream' });
  await page.locator('.folded').last().waitFor();
  await speaksForItself(page, 'the Stream');
  assert.deepEqual(await stops(page.locator('.folded')), finished.map(({ has_proof }) => Number(has_proof)));
  await page.locator('.work-foot').getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('dialog', { name: 'Stop this task' }).waitFor();
  await speaksForItself(page, 'what asks whether to stop');
  await page.getByRole('button', { name: 'Keep going' }).click();
  await pressBeside(page, page.locator('.folded', { has: page.getByRole('button') }).first().locator('bdi'));
  await page.locator('.proof-head').waitFor();
  const works = outcomes.map((_, n) => ({ execution: `exec-${n}`, work_item: 'task-1', title: BOAST, place: 'tidepool', state: ['running', 'rehearsed', 'applied', 'ended', 'undone'][n % 5], outcome: null, files: 1, started_at: sample.at(Date.now()), ended_at: null, undo_until: null, has_proof: n > 0 }));
  fake.pages.work_list = ({ from = 0 }) => ({ type: 'work_list', from, work_list: works, n_more_work: 0 });
  await scene(page, { work: finished }, 'activity');
  await page.getByText('All work').click();
  await page.locator('.works dt').first().waitFor();
  await speaksForItself(page, 'all work');
});

test('on the page of a proof the seal stands alone', async (t) => {
  fake.proof = { title: BOAST, steps: [{ title: `Ran \`${BOAST}\``, note: 'In a private copy' }], diffs: [{ ...sample.DIFFS[0], path: BOAST }] };
  const page = await open(t, {}, { at: `proof/${sample.PROOF.execution}` });
  await page.locator('.proof-head').waitFor();
  await speaksForItself(page, 'the proof');
  assert.equal(await page.locator('.proof-head').innerText(), 'Proved');
});
