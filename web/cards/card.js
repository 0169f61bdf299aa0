// @ts-check
// The anatomy of a card: badge, state, intent, evidence, facts, rationale, details. One place for every kind; what is
// asked stands in the dock.

import { useEffect, useLayoutEffect, useRef, useState } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { FactText, strict, visible } from '../lib/text.js';
import { Details, hasDetails } from './details.js';
import { FileList } from './diff.js';
import { Evidence } from './evidence.js';
import { Badge, CardWhen, RISKS } from './risk.js';

/** @typedef {import('../protocol.js').Card} Card */

/** The head of a card at 375 px and ordinary text; what does not fit moves into the details, nothing is cut. */
const BODY_PX_MAX = 300;

/** @param {{ card: Card, asked: string[], focus: boolean }} props `asked`: what the owner said, to tell their words from computed ones. */
export function CardView({ card, asked, focus }) {
  const { face } = card;
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  const level = useFit(body, card);
  const parked = card.state === 'parked';

  useEffect(() => {
    if (focus) title.current?.focus({ preventScroll: true });
  }, [card.id]);

  // First the rationale becomes one line, then it goes into the details, then the last facts do.
  const n_moved = Math.max(0, Math.min(level - 2, face.facts.length));
  const shown = parked ? [] : face.facts.slice(0, face.facts.length - n_moved);
  const moved = parked ? face.facts : face.facts.slice(face.facts.length - n_moved);
  const inDetails = parked || level >= 2;
  const rationale = face.rationale && html`<${Rationale} text=${face.rationale} asked=${asked} oneLine=${level === 1} />`;
  const risky = face.risk === 'high' || face.risk === 'irreversible';
  const listedBelow = face.facts.some(({ text }) => text.includes('listed below'));
  const ids = { title: `${card.id}-intent`, about: `${card.id}-about` };

  return html`<article class="card" aria-labelledby=${ids.title} aria-describedby=${ids.about}>
    <div class="card-body" ref=${body}>
      <div class="card-top"><${Badge} card=${card} /><${CardWhen} card=${card} /></div>
      <h2 class="intent" id=${ids.title} ref=${title} tabindex="-1"><bdi>${strict(face.intent)}</bdi></h2>
      <div class="about" id=${ids.about}>
        ${face.risk && html`<span class="hidden">${RISKS[face.risk].word}.</span>`}
        ${parked && html`<p class="parked">Nobody answered in time, and that counts as no. Nothing was done. One tap asks again, with everything checked afresh.</p>`}
        ${!parked && face.evidence && html`<${Evidence} evidence=${face.evidence} />`}
        ${shown.length > 0 && html`<dl class="facts">${shown.map(({ label, text }) => html`<div key=${label}><dt>${strict(label)}</dt><dd><${FactText} text=${text} /></dd></div>`)}</dl>`}
      </div>
      ${!inDetails && rationale}
      ${face.kind === 'done' && face.diffs.length > 0 && html`<${FileList} diffs=${face.diffs} />`}
    </div>
    ${(hasDetails(card, moved) || inDetails) && html`<${Details} card=${card} moved=${moved} startsOpen=${!parked && (risky || listedBelow || level >= 2)}>${inDetails && rationale}<//>`}
  </article>`;
}

/** @param {{ text: string, asked: string[], oneLine: boolean }} props */
function Rationale({ text, asked, oneLine }) {
  const words = text.replace(/^You asked:\s*/, '').replace(/^[“"]|[”"]$/g, '');
  const isOwners = words !== text || asked.some((said) => said.startsWith(words.replace(/\s*…$/, '')));
  if (!isOwners) return html`<p class="why"><bdi>${visible(text)}</bdi></p>`;
  return html`<blockquote class=${oneLine ? 'quote one-line' : 'quote'}>
    <p class="quote-label">You asked</p>
    <p class="quote-text"><bdi>“${visible(words)}”</bdi></p>
  </blockquote>`;
}

/** How much has to move so that the body fits; measured after layout. @param {{ current: HTMLElement | null }} body @param {Card} card */
function useFit(body, card) {
  const [fit, setFit] = useState({ key: '', level: 0 });
  const key = `${card.id} ${card.offer?.nonce ?? ''} ${card.state}`;
  const level = fit.key === key ? fit.level : 0;
  useLayoutEffect(() => {
    // With larger text or a narrower page the card simply grows.
    const ordinary = innerWidth >= 375 && parseFloat(getComputedStyle(document.documentElement).fontSize) <= 16;
    const tooHigh = (body.current?.offsetHeight ?? 0) > BODY_PX_MAX;
    const more = card.state === 'open' && level < 2 + card.face.facts.length - 1;
    if (ordinary && tooHigh && more) setFit({ key, level: level + 1 });
  }, [key, level]);
  return level;
}
