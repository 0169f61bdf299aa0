// What the page can show: every surface and kind of card, and what is between them. Looked at in other files, in both themes,
// at both sizes and where there is little room.

import * as sample from './sample-cards.mjs';
import { canonical } from '../lib/canonical.js';
import { settle } from './browser.mjs';
import { ENTRIES, fake, received, retry } from './stage.mjs';

/** More than any screen holds. */
const TURNS = Array.from({ length: 40 }, (_, n) => sample.entry(n % 2 === 0 ? 'owner' : 'silas', n % 2 === 0 ? `What about the tide of day ${n / 2 + 1}?` : 'It comes in the morning, and goes before noon.', (40 - n) * 60_000));

export const SCENES = {
  welcome: ['stream', {}],
  stream: ['stream', { entries: ENTRIES, work: [sample.finishedWork(), sample.runningWork()], cards: [sample.planCard()] }],
  'long-stream': ['stream', { entries: TURNS }],
  plan: ['review', { entries: ENTRIES, cards: [sample.planCard(), sample.rootCard(), sample.highCard()] }],
  longest: ['review', { entries: ENTRIES, cards: [sample.longestCard(), sample.longestCard()] }],
  irreversible: ['review', { entries: ENTRIES, cards: [sample.irreversibleCard(), sample.planCard()] }],
  unknown: ['review', { entries: ENTRIES, cards: [sample.unknownCard(), sample.planCard()] }],
  secret: ['review', { cards: [sample.secretCard(), sample.planCard()] }],
  'secret-parked': ['review', { cards: [sample.secretCard({ state: 'parked' })] }],
  choice: ['review', { cards: [sample.choiceCard(), sample.secretCard()] }],
  'no-model': ['stream', { entries: [sample.entry('owner', 'what is the capital of France', 3000), sample.entry('silas', sample.NO_MODEL, 1000)] }],
  rehearsed: ['review', { entries: ENTRIES, cards: [sample.rehearsedCard(), sample.planCard(), sample.highCard()] }],
  low: ['review', { entries: ENTRIES, cards: [sample.lowCard(), sample.planCard()] }],
  done: ['review', { entries: ENTRIES, cards: [sample.doneCard(), sample.planCard()] }],
  conflict: ['review', { entries: ENTRIES, cards: [sample.conflictCard(), sample.planCard()] }],
  parked: ['review', { cards: [sample.planCard({ state: 'parked', issued: Date.now() - 600_000 }), sample.rootCard(), sample.highCard()] }],
  many: ['review', { entries: ENTRIES, cards: [sample.rehearsedCard(), ...Array.from({ length: 5 }, () => sample.planCard()), sample.highCard()] }],
  nothing: ['review', {}],
  activity: ['activity', {}],
  'activity-spending': ['activity/spending', {}],
  'activity-none': ['activity/refused', { activity: { ...sample.ACTIVITY, rows: sample.ACTIVITY.rows.filter(({ topics }) => !topics.includes('refusal')) } }],
  failed: ['review', { entries: ENTRIES, cards: [sample.failedCard()] }],
  broken: ['activity', { activity: { ...sample.ACTIVITY, verified: false } }],
  proof: [`proof/${sample.PROOF.execution}`, {}],
  ...Object.fromEntries(sample.REAL_CARDS.map((name) => [`real-${name}`, ['review', { entries: ENTRIES, cards: [sample.realCard(name)] }]])),
};

const PLAN = () => ({ entries: ENTRIES, cards: [sample.planCard()] });
const HIGH = () => ({ entries: ENTRIES, cards: [sample.highCard()] });
const IRREVERSIBLE = () => ({ entries: ENTRIES, cards: [sample.irreversibleCard()] });
const RESULT = () => ({ entries: ENTRIES, cards: [sample.rehearsedCard(), sample.planCard()], no_model: null });
const DONE = () => ({ entries: ENTRIES, cards: [sample.doneCard()] });
/** Its time for undoing is over before anybody has looked twice. */
const OVER = () => ({ entries: ENTRIES, cards: [sample.doneCard({ issued: Date.now() - 299_500 })] });
const QUESTION = () => ({ entries: ENTRIES, cards: [sample.realCard('decision')] });
const DIFFERS = () => {
  const card = sample.planCard();
  return { entries: ENTRIES, cards: [{ ...card, face: { ...card.face, intent: 'Change 1 file in tidepool' } }] };
};
/** The last five were decided before anybody could have read them; the next one sends something. */
const SENDING = () => {
  const card = sample.planCard();
  const plan = JSON.parse(card.payload);
  const payload = canonical({ ...plan, sandbox: { ...plan.sandbox, hosts: ['tides.example:443'] } });
  const { show_first, ...once } = card;
  return { entries: ENTRIES, cards: [{ ...once, payload, offer: { ...card.offer, plan_hash: sample.sha256(payload) } }] };
};
/** Longer than the sheet that shows it. */
const EDIT = { path: 'tides/parse.py', added: 30, removed: 30, lines: Array.from({ length: 30 }, (_, n) => [{ removed: `mine ${n}` }, { added: `old ${n}` }]).flat() };

const press = async (page, name) => {
  await settle(page);
  await page.locator('.dock').getByRole('button', { name, exact: true }).click();
};
const slide = async (page) => {
  await settle(page);
  await page.locator('.dock .filled').click();
  await page.getByRole('slider').waitFor();
};
const edited = async (page) => {
  fake.edits = [EDIT];
  // Whoever comes back to the page finds it looked at again.
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await page.getByText('parse.py was changed since.').waitFor();
};

/** What is not a surface of its own: sheets, the steps of a decision and what can come of it, a lost connection. What is shown in Review, and how one gets there. */
export const STATES = {
  stop: [PLAN, async (page) => page.getByRole('button', { name: 'Stop everything' }).click()],
  more: [PLAN, async (page) => {
    // Also with a mouse, at every size: much is reached from nowhere else.
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('dialog', { name: 'More' }).waitFor();
  }],
  chip: [PLAN, async (page) => {
    await settle(page);
    await page.locator('.dock .filled').click();
    await page.getByRole('button', { name: 'Confirm' }).waitFor();
  }],
  slide: [HIGH, slide],
  sheet: [IRREVERSIBLE, async (page) => {
    await slide(page);
    await settle(page);
    await page.getByRole('slider').press('End');
    await page.getByRole('slider').press('Enter');
    await page.getByRole('dialog', { name: 'Sign for good' }).waitFor();
  }],
  change: [RESULT, async (page) => {
    await press(page, 'Ask for a change');
    await page.getByRole('button', { name: 'Smaller change' }).waitFor();
  }],
  words: [QUESTION, async (page) => {
    await press(page, 'Answer in my words');
    await page.getByRole('textbox', { name: 'In your own words' }).fill('The second of the two, please.');
  }],
  differs: [DIFFERS, async (page) => page.getByText('This card and the request differ.').waitFor()],
  quick: [SENDING, async (page) => {
    await page.evaluate(async () => {
      const { put } = await import('/lib/database.js');
      await put('choices', { name: 'pace', times: Array.from({ length: 5 }, () => ({ ms: 400, at: Date.now() })) });
    });
    await page.reload();
    await page.getByText('Most of the last five took less than a second. The next one sends something.').waitFor();
    await page.locator('.dock .filled:enabled').waitFor();
  }],
  unheard: [PLAN, async (page) => {
    fake.silent = true;
    await press(page, 'Decline');
    await received('approval_response');
    fake.drop();
    await page.locator('.notice').waitFor();
    await retry(page);
    await page.getByText('Silas did not get your answer. Nothing was done. Decide again.').waitFor();
    await page.locator('.dock .filled:enabled').waitFor();
  }],
  elsewhere: [RESULT, async (page) => {
    // It is shown for as long as it takes to read, which is not as long as it takes to be looked at here.
    await page.evaluate(() => {
      const real = window.setTimeout;
      window.setTimeout = (act, ms, ...more) => (ms === 4000 ? 0 : real(act, ms, ...more));
    });
    const [card, ...rest] = fake.shown.cards;
    fake.tell({ type: 'answered', answered: { card: card.id, verdict: 'approved', device: 'Mira’s laptop', at: sample.at(Date.now()) } });
    fake.cards(rest);
    await page.locator('.dock-elsewhere').waitFor();
  }],
  'later-edit': [DONE, edited],
  compare: [DONE, async (page) => {
    await edited(page);
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('dialog', { name: 'Compare' }).getByText('mine 29').waitFor();
  }],
  'way-back': [OVER, async (page) => {
    await page.getByRole('button', { name: 'Plan a way back' }).waitFor();
    fake.cards([]);
    await page.locator('.ambient', { hasText: 'All quiet' }).waitFor();
    await page.getByRole('button', { name: 'Plan a way back' }).waitFor();
  }],
  allowed: [PLAN, async (page) => {
    await page.evaluate(() => { location.hash = 'activity'; });
    await page.getByRole('tab', { name: 'What is allowed' }).click();
  }],
  night: [PLAN, async (page) => {
    await page.evaluate(() => { location.hash = 'activity'; });
    await page.getByRole('button', { name: /Last night|While you were away/ }).click();
  }],
  error: [PLAN, async (page) => {
    fake.tell({ type: 'error', code: 'E_LLM_TIMEOUT', message: 'The model did not answer in 30 s. Nothing changed.', todo: 'Try again, or use Ollama.' });
    await page.getByRole('alert').waitFor();
  }],
  offline: [PLAN, async (page) => {
    await page.context().setOffline(true);
    await page.getByText('This device is offline.').waitFor();
  }],
  reconnecting: [PLAN, async (page) => {
    fake.refuse = true;
    fake.drop();
    await page.locator('.notice').waitFor();
  }],
};

/** One of every surface and kind, the longest of each, and the first that everybody signs; what is left differs from these in its words only. */
export const TELLING = Object.entries(SCENES).filter(([name]) => !name.startsWith('real-') || name.endsWith('_longest') || name === 'real-house_rules');
