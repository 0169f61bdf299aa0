// @ts-check
// Review: one active card, what decides it in the dock, and the rest as lines.

import { useEffect, useLayoutEffect, useRef, useState } from '../../vendor/hooks.js';
import { executionOf } from '../../lib/decision.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { which } from '../../lib/listed.js';
import { moreCards } from '../../lib/pages.js';
import { go } from '../../lib/router.js';
import { more } from '../../lib/asking.js';
import { activeCard, needingReview, set } from '../../lib/store.js';
import { Said, strict } from '../../lib/text.js';
import { CardView } from '../../cards/card.js';
import { Dock } from '../../cards/dock.js';
import { AnswerChips } from '../../cards/answers.js';
import { ModelChoiceCard } from '../../cards/model-choice.js';
import { Loading } from '../../cards/loading.js';
import { LADDER, RISKS } from '../../cards/risk.js';
import { SecureField } from '../../cards/secure-input.js';
import { Lines } from './lines.js';

/** @typedef {import('../../lib/store.js').State} State */
/** @typedef {import('../../protocol.js').Card} Card */

/** So many lines can be taken in at a glance; more are folded behind the first. */
const LISTED_MAX = 5;

/** @param {{ state: State, wide: boolean }} props */
export function Review({ state, wide }) {
  const active = activeCard(state);
  const { elsewhere } = state;
  const waiting = needingReview(state.cards);
  const rest = state.cards.filter(({ id }) => id !== active?.id);
  const place = active ? waiting.indexOf(active) + 1 : 0;
  const focus = useWasDecided(state);
  const told = useTold(state);
  // What is over was shown to whoever was looking; nobody finds it again here.
  useEffect(() => () => set({ over: null }), []);
  const section = useRef(/** @type {HTMLElement | null} */ (null));
  // A card is read from its top, wherever the one before it was left.
  useLayoutEffect(() => {
    if (section.current) section.current.scrollTop = 0;
  }, [active?.id]);
  return html`<section class="review" aria-label="Review" ref=${section}>
    <h1 class=${wide ? 'review-title' : 'hidden'}>Review</h1>
    ${wide && place > 0 && html`<p class="review-place">${place} of ${waiting.length}</p>`}
    ${told && !wide && html`<div class="notice notice-inside notice-told" role="note"><${Icon} name="tick" size=${20} /><p class="told" dir="auto"><${Said} text=${told.text} /></p></div>`}
    <${Lines} state=${state} card=${active} />
    ${active && html`<${Active} key=${active.id} card=${active} focus=${focus} linked=${state.link.status === 'open'} busy=${['signing', 'sent', 'recorded'].includes(state.decisions[active.id]?.phase)} />
      ${elsewhere && html`<footer class="dock" aria-label="Decision"><p class="dock-elsewhere"><${Icon} name="tick" size=${18} /><span>${elsewhere.words}</span></p></footer>`}
      ${!elsewhere && html`<${Dock} card=${active} edits=${state.edits[executionOf(active) ?? '']} isOver=${active === state.over} decision=${state.decisions[active.id]} linked=${state.link.status === 'open'} installation=${state.installation} devices=${state.devices} device=${state.device} />`}
      <${UpNext} cards=${rest} beyond=${state.n_more_cards} />`}
    ${!active && (state.loaded ? html`<${Nothing} said=${!wide && !told && state.entries.at(-1)?.sender === 'silas'} />` : html`<${Loading} />`)}
  </section>`;
}

/** @param {{ card: Card, focus: boolean, linked: boolean, busy: boolean }} props */
function Active({ card, focus, linked, busy }) {
  const { input } = card;
  if (input?.type === 'model') return html`<${ModelChoiceCard} card=${card} input=${input} focus=${focus} linked=${linked} />`;
  const asks = input?.type === 'inquiry' && card.state === 'open';
  if (asks) return html`<${CardView} card=${card} focus=${focus} /><${AnswerChips} card=${card} inquiry=${input} off=${!linked || busy} />`;
  return html`<${CardView} card=${card} focus=${focus}>${input?.type === 'secret' && html`<${SecureField} card=${card} wanted=${input} linked=${linked} />`}<//>`;
}

/** Whether the card before this one left because it was decided here: then focus goes to the next title. @param {State} state */
function useWasDecided({ decisions }) {
  const before = useRef(decisions);
  const was = Object.keys(before.current).length > 0;
  useEffect(() => void (before.current = decisions));
  return was;
}

/**
 * What Silas said after something was put back or turned down here: its card is gone, and on a phone the Stream is out of
 * sight. Stays until the next answer.
 * @param {State} state
 */
function useTold({ decisions, cards, entries }) {
  const pressed = useRef(/** @type {{ id: string, after: string | undefined, isTold: boolean }} */ ({ id: '', after: undefined, isTold: false }));
  const [id, decision] = Object.entries(decisions).find(([, { phase }]) => phase === 'sent') ?? [];
  const kind = cards.find((card) => card.id === id)?.face.kind;
  if (id && decision && kind && pressed.current.id !== id) {
    const isTold = decision.press === 'decline' || (kind === 'done' && decision.press === 'approve');
    pressed.current = { id, after: entries.at(-1)?.id, isTold };
  }
  const last = entries.at(-1);
  return pressed.current.isTold && last?.sender === 'silas' && !last.in_models_words && last.id !== pressed.current.after ? last : null;
}

/** @param {{ cards: Card[], beyond: number }} props */
function UpNext({ cards, beyond }) {
  const [all, setAll] = useState(false);
  if (cards.length === 0) return null;
  const shown = all || cards.length <= LISTED_MAX ? cards : cards.slice(0, 1);
  const hidden = cards.slice(shown.length);
  const worst = [...LADDER].reverse().find((risk) => hidden.some(({ state, face }) => state === 'open' && face.kind !== 'done' && face.risk === risk));
  return html`<div class="up-next">
    <h2 class="up-next-title">Up next</h2>
    <ol>
      ${shown.map((card, at) => html`<li key=${card.id}><span class="number">${at + 2}</span><${NextWords} card=${card} /><${Next} card=${card} /></li>`)}
      ${hidden.length > 0 && html`<li><span class="number">${shown.length + 2}</span><button type="button" class="link-button next-more" onClick=${() => setAll(true)}>Show ${hidden.length} more</button>${worst && html`<${NextRisk} risk=${worst} />`}</li>`}
    </ol>
    ${beyond > 0 && html`<p class="next-beyond">And ${beyond} more behind these. They move up as you decide. <button type="button" class="link-button" onClick=${() => more(moreCards)}>Show more</button></p>`}
  </div>`;
}

/** What is pressed is Silas's own; which result it is may be in a model's words, and stands beside it. @param {{ card: Card }} props */
function NextWords({ card: { id, face } }) {
  const { lead, words } = which(face);
  const about = words ? `${id}-which` : undefined;
  return html`<div class="next-words">
    <button type="button" class="next-intent" aria-describedby=${about} onClick=${() => set({ holding: id })}><bdi>${strict(face.intent)}</bdi></button>
    ${words && html`<p class="next-which" id=${about}>${lead.replace(/^[:,]? /, '')}<code dir="ltr">${strict(words)}</code></p>`}
  </div>`;
}

/** @param {{ card: Card }} props */
function Next({ card: { state, face } }) {
  if (state === 'parked') return html`<span class="next-risk risk-low">Parked</span>`;
  if (face.kind === 'secure_input' || face.kind === 'model_choice') return html`<span class="next-risk risk-low">To enter</span>`;
  if (face.kind === 'decision') return html`<span class="next-risk risk-low">To answer</span>`;
  if (face.kind === 'done' || !face.risk) return html`<span class="next-risk risk-low">${face.kind === 'done' ? 'Done' : 'To read'}</span>`;
  return html`<${NextRisk} risk=${face.risk} />`;
}

/** @param {{ risk: import('../../protocol.js').Risk }} props */
function NextRisk({ risk }) {
  return html`<span class=${`next-risk risk-${risk}`}><${Icon} name=${risk} size=${14} />${RISKS[risk].short}</span>`;
}

/** @param {{ said: boolean }} props Whether the last word in the Stream, which is not in sight, is Silas's. */
function Nothing({ said }) {
  return html`<div class="nothing"><${Icon} name="tick" size=${28} /><p><b>Nothing to decide</b></p><p>Whatever needs you will wait here.</p>
    ${said && html`<button type="button" class="link-button" onClick=${() => go('stream')}>Read what Silas said</button>`}</div>`;
}
