// @ts-check
// Two versions of the same lines: the owner's, which is in place, and the one in the copy. Nothing here decides.

import { html } from '../lib/html.js';
import { Words, count, oneLine, strict } from '../lib/text.js';
import { clock } from '../lib/time.js';

/** Whether there is more than one line of some version to give way. @param {import('../protocol.js').Versions | undefined} versions */
export const isFoldable = (versions) => (versions?.shown ?? []).some(({ lines }) => lines.length > 1);

const WHOSE = { same: '', removed: 'You', added: 'Silas' };

/** Both versions of whole files. @param {{ compare: import('../protocol.js').Compared[] | undefined }} props */
export function Compare({ compare = [] }) {
  return compare.map(({ path, lines, kept = [] }, at) => html`<figure class="diff compared" key=${at} dir="ltr">
    <figcaption><span class="path">${oneLine(path)}</span></figcaption>
    <ol>${lines.map((line, n) => {
      if ('gap' in line) return html`<li key=${n} class="diff-gap">${count(line.gap, 'line')} alike</li>`;
      if ('not_shown' in line) return html`<li key=${n} class="diff-gap diff-not-shown">${count(line.not_shown, 'line')} that differ, not shown</li>`;
      const [kind, text] = /** @type {[keyof typeof WHOSE, string]} */ (Object.entries(line)[0]);
      // Only the other changed it, so it is nobody's edit.
      if (kept.includes(n)) return html`<li key=${n} class="diff-kept"><span class="sign">Before</span><span class="code">${strict(text)}</span></li>`;
      return html`<li key=${n} class=${kind === 'added' ? 'diff-added' : `diff-${kind}-yours`}><span class="sign">${WHOSE[kind]}</span><span class="code">${strict(text)}</span></li>`;
    })}</ol>
  </figure>`);
}

/** @param {{ versions: import('../protocol.js').Versions, folded: boolean }} props `folded`: only the first line of each; all are in the details. */
export function Versions({ versions: { says, shown = [] }, folded }) {
  return html`<p class="says"><${Words} text=${says} /></p>
    ${shown.length > 0 && html`<div class="versions">${shown.map(({ whose, at, lines, kept = [], more = 0 }) => {
      const all = lines.map((line, n) => ({ line, isKept: kept.includes(n) }));
      // Of one line, the one that this side changed says more.
      const visible = folded ? [all.find(({ isKept }) => !isKept) ?? all[0]].filter(Boolean) : all;
      const rest = more + lines.length - visible.length;
      return html`<figure class="version" key=${whose}>
        <figcaption>${strict(whose)}${at && `, ${clock(at)}`}${rest > 0 && html`<span class="more">${count(rest, 'more line')} below</span>`}</figcaption>
        ${lines.length === 0
          ? html`<p class="version-none">These lines are gone</p>`
          : html`<ol dir="ltr">${visible.map(({ line, isKept }, n) => (isKept
            ? html`<li key=${n} class="diff-same"><span class="sign" aria-hidden="true"></span><span class="hidden">unchanged: </span><span class="code">${strict(line)}</span></li>`
            : html`<li key=${n} class="diff-added"><span class="sign" aria-hidden="true">+</span><span class="hidden">added: </span><span class="code">${strict(line)}</span></li>`))}</ol>`}
      </figure>`;
    })}</div>`}`;
}
