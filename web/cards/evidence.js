// @ts-check
// What was proved: the claim and, for each check, how it ended before and after.

import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { count, strict } from '../lib/text.js';
import { OUTCOMES } from './risk.js';

/** Lines on the card itself; more are counted there and listed in the details. */
export const LINES_MAX = 4;

/** How many tests, where they were counted. @param {{ result: import('../protocol.js').CheckResult | undefined, isSame?: boolean }} props `isSame`: the word that follows says it too. */
function Mark({ result, isSame = false }) {
  if (!result) return html`<span class="mark">not run</span>`;
  const { passed, tests } = result;
  const n = (passed ? tests?.passed : tests?.failed) || '';
  const word = passed ? 'pass' : 'fail';
  return html`<span class=${passed ? 'mark mark-good' : 'mark mark-bad'}><${Icon} name=${passed ? 'tick' : 'cross'} size=${14} />${n && isSame ? html`${n}<span class="hidden"> ${word}</span>` : `${n} ${word}`.trim()}</span>`;
}

/** @param {{ before: import('../protocol.js').CheckResult[], after: import('../protocol.js').CheckResult[], max?: number }} props */
export function CheckLines({ before, after, max = Infinity }) {
  const names = [...new Set([...before, ...after].map(({ name }) => name))];
  const find = (/** @type {import('../protocol.js').CheckResult[]} */ results, /** @type {string} */ name) => results.find((result) => result.name === name);
  return html`<ul class="checks">
    ${names.slice(0, max).map((name) => html`<li key=${name}>
      <bdi class="check-name">${strict(name)}</bdi>
      <span class="check-change"><${Mark} result=${find(before, name)} isSame=${find(before, name)?.passed === find(after, name)?.passed} /><span class="hidden">before,</span><${Icon} name="arrow" size=${14} /><${Mark} result=${find(after, name)} /><span class="hidden">after</span></span>
    </li>`)}
    ${names.length > max && html`<li>${names.length - max} more, listed below</li>`}
  </ul>`;
}

/** The checks in one line; each of them is in the details. @param {import('../protocol.js').CheckResult[]} before @param {import('../protocol.js').CheckResult[]} after */
function inOneLine(before, after) {
  const pairs = after.map((result) => ({ is: result.passed, was: before.find(({ name }) => name === result.name)?.passed }));
  const turned = pairs.filter(({ is, was }) => is && was === false).length;
  const stayed = pairs.filter(({ is, was }) => is && was === true).length;
  const listed = `${count(Math.max(before.length, after.length), 'check')}, listed below`;
  if (turned === 0 || turned + stayed !== Math.max(before.length, after.length)) return listed;
  return stayed > 0 ? `${turned} red turned green, ${stayed} stayed green` : `${turned} red turned green`;
}

/** Whether the work could have changed what judged it: that is said wherever the claim is, however little room there is. @param {string} claim */
export const isUnprotected = (claim) => claim.endsWith('checks not protected');

/** What the claim does not rule out, in few words. @param {{ caveats: string[] | undefined }} props */
export function Caveats({ caveats = [] }) {
  if (caveats.length === 0) return null;
  return html`<p class="caveat">${caveats.map(strict).join(' ')}</p>`;
}

/** @param {{ evidence: import('../protocol.js').EvidenceBlock, lines?: 'shown' | 'counted' | 'left out' }} props */
export function Evidence({ evidence, lines = 'shown' }) {
  const { outcome, claim, caveats, before, after } = evidence;
  return html`<div class=${`evidence evidence-${outcome}`}>
    <p class="claim"><${Icon} name=${OUTCOMES[outcome].icon} size=${18} /><span>${strict(claim)}</span></p>
    ${lines === 'counted' && html`<p class="checks">${inOneLine(before, after)}</p>`}
    ${lines === 'shown' && html`<${CheckLines} before=${before} after=${after} max=${LINES_MAX} />`}
    <${Caveats} caveats=${caveats} />
  </div>`;
}
