// A model that asks before it plans: on its card, with the server of the tests and with a real Silas.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { objections, settle, shot, sideways, smallTargets, weakTexts } from './browser.mjs';
import { startProvider } from './model-provider.mjs';
import { DESK, PHONE, approve, card, look, openPage, pair, say, show, step, tree, troubleOf } from './owner.mjs';
import { ASKING, startSilas } from './real-server.mjs';
import * as sample from './sample-cards.mjs';
import { browser, fake, open, received, retry, sent, until } from './stage.mjs';

const OPTION = 'color, as in the code';

for (const [width, height] of [[375, 812], [1280, 800]]) {
  test(`one tap answers with what the model proposes, signed for this card only, at ${width} px`, async (t) => {
    const asked = sample.realCard('decision');
    const page = await open(t, { cards: [asked] }, { width, height });
    await page.getByRole('heading', { name: 'Answer a question before the plan' }).waitFor();
    await page.getByText('“Which spelling should stay?”').first().waitFor();
    await page.getByText('An answer allows nothing').waitFor();
    await settle(page);
    await shot(page, `asking-${width}-light`);
    fake.silent = true;
    await page.locator('.answer-list li', { hasText: OPTION }).getByRole('button', { name: /^Answer \d$/ }).dblclick();
    const [response, ...more] = await received('decision_response');
    assert.equal(more.length, 0, 'a second tap answers nothing');
    assert.equal(response.request_id, asked.id);
    assert.equal(response.message.body.text, OPTION);
    assert.equal(response.message.body.scope, `answer:${asked.id}`);
    assert.ok(await page.locator('.answer-list li', { hasText: OPTION }).getByRole('button', { name: /^Answer \d$/ }).isDisabled());
    assert.equal(sent('message').length, 0);
  });
}

test('other words: written, kept over a lost connection, sent once there is one; Esc goes back and nothing mandatory is empty', async (t) => {
  const page = await open(t, { cards: [sample.realCard('decision')] });
  await settle(page);
  await page.getByRole('button', { name: 'Answer in my words' }).click();
  const field = page.getByLabel('In your own words');
  await field.waitFor();
  await page.waitForFunction(() => document.activeElement?.matches('textarea.answer-field'));
  await page.getByRole('button', { name: 'Send this answer' }).click();
  assert.equal(sent('decision_response').length, 0, 'nothing is no answer');
  await field.fill('both, <b>each</b> in its place');
  await shot(page, 'asking-words-375-light');
  assert.deepEqual(await sideways(page), { by: 0, elements: [] });
  assert.deepEqual([...await weakTexts(page), ...await smallTargets(page), ...await objections(page)], []);
  fake.refuse = true;
  fake.drop();
  await page.getByText('Silas is not answering.').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Send this answer' }).isDisabled());
  assert.equal(await field.inputValue(), 'both, <b>each</b> in its place');
  fake.refuse = false;
  await retry(page);
  await page.locator('button:enabled', { hasText: 'Send this answer' }).click();
  const [response] = await received('decision_response');
  assert.equal(response.message.body.text, 'both, <b>each</b> in its place');
  fake.cards([sample.realCard('decision_longest')]);
  await page.getByRole('button', { name: 'Answer 1', exact: true }).waitFor();
  await settle(page);
  await page.getByRole('button', { name: 'Answer in my words' }).click();
  await page.waitForFunction(() => document.activeElement?.matches('textarea.answer-field'));
  await page.keyboard.press('Escape');
  await page.getByLabel('In your own words').waitFor({ state: 'detached' });
});

test('an answer that is refused is told, and the card can be answered again; one that was on its way is asked for again', async (t) => {
  const asked = sample.realCard('decision');
  const page = await open(t, { cards: [asked] });
  await settle(page);
  fake.silent = true;
  await page.locator('.answer-list li', { hasText: OPTION }).getByRole('button', { name: /^Answer \d$/ }).click();
  await received('decision_response');
  fake.tell({ type: 'decided', request_id: asked.id, recorded: false, message: 'The answer was not freshly signed by one of your devices, so it was not taken.' });
  await page.getByRole('alert').getByText('not freshly signed').waitFor();
  await page.locator('.answer-list li', { hasText: OPTION }).getByRole('button', { name: /^Answer \d$/ }).click();
  await until(() => sent('decision_response').length === 2);
  fake.drop();
  await page.getByText('Silas did not get your answer').waitFor();
  assert.equal(sent('decision_response').length, 2, 'it is never sent by itself');
  fake.silent = false;
  await page.locator('.answer-list li', { hasText: OPTION }).locator('.answer-chip:enabled').click();
  await until(() => sent('decision_response').length === 3);
});

test('a parked question asks again or is dropped, and its wish with it', async (t) => {
  const page = await open(t, { cards: [sample.realCard('decision', { state: 'parked', issued: Date.now() - 600_000 })] });
  await page.getByRole('button', { name: 'Ask me again' }).waitFor();
  await settle(page);
  assert.equal(await page.locator('.answer-chip').count(), 0);
  await page.getByRole('button', { name: 'Drop it' }).click();
  await received('dismiss');
});

const planner = JSON.stringify({ route: 'planner', reason: 'files change', interaction_register: 'execution', interaction_mode: 'act_and_report', context_profile: 'coding', continuation_of: null, response: null });
const question = JSON.stringify({ message: 'It depends.', needs_approval: true, plan_action: null, question: { text: 'Which zone is meant?', options: ['Vienna', 'Lisbon'] } });
const plan = (repo) => JSON.stringify({ message: 'So.', needs_approval: true, question: null, plan_action: { action: 'propose', continuation_of: null, interaction_mode_override: null, plan_markdown: `---\nid: task-1\ntype: task\ntitle: x\nchanges: [tides/zone.txt]\nsteps:\n  - run: sh fix.sh\nverify:\n  - name: the zone\n    run: sh check.sh\n    expect: { exit_code: 0 }\nsandbox:\n  directories:\n    - { path: ${repo}, access: write }\n---\n\nSet it.\n` } });

describe('a real Silas', { concurrency: true }, () => {
  for (const [size, options] of [['375', PHONE], ['1280', DESK]]) {
    test(`a wish, a question, a tap, a plan that asks, and the proof, at ${size} px`, async () => {
      let repo = '';
      const told = [];
      const provider = await startProvider(({ body }, words) => {
        told.push(body);
        if (body.includes('route_decision')) return words(planner);
        return words(body.includes('The owner chose') ? plan(repo) : question);
      });
      const named = `compatible:test@${provider.url}`;
      const silas = await startSilas({ ...ASKING, SILAS__MODELS__PROXY: named, SILAS__MODELS__PROXY_KEY: 'none', SILAS__MODELS__PLANNER: named, SILAS__MODELS__PLANNER_KEY: 'none', SILAS__MODELS__DAILY_CAP_CENTS: '100000', SILAS__MODELS__MONTHLY_CAP_CENTS: '100000' });
      repo = silas.repo;
      const page = await openPage(await browser.newContext(options));
      try {
        await pair(page, silas.url);
        await say(page, 'set the right zone');
        await show(page, 'review');
        await card(page, 'Ask a model on this machine').waitFor();
        await settle(page);
        await page.locator('.dock .filled').click();
        step('the model asks, and one tap answers');
        await card(page, 'Answer a question before the plan').waitFor();
        await settle(page);
        await look(page, `asking-real-${size}`);
        await page.getByRole('button', { name: 'Answer 1', exact: true }).click();
        step('the plan asks for itself');
        await card(page, /^Let plans work in/).waitFor();
        const before = tree(silas.repo);
        await approve(page);
        await card(page, 'Run 1 command in tidepool').waitFor();
        assert.deepEqual(tree(silas.repo), before);
        await approve(page);
        await card(page, /Proved|Changed 1 file/).or(page.locator('.undo')).first().waitFor();
        step('the Stream has the question and the answer');
        await show(page, 'stream');
        await page.locator('.turn-owner', { hasText: 'Vienna' }).waitFor();
        await page.locator('.turn', { hasText: 'Which zone is meant?' }).waitFor();
        await look(page, `asking-real-${size}-stream`);
        assert.equal(told.filter((body) => body.includes('route_decision')).length, 1);
        assert.deepEqual(troubleOf(page), []);
      } finally {
        await page.context().close();
        await silas.stop();
        provider.close();
      }
    });
  }
});
