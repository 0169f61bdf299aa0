// What a command prints, on a real Silas in a real browser: it is seen while the command runs, monospaced, with its end in
// sight and what was cut said, it makes no noise, and it goes with the work.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch } from './browser.mjs';
import { DESK, PHONE, approve, card, look, openPage, pair, say, show, step, troubleOf } from './owner.mjs';
import { ASKING, startSilas } from './real-server.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const RUN = 'for n in $(seq 1 4000); do echo line $n; done; printf "\\033[31mred\\n"; sleep 631';

const plan = (repo) => `---\nid: task-loud\ntitle: Print much\ntype: task\nsteps:\n  - run: ${JSON.stringify(RUN)}\nverify:\n  - name: it was finished\n    run: test -e finished.txt\n    expect: { exit_code: 0 }\nsandbox:\n  directories:\n    - { path: ${repo}, access: write }\n---\nPrint much.\n`;

describe('at both sizes', { concurrency: true }, () => {
  for (const [size, options] of [['375', PHONE], ['1280', DESK]]) {
    test(`what a command prints is seen while it runs, at ${size} px`, async () => {
      const silas = await startSilas(ASKING);
      const page = await openPage(await browser.newContext(options));
      try {
        await pair(page, silas.url);
        await say(page, plan(silas.repo));
        await show(page, 'review');
        await card(page, /^Let plans work in/).waitFor();
        await approve(page);
        await card(page, /^Run .* in/).waitFor();
        await approve(page);

        step('its end is in sight, as text, and what is missing is said');
        await show(page, 'stream');
        const printed = page.locator('.work .printed-text', { hasText: 'line 4000' });
        await printed.waitFor();
        const found = await printed.evaluate((pre) => ({
          text: pre.textContent,
          live: pre.getAttribute('aria-live'),
          family: getComputedStyle(pre).fontFamily,
          isAtEnd: pre.scrollHeight - pre.scrollTop - pre.clientHeight < 24,
          isBounded: pre.clientHeight < 220 && pre.scrollWidth <= pre.clientWidth + 1,
        }));
        assert.ok(found.text.endsWith('line 4000\n⟨U+001B⟩[31mred\n'), found.text.slice(-80));
        assert.deepEqual([found.live, found.isAtEnd, found.isBounded], ['off', true, true]);
        assert.match(found.family, /mono/i);
        await page.locator('.work .printed-cut', { hasText: /^[\d,]+ characters before this are not shown\.$/ }).waitFor();
        await look(page, `printed-${size}`);

        step('a page that is opened meanwhile shows it too');
        await page.reload();
        await printed.waitFor();

        step('it goes with the work');
        await page.locator('.work-foot').getByRole('button', { name: 'Stop' }).click();
        await page.getByRole('button', { name: 'Stop this task' }).click();
        await page.locator('.folded', { hasText: 'Print much' }).waitFor();
        assert.equal(await page.locator('.printed').count(), 0);
        assert.deepEqual(troubleOf(page), []);
      } finally {
        await page.context().close();
        await silas.stop();
      }
    });
  }
});
