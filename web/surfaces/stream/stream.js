// @ts-check
// The Stream: what was said and what is being done, in the order of time. No card is ever decided here.

import { useLayoutEffect, useRef } from '../../vendor/hooks.js';
import { interrupt } from '../../lib/asking.js';
import { html } from '../../lib/html.js';
import { Prose } from '../../lib/prose.js';
import { go } from '../../lib/router.js';
import { edit } from '../../lib/saying.js';
import { needingReview } from '../../lib/store.js';
import { Said, Words } from '../../lib/text.js';
import { clock } from '../../lib/time.js';
import { useUnderWay } from '../../lib/under-way.js';
import { Loading } from '../../cards/loading.js';
import { Composer } from './composer.js';
import { AddModel, BLANK, Welcome, fill } from './welcome.js';
import { UnderWay } from './under-way.js';
import { WorkView } from './work.js';

/** @typedef {import('../../lib/store.js').State} State */

/** As many whole sentences are buttons; a longer list is for reading. */
const COMPLETIONS_MAX = 5;

/** Where one part of a sentence was missing, Silas shows it whole, each possibility on a line of its own. A button puts it where one types; its owner says it. @param {import('../../protocol.js').Entry} entry @returns {string[]} */
function completions({ text, answers, in_models_words }) {
  if (answers?.came_of !== 'refused' || in_models_words) return [];
  const lines = text.split('\n').filter((line) => line.startsWith('• ')).map((line) => line.slice(2));
  return lines.length <= COMPLETIONS_MAX ? [...new Set(lines)] : [];
}

/** What was said can hold nothing that takes focus, and is scrolled with keys all the same. */
const READ_BY_KEYS = { role: 'region', 'aria-label': 'What was said and done', tabindex: 0 };

/** @param {{ state: State }} props */
export function Stream({ state }) {
  const { entries, work, outbox, answering, looking } = state;
  const scroller = useRef(/** @type {HTMLElement | null} */ (null));
  const { now, doing } = useUnderWay(state);
  const isEmpty = entries.length + work.length + outbox.length + doing.length === 0;
  useFollow(scroller, isEmpty ? 0 : entries.length + work.length + outbox.length + looking.length + doing.length + (answering?.text.length ?? 0));

  // The last thing said was that a model is missing, and it still is.
  const needsModel = state.no_model !== null && outbox.length === 0 && entries.at(-1)?.text === state.no_model;

  // What Silas said last may ask for something: a look at Review, or a sentence with a blank that the owner fills in.
  const last = outbox.length === 0 && entries.at(-1)?.sender === 'silas' ? entries.at(-1) : undefined;
  const waits = last !== undefined && needingReview(state.cards).length > 0;
  const offered = last && state.understood.find((sentence) => BLANK.test(sentence) && last.text.endsWith(sentence));
  const whole = last ? completions(last) : [];

  const turns = [
    ...entries.map((entry) => ({ at: entry.at, key: entry.id, view: html`<${Turn} sender=${entry.sender} quoted=${entry.in_models_words ?? false} text=${entry.text} note=${entry.answers?.came_of === 'refused' ? `${clock(entry.at)} · nothing was done` : clock(entry.at)} />` })),
    ...work.map((item) => ({ at: item.started_at, key: item.execution, view: html`<${WorkView} work=${item} output=${state.outputs.find(({ execution }) => execution === item.execution)} linked=${state.link.status === 'open'} />` })),
  ].sort((a, b) => a.at.localeCompare(b.at));

  return html`<section class="stream" aria-label="Stream">
    <div class="stream-scroll" ref=${scroller} ...${isEmpty ? {} : READ_BY_KEYS}>
      <div class="stream-column">
        ${isEmpty && (state.loaded ? html`<${Welcome} understood=${state.understood} hasModel=${state.no_model === null} />` : html`<h1 class="hidden">Stream</h1><${Loading} />`)}
        ${!isEmpty && html`<h1 class="hidden">Stream</h1>
          ${turns.map(({ key, view }) => html`<div class="turn-box" key=${key}>${view}</div>`)}
          ${needsModel && html`<div class="turn-box" key="add-model"><${AddModel} /></div>`}
          ${waits && html`<div class="turn-box to-review" key="to-review"><button type="button" class="link-button" onClick=${() => go('review')}>Open Review</button></div>`}
          ${offered && html`<div class="turn-box" key="fill"><button type="button" class="link-button" onClick=${() => fill(offered)}>Fill it in</button></div>`}
          ${whole.length > 0 && html`<ul class="turn-box completions" key="completions" aria-label="Say it like this">${whole.map((sentence) => html`<li key=${sentence}><button type="button" class="change-chip" onClick=${() => fill(sentence)}>${sentence}</button></li>`)}</ul>`}
          ${outbox.map((message) => html`<div class="turn-box" key=${message.id}><${Outgoing} message=${message} /></div>`)}
          ${looking.length > 0 && html`<div class="turn-box" key="looking"><${Looking} steps=${looking} /></div>`}
          ${doing.map((one) => html`<div class="turn-box" key=${`doing-${one.key}`}><${UnderWay} one=${one} now=${now} /></div>`)}
          ${answering && html`<div class="turn-box" key=${answering.reply}><${Answering} draft=${answering} /></div>`}`}
      </div>
    </div>
    <${Composer} draft=${state.draft} />
  </section>`;
}

/** @param {{ sender: 'owner' | 'somebody' | 'silas', quoted?: boolean, text: string, note: string, isGrowing?: boolean }} props `quoted`: a model said it, word for word. */
function Turn({ sender, quoted = false, text, note, isGrowing = false }) {
  return html`<div class=${`turn turn-${sender}`}>
    <p class="turn-label">${sender === 'owner' ? 'You' : sender === 'somebody' ? 'Somebody · not signed by a device of yours' : quoted ? 'Silas · in the model’s words' : 'Silas'} · ${note}</p>
    ${quoted ? html`<${Prose} text=${text} isGrowing=${isGrowing} />` : html`<p class="turn-text" dir="auto"><${Said} text=${text} /></p>`}
  </div>`;
}

/** What is looked at for the answer, step by step; the answer takes its place. @param {{ steps: import('../../protocol.js').LookView[] }} props */
function Looking({ steps }) {
  return html`<ul class="looking" aria-label="What is looked at">${steps.map((step, n) => html`<li key=${n}><${Words} text=${step.text} /></li>`)}</ul>
    <button type="button" class="link-button" onClick=${interrupt}>Stop</button>`;
}

/** What a model has said so far. What could not be used is gone from here, and one line says why nothing is there. @param {{ draft: import('../../protocol.js').DraftView }} props */
function Answering({ draft: { text, is_second } }) {
  return html`${is_second && text === ''
    ? html`<${Turn} sender="silas" text="The model’s first answer could not be used. It is asked once more." note="answering" />`
    : html`<${Turn} sender="silas" quoted text=${text} note="answering" isGrowing />`}
    <button type="button" class="link-button" onClick=${interrupt}>Stop</button>`;
}

/** @param {{ message: import('../../lib/store.js').Outgoing }} props */
function Outgoing({ message }) {
  const note = { waiting: 'will be sent', sent: 'sending', refused: 'not sent' }[message.state];
  return html`<${Turn} sender="owner" text=${message.text} note=${note} />
    ${message.state === 'refused' && html`<button type="button" class="link-button" onClick=${() => edit(message)}>Change it</button>`}`;
}

/** How close to the end somebody must be to be taken along, in pixels. */
const NEAR_END = 120;

/** Keeps the newest in sight, unless somebody has scrolled up to read. @param {{ current: HTMLElement | null }} scroller @param {number} n_turns */
function useFollow(scroller, n_turns) {
  const near = useRef(true);
  useLayoutEffect(() => {
    const box = scroller.current;
    const scrolled = () => void (box && (near.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END));
    box?.addEventListener('scroll', scrolled, { passive: true });
    return () => box?.removeEventListener('scroll', scrolled);
  }, []);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box && near.current && n_turns > 0) box.scrollTop = box.scrollHeight;
  }, [n_turns]);
}
