// @ts-check
// A task in the Stream: one block with its steps while it runs, one line with its badge when it is finished.

import { useEffect, useLayoutEffect, useRef, useState } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { go } from '../../lib/router.js';
import { announce, set } from '../../lib/store.js';
import { Words, visible } from '../../lib/text.js';
import { span, useNow } from '../../lib/time.js';
import { OutcomeBadge } from '../../cards/risk.js';

/** @typedef {import('../../protocol.js').WorkView} Work */
/** @typedef {import('../../protocol.js').OutputView} Output */

/** @param {{ work: Work, output: Output | undefined, linked: boolean }} props */
export function WorkView({ work, output, linked }) {
  return work.running ? html`<${Running} work=${work} output=${output} linked=${linked} />` : html`<${Finished} work=${work} />`;
}

/** @param {{ work: Work, output: Output | undefined, linked: boolean }} props */
function Running({ work, output, linked }) {
  const { steps } = work;
  const at = steps.findIndex((step) => step.state === 'running');
  const n_done = steps.filter((step) => step.state === 'done' || step.state === 'failed').length;
  const current = at < 0 ? n_done : at + 1;
  const now = useNow(linked);
  const spent = steps.reduce((sum, step) => sum + (step.took_ms ?? 0), 0);
  const running = Math.max(0, now - Date.parse(work.started_at) - spent);
  useProgress(at < 0 ? '' : `Step ${current} of ${steps.length}: ${steps[at].label}`);
  return html`<section class="work" aria-label=${work.title}>
    <div class="work-body">
      <div class="work-top"><span>${work.place}</span><span>Step ${current} of ${steps.length}</span></div>
      <h2 class="work-title" dir="auto">${visible(work.title)}</h2>
      <div class="segments" aria-hidden="true">${steps.map((step, n) => html`<span key=${n} class=${`segment segment-${step.state}`}></span>`)}</div>
      <ol class="steps">${steps.map((step, n) => html`<${Step} key=${n} step=${step} elapsed=${running} />`)}</ol>
      ${output?.printed.map((printed) => html`<${Printed} key=${printed.nth} printed=${printed} />`)}
    </div>
    <div class="work-foot"><p>${work.footer.replaceAll(' · ', '\u00a0· ')}</p><button type="button" class="link-button" aria-haspopup="dialog" onClick=${() => set({ sheet: 'stop', stopping: work.execution })}>Stop</button></div>
  </section>`;
}

/**
 * What a command prints while it runs: as it stands, its end in sight, and nothing that a screen reader reads out by itself.
 * @param {{ printed: import('../../protocol.js').PrintedView }} props
 */
function Printed({ printed }) {
  const end = useEnd(printed.text);
  const about = printed.check === null ? 'What it prints' : `What the check ${printed.check} prints`;
  return html`<details class="printed" open>
    <summary dir="auto">${about}</summary>
    ${printed.n_left_out > 0 && html`<p class="printed-cut">${printed.n_left_out.toLocaleString('en-US')} characters before this are not shown.</p>`}
    <pre class="printed-text" ref=${end} tabindex="0" role="region" aria-label=${about} aria-live="off" dir="ltr">${printed.text}</pre>
  </details>`;
}

/** Keeps the end in sight, unless somebody has scrolled up to read. @param {string} text */
function useEnd(text) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const isAtEnd = useRef(true);
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const look = () => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 24;
    };
    element.addEventListener('scroll', look, { passive: true });
    return () => element.removeEventListener('scroll', look);
  }, []);
  useLayoutEffect(() => {
    if (ref.current && isAtEnd.current) ref.current.scrollTop = ref.current.scrollHeight;
  }, [text]);
  return ref;
}

/** @type {Record<import('../../protocol.js').StepState, { icon: string, word: string }>} */
const STEPS = {
  done: { icon: 'tick', word: 'done' },
  failed: { icon: 'cross', word: 'failed' },
  running: { icon: 'spinner', word: 'running' },
  waiting: { icon: 'ring', word: 'not yet' },
};

/** Whole seconds, from the first on: a running step has no tenths. @param {number} ms */
const whole = (ms) => (ms < 1000 ? '' : span(Math.floor(ms / 1000) * 1000));

/** @param {{ step: import('../../protocol.js').StepView, elapsed: number }} props */
function Step({ step, elapsed }) {
  const { icon, word } = STEPS[step.state];
  const time = step.state === 'running' ? whole(elapsed) : step.took_ms === null ? '' : span(step.took_ms);
  return html`<li class=${`step step-${step.state}`}>
    <${Icon} name=${icon} size=${step.state === 'waiting' ? 14 : 16} />
    <span class="step-label"><${Words} text=${step.label} /><span class="hidden">, ${word}</span></span>
    <bdi class="step-time">${time}</bdi>
  </li>`;
}

/** Where a result no longer stands, whatever it was worth. */
const IS_GONE = /^(Undone|Discarded|Nothing applied|Stopped|Interrupted|Refused|Put aside|Conflict)/;

/** Its title need not be Silas's, so it stands beside the badge and what opens it: the proof, or where there is none its steps, in place. @param {{ work: Work }} props */
function Finished({ work }) {
  const [open, setOpen] = useState(false);
  const ids = { about: `${work.execution}-folded`, steps: `${work.execution}-steps` };
  const { outcome, place, footer, steps } = work;
  const isSealed = outcome !== null && (outcome === 'failed' || !IS_GONE.test(place));
  return html`<div class="folded">
    ${isSealed ? html`<${OutcomeBadge} outcome=${outcome} />` : html`<span class="badge badge-low">${place}</span>`}
    <p class="folded-title" id=${ids.about}><bdi>${visible(work.title)}</bdi><span class="folded-place">${isSealed ? place : footer}</span></p>
    ${work.has_proof
      ? html`<button type="button" class="folded-open" aria-label="See what was done" aria-describedby=${ids.about} onClick=${() => go(`proof/${work.execution}`)}><${Icon} name="chevron" size=${18} /></button>`
      : steps.length > 0 && html`<button type="button" class="folded-open" aria-label="See how far it went" aria-describedby=${ids.about} aria-expanded=${open} aria-controls=${open ? ids.steps : undefined} onClick=${() => setOpen(!open)}><${Icon} name=${open ? 'up' : 'down'} size=${18} /></button>`}
    ${open && html`<div class="folded-steps" id=${ids.steps}><ol class="steps">${steps.map((step, n) => html`<${Step} key=${n} step=${step} elapsed=${0} />`)}</ol>
      <p class="folded-place">${isSealed ? `${place}. ${footer}` : footer}</p></div>`}
  </div>`;
}

/** Progress is told to listeners at most this often. */
const SAID_EVERY_MS = 10_000;

/** When any work was last told of; several run side by side. */
let saidAt = 0;

/** @param {string} progress */
function useProgress(progress) {
  useEffect(() => {
    if (!progress) return undefined;
    const say = () => {
      const early = saidAt + SAID_EVERY_MS - Date.now();
      if (early > 0) {
        timer = setTimeout(say, early);
        return;
      }
      saidAt = Date.now();
      announce(progress);
    };
    let timer = setTimeout(say, 0);
    return () => clearTimeout(timer);
  }, [progress]);
}
