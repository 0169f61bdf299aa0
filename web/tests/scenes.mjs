// What the page can show: every surface and kind of card, and what is between them. Looked at in other files, in both themes,
// at both sizes and where there is little room.

import * as sample from './sample-cards.mjs';
import { settle } from './browser.mjs';
import { ENTRIES, fake } from './stage.mjs';

export const SCENES = {
  welcome: ['stream', {}],
  stream: ['stream', { entries: ENTRIES, work: [sample.finishedWork(), sample.runningWork()], cards: [sample.planCard()] }],
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

/** What is not a surface of its own: sheets, the steps of a decision, a lost connection, the screen before pairing. */
export const STATES = {
  stop: async (page) => page.getByRole('button', { name: 'Stop everything' }).click(),
  more: async (page) => {
    // Also with a mouse, at every size: much is reached from nowhere else.
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('dialog', { name: 'More' }).waitFor();
  },
  chip: async (page) => {
    await settle(page);
    await page.locator('.dock .filled').click();
    await page.getByRole('button', { name: 'Confirm' }).waitFor();
  },
  slide: async (page) => {
    await settle(page);
    await page.locator('.dock .filled').click();
    await page.getByRole('slider').waitFor();
  },
  sheet: async (page) => {
    await STATES.slide(page);
    await settle(page);
    await page.getByRole('slider').press('End');
    await page.getByRole('slider').press('Enter');
    await page.getByRole('dialog', { name: 'Sign for good' }).waitFor();
  },
  allowed: async (page) => {
    await page.evaluate(() => { location.hash = 'activity'; });
    await page.getByRole('tab', { name: 'What is allowed' }).click();
  },
  night: async (page) => {
    await page.evaluate(() => { location.hash = 'activity'; });
    await page.getByRole('button', { name: /Last night|While you were away/ }).click();
  },
  reconnecting: async (page) => {
    fake.refuse = true;
    fake.drop();
    await page.locator('.notice').waitFor();
  },
};
export const CARDS_OF = { chip: sample.planCard, slide: sample.highCard, sheet: sample.irreversibleCard };

/** One of every surface and kind, the longest of each, and the first that everybody signs; what is left differs from these in its words only. */
export const TELLING = Object.entries(SCENES).filter(([name]) => !name.startsWith('real-') || name.endsWith('_longest') || name === 'real-house_rules');
