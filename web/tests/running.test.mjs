// Work and answers that take their time, on a real Silas in a real browser: how far they are is seen, the line breaks in the
// middle and nothing is lost or told twice, and Stop stops.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { launch, settle } from './browser.mjs';
import { startLine } from './line.mjs';
import { direct, startProvider } from './model-provider.mjs';
import { DESK, PHONE, approve, card, composer, connected, eventually, look, lost, openPage, pair, say, show, step, tree, troubleOf } from './owner.mjs';
import { ASKING, startSilas } from './real-server.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** An odd number of seconds for each size, so that the process can be looked for. */
const forever = (size) => `sleep 6${size}`;
const runs = (command) => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).some((pid) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() === command;
  } catch {
    return false; // It has just ended.
  }
});

const plan = (repo, command) => `---\nid: task-long\ntitle: Take a long time\ntype: task\nsteps:\n  - run: echo one > one.txt\n  - run: sleep 10\n  - run: ${command}\nverify:\n  - name: it was finished\n    run: test -e finished.txt\n    expect: { exit_code: 0 }\nsandbox:\n  directories:\n    - { path: ${repo}, access: write }\n---\nTake a long time.\n`;

const running = (page, label) => page.locator('.work .step-running', { hasText: label });
const told = (page, selector) => page.locator(selector).allInnerTexts();

// Each has its own Silas, and most of the time they wait.
describe('at both sizes', { concurrency: true }, () => {
  for (const [size, options] of [['375', PHONE], ['1280', DESK]]) {
    test(`a long command is seen, survives a broken line, and is stopped, at ${size} px`, async () => {
      const [silas, line] = [await startSilas(ASKING), await startLine()];
      const page = await openPage(await browser.newContext({ ...options, proxy: line.proxy }));
      try {
        await pair(page, silas.url);
        await say(page, plan(silas.repo, forever(size)));
        await show(page, 'review');
        await card(page, /^Let plans work in/).waitFor();
        const original = tree(silas.repo);

        step('the line breaks in front of an open card: it stays readable, decides nothing, and goes on');
        await settle(page);
        line.cut();
        await lost(page);
        assert.ok(await page.locator('.dock .filled').isDisabled());
        await page.getByText('You can decide as soon as Silas answers').waitFor();
        await look(page, `running-${size}-cut`);
        line.mend();
        await connected(page);
        await page.locator('.dock .filled:enabled').waitFor();
        await approve(page);
        await card(page, /^Run 3 commands in/).waitFor();
        await approve(page);

        step('how far it is comes by itself, and what happened meanwhile comes with the line');
        await show(page, 'stream');
        await running(page, 'sleep 10').waitFor();
        await composer(page).fill('half a thou');
        const before = await told(page, '.turn');
        line.cut();
        await lost(page);
        await eventually('the next step', () => silas.count('step_run') === 2 && runs(forever(size)));
        assert.equal(await running(page, forever(size)).count(), 0, 'nothing comes through');
        line.mend();
        await connected(page);
        await running(page, forever(size)).waitFor();
        assert.equal(await page.locator('.work').count(), 1);
        const labels = await told(page, '.work .step-label');
        assert.equal(new Set(labels).size, labels.length, `each step once: ${labels.join('; ')}`);
        assert.deepEqual(await told(page, '.turn'), before, 'nothing is told twice');
        assert.equal(await composer(page).inputValue(), 'half a thou');
        await look(page, `running-${size}-step-3`);

        step('Stop stops it, and says what became of the files');
        await page.locator('.work-foot').getByRole('button', { name: 'Stop' }).click();
        await page.getByRole('button', { name: 'Stop this task' }).click();
        await page.locator('.work').waitFor({ state: 'detached' });
        await page.locator('.folded', { hasText: 'Take a long time' }).waitFor();
        await eventually('the end of the command', () => !runs(forever(size)));
        await look(page, `running-${size}-stopped`);
        await show(page, 'review');
        await card(page, 'Stopped before it was done').waitFor();
        await card(page, 'Stopped before it was done').getByText(/untouched/i).first().waitFor();
        await look(page, `running-${size}-stopped-card`);
        assert.deepEqual(tree(silas.repo), original);
        assert.equal(silas.count('work_applied'), 0);
        assert.deepEqual(troubleOf(page), []);
      } finally {
        await page.context().close();
        await silas.stop();
        await line.close();
      }
    });

    test(`an answer comes sentence by sentence, is there again after a broken line and in a new tab, and can be stopped, at ${size} px`, async () => {
      const whole = direct('One. Two. Three. Four.');
      let goOn = () => {};
      /** Says as far as the sentence before `word`, and the rest when it is told to. */
      const upTo = async (word, text, say) => {
        // A sentence is known to be over when something follows it.
        const at = text.indexOf(word) + 1;
        say(text.slice(0, at));
        await new Promise((resolve) => { goOn = resolve; });
        return text.slice(at);
      };
      const provider = await startProvider(async ({ body }, say) => {
        if (!body.includes('count')) return say('{"word":"ready"}');
        say(await upTo('Four', await upTo('Three', whole, say), say));
        return undefined;
      });
      const model = { SILAS__MODELS__PROXY: `compatible:test@${provider.url}`, SILAS__MODELS__PROXY_KEY: 'none' };
      const [silas, line] = [await startSilas(model), await startLine()];
      const context = await browser.newContext({ ...options, proxy: line.proxy });
      const page = await openPage(context);
      const growing = (on, text) => on.locator('.turn-silas', { hasText: 'answering' }).getByText(text, { exact: true }).waitFor();
      try {
        await pair(page, silas.url);
        await say(page, 'count for me');
        await show(page, 'review');
        await card(page, 'Ask a model on this machine').waitFor();
        await settle(page);
        await page.locator('.dock .filled').click();
        await show(page, 'stream');
        await growing(page, 'One. Two.');
        await look(page, `running-${size}-answering`);

        step('after a break it is as far as it was, before anything new is said');
        line.cut();
        await lost(page);
        line.mend();
        await connected(page);
        await growing(page, 'One. Two.');
        const other = await openPage(context);
        await other.goto(`${new URL(silas.url).origin}/#stream`);
        await growing(other, 'One. Two.');

        step('it goes on in both, and its entry takes its place, also where the line was broken meanwhile');
        goOn();
        await Promise.all([page, other].map((on) => growing(on, 'One. Two. Three.')));
        line.cut();
        await lost(page);
        goOn();
        await eventually('the answer', () => silas.count('reply_sent') >= 2);
        line.mend();
        for (const on of [page, other]) {
          await connected(on);
          await on.locator('.turn-silas .turn-text', { hasText: 'One. Two. Three. Four.' }).waitFor();
          assert.equal(await on.locator('.turn-text', { hasText: 'One.' }).count(), 1, 'it is told once');
          assert.equal(await on.getByRole('button', { name: 'Stop', exact: true }).count(), 0);
        }

        step('Stop in the page ends an answer; what was said stays');
        await say(page, 'count again');
        await growing(page, 'One. Two.');
        await page.getByRole('button', { name: 'Stop', exact: true }).click();
        for (const on of [page, other]) await on.locator('.turn-text', { hasText: 'One. Two. … (stopped)' }).waitFor();
        await look(page, `running-${size}-answer-stopped`);
        for (const on of [page, other]) assert.deepEqual(troubleOf(on), []);
      } finally {
        goOn();
        await context.close();
        provider.close();
        await silas.stop();
        await line.close();
      }
    });
  }
});
