// What scrolls: the surfaces, never the document around them; and with scroll bars that take room, one still writes under
// what was said.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launch, objections, shot, sideways, unnamed } from './browser.mjs';
import * as sample from './sample-cards.mjs';
import { fake, focused, open, scene } from './stage.mjs';
import { SCENES } from './scenes.mjs';

/** More than any screen holds. */
const LONG = 60;
const step = (n) => ({ label: `Ran \`sh step-${n}.sh\``, state: 'done', took_ms: 400 });
const longWork = () => ({ ...sample.runningWork(), steps: Array.from({ length: LONG }, (_, n) => step(n)) });
const stays = async (page, what) => {
  assert.deepEqual(await sideways(page), { by: 0, elements: [] }, what);
  await page.mouse.move(180, 400);
  await page.mouse.wheel(0, 30_000);
  await page.mouse.wheel(0, 30_000);
  assert.equal(await page.evaluate(() => scrollY), 0, what);
};

for (const [width, height] of [[375, 812], [1280, 800]]) {
  test(`the document does not scroll at ${width} px: idle, while a long task runs, and with a proof of ${LONG} files`, async (t) => {
    fake.proof = { diffs: Array.from({ length: LONG }, (_, n) => ({ ...sample.DIFFS[0], path: `tides/file-${n}.py` })) };
    const page = await open(t, { work: [longWork()] }, { width, height, at: 'stream' });
    await page.getByText(`step-${LONG - 1}.sh`).first().waitFor();
    await stays(page, 'a long task');
    await page.evaluate((hash) => { location.hash = hash; }, `proof/${sample.PROOF.execution}`);
    await page.getByText(`file-${LONG - 1}.py`).first().waitFor();
    await stays(page, 'a long proof');
    await page.evaluate(() => { location.hash = 'review'; });
    await page.getByText(`file-${LONG - 1}.py`).first().waitFor({ state: 'detached' });
    await stays(page, 'nothing to review');
  });
}

for (const [width, height] of [[375, 812], [1280, 800]]) {
  test(`a long Stream is read with keys at ${width} px: one stop before the composer, with a ring, and every shortcut works there`, async (t) => {
    const page = await open(t, { entries: SCENES['long-stream'][1].entries }, { width, height, at: 'stream' });
    const said = page.getByRole('region', { name: 'What was said and done' });
    await said.waitFor();
    assert.deepEqual([...await objections(page), ...await unnamed(page)], []);
    const isAtEnd = () => said.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2);
    assert.ok(await isAtEnd(), 'the newest is in sight');
    await page.getByRole('button', { name: 'More', exact: true }).focus();
    await page.keyboard.press('Tab');
    assert.ok(await said.evaluate((box) => box === document.activeElement));
    const ring = await said.evaluate((box) => [getComputedStyle(box).outlineWidth, getComputedStyle(box).outlineStyle]);
    assert.deepEqual(ring, ['3px', 'solid']);
    await shot(page, `long-stream-focus-${width}-light`);
    await page.keyboard.press('Home');
    await page.waitForFunction(() => document.querySelector('.stream-scroll').scrollTop === 0);
    await page.keyboard.press('/');
    await focused(page, 'composer');
    await page.keyboard.press('Shift+Tab');
    assert.ok(await said.evaluate((box) => box === document.activeElement), 'and back');
    // An empty Stream has nothing to be read and so no stop; its buttons are.
    await scene(page, {}, 'stream');
    await page.locator('.welcome').waitFor();
    assert.equal(await said.count(), 0);
  });
}

test('with scroll bars that take room the composer stands exactly under the column of the Stream', async (t) => {
  const bars = await launch([], { ignoreDefaultArgs: ['--hide-scrollbars'] });
  t.after(() => bars.close());
  const page = await open(t, { work: [longWork()] }, { width: 1280, height: 800, at: 'stream', by: bars });
  await page.getByText(`step-${LONG - 1}.sh`).first().waitFor();
  const edges = (selector) => page.locator(selector).evaluate((e) => [e.getBoundingClientRect().left, e.getBoundingClientRect().right]);
  assert.ok(await page.locator('.stream-scroll').evaluate((e) => e.offsetWidth > e.clientWidth), 'there is a bar');
  const [box, column] = [await edges('.composer-box'), await edges('.stream-column')];
  assert.ok(box.every((edge, at) => Math.abs(edge - column[at]) <= 1), `${box} under ${column}`);
  await shot(page, 'scroll-bars-1280-light');
  await stays(page, 'with bars');
});
