// @ts-check
// What was proved: the claim and, for each check, how it ended before and after.

import { useLayoutEffect, useRef } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { count, oneLine, quotation, strict } from '../lib/text.js';
import { OUTCOMES } from './risk.js';

/** Lines on the card itself; more are counted there and listed in the details. */
export const LINES_MAX = 4;

/** How many tests, where they were counted. @param {{ result: import('../protocol.js').CheckResult | undefined, isSame?: boolean }} props `isSame`: the word that follows says it too. */
function Mark({ result, isSame = false }) {
  if (!result) return html`<span class="mark">not run</span>`;
  const { passed, tests } = result;
  const n = (passed ? tests?.passed : tests?.failed) || '';
  const word = passed ? 'pass' : 'fail';
  return html`<span class=${passed ? 'mark mark-good' : 'mark mark-bad'}><${Icon} name=${passed ? 'tick' : 'cross'} size=${14} />${n ? html`<span>${n}<span class=${isSame ? 'hidden' : 'mark-word'}> ${word}</span></span>` : word}</span>`;
}

/** Words and nothing else: no operator, quotation, comment or pattern, by which the middle of a command could turn its result around. */
const PLAIN = /^[\w@%+=:,./ -]+$/;
/** What stays of its end: the last word, of a path the last part, and not more than leaves room for a beginning. */
const END = /[^ /]{1,16}\/?$/;
/** What the widest letters leave beside a result. */
const WHOLE_CHARS_MAX = 12;

/** Whether the middle of a command may be left out on the card. @param {string | undefined} run */
const mayShorten = (run) => run !== undefined && run.length > WHOLE_CHARS_MAX && PLAIN.test(run);

/** Whether the card can be shorter for it. @param {import('../protocol.js').EvidenceBlock | null} evidence */
export const hasLongCommand = (evidence) => [...(evidence?.before ?? []), ...(evidence?.after ?? [])].some(({ run }) => mayShorten(run));

/** A check is its command, as it was run. Where that was not kept: the name that somebody gave it, as a quotation. @param {{ result: import('../protocol.js').CheckResult, isShort?: boolean }} props `isShort`: where there is no room, beginning and end of it. */
export function CheckCommand({ result: { run, name }, isShort = false }) {
  if (!run) return html`<bdi class="check-name">${quotation(name)}</bdi>`;
  if (!isShort || !mayShorten(run)) return html`<code class="check-name" dir="ltr">${oneLine(run)}</code>`;
  const end = END.exec(run)?.[0] ?? '';
  return html`<code class="check-name short" dir="ltr" title=${run}><span class="check-begin" style=${{ '--end': `${end.length}ch` }}>${run.slice(0, run.length - end.length)}</span>${end}</code>`;
}

/** @param {{ before: import('../protocol.js').CheckResult[], after: import('../protocol.js').CheckResult[], max?: number, isShort?: boolean }} props `isShort`: each on one line, if need be without the middle of its command. */
export function CheckLines({ before, after, max = Infinity, isShort = false }) {
  const names = [...new Set([...before, ...after].map(({ name }) => name))];
  const find = (/** @type {import('../protocol.js').CheckResult[]} */ results, /** @type {string} */ name) => results.find((result) => result.name === name);
  return html`<ul class="checks">
    ${names.slice(0, max).map((name) => html`<li key=${name}>
      <${CheckCommand} result=${find(after, name) ?? find(before, name)} isShort=${isShort} />
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

/** Whether the work changed what judged it, or could have: that is said wherever the claim is, however little room there is. @param {string} claim */
export const isUnprotected = (claim) => /, (checks not protected|judges changed)$/.test(claim);

/** What the claim does not rule out, in few words. @param {{ caveats: string[] | undefined }} props */
export function Caveats({ caveats = [] }) {
  if (caveats.length === 0) return null;
  return html`<p class="caveat">${caveats.map(strict).join(' ')}</p>`;
}

/** @param {Element} line */
const isBroken = (line) => /** @type {HTMLElement} */ (line).offsetHeight >= 2 * parseFloat(getComputedStyle(line).lineHeight);

/** @param {Element} line */
const isCut = (line) => [...line.querySelectorAll('.check-begin')].some((begin) => begin.scrollWidth > begin.clientWidth + 1);

/** How seal and checks may be set, one after the other: as they are, closer, and at last with tick, cross and number without their word. */
const SETTINGS = [[], ['close'], ['close', 'bare']];

/** Seal and checks are a line each. They are set closer, where that keeps them so or leaves more of a command; what is longer goes on below. @returns {{ current: HTMLElement | null }} */
function useOneLineEach() {
  const block = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    for (const part of block.current?.querySelectorAll('.claim, .checks') ?? []) {
      const lines = part.matches('.claim') ? [part] : [...part.children];
      const isSet = (/** @type {string[]} */ how) => {
        part.classList.remove('close', 'bare');
        part.classList.add(...how);
        return !lines.some((line) => isBroken(line) || isCut(line));
      };
      if (!SETTINGS.some(isSet) && !lines.some(isCut)) isSet([]);
    }
  });
  return block;
}

/** @param {{ evidence: import('../protocol.js').EvidenceBlock, lines?: 'shown' | 'short' | 'counted' | 'left out' }} props */
export function Evidence({ evidence, lines = 'shown' }) {
  const { outcome, claim, caveats, before, after } = evidence;
  const block = useOneLineEach();
  return html`<div class=${`evidence evidence-${outcome}`} ref=${block}>
    <p class="claim"><${Icon} name=${OUTCOMES[outcome].icon} size=${18} /><span>${strict(claim)}</span></p>
    ${lines === 'counted' && html`<p class="checks-counted">${inOneLine(before, after)}</p>`}
    ${(lines === 'shown' || lines === 'short') && html`<${CheckLines} before=${before} after=${after} max=${LINES_MAX} isShort=${lines === 'short'} />`}
    <${Caveats} caveats=${caveats} />
  </div>`;
}
