// @ts-check
// The anatomy of a card: badge, state, intent, evidence, facts, rationale, details. One place for every kind; what is
// asked stands in the dock.

import { useLayoutEffect, useRef, useState } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { strict } from '../lib/text.js';
import { limit } from '../lib/time.js';
import { Details, Facts, checkCount, hasDetails } from './details.js';
import { FILES_MAX, FileList } from './diff.js';
import { Evidence, LINES_MAX, hasLongCommand, isUnprotected } from './evidence.js';
import { Asked, Whole, Why, saysMore } from './quote.js';
import { Badge, CardWhen, RISKS } from './risk.js';
import { Versions, isFoldable } from './versions.js';

/** @typedef {import('../protocol.js').Card} Card */

/** The head of a card at 375 px and ordinary text; what does not fit moves into the details, nothing is cut. */
const BODY_PX_MAX = 300;

/**
 * @param {{ card: Card, focus: boolean, facts?: import('../protocol.js').Fact[], children?: unknown }} props
 *   `facts`: those of what is chosen, instead of the card's own. `children`: what is entered on the card.
 */
export function CardView({ card, focus, facts = card.face.facts, children }) {
  const { face } = card;
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  const level = useFit(body, card, facts);
  const parked = card.state === 'parked';

  useLayoutEffect(() => {
    // Never away from somebody who is typing.
    if (focus && !document.activeElement?.matches('textarea, input')) title.current?.focus({ preventScroll: true });
  }, [card.id]);

  const moves = parked ? [] : movesOf(face, facts).slice(0, level);
  const n_moved = moves.filter((move) => move === 'fact').length;
  const checksMoved = moves.includes('checks');
  const areCommandsShort = moves.includes('commands');
  const shown = parked ? [] : facts.slice(0, facts.length - n_moved);
  const moved = parked ? facts : facts.slice(facts.length - n_moved);
  const isResult = face.evidence !== null || face.versions !== undefined || face.kind === 'done' || face.kind === 'report';
  // A result is about evidence, and a model's plan about what the model says: there the owner's words are one line among
  // the facts, and all of them are in the details.
  const inFacts = !parked && face.asked && (isResult || face.quote) && !moves.includes('rationale');
  // A report without evidence and not about the owner's words has nothing else to say than this.
  const isAllThereIs = face.kind === 'report' && face.evidence === null && !face.asked;
  const inDetails = parked || (isResult && !isAllThereIs) || moves.includes('rationale');
  const whole = saysMore(face, inDetails) && html`<${Whole} face=${face} />`;
  // What is done has its badge and one line about its checks; only that the checks were open, or that the work changed
  // them, is said again.
  const isDone = face.kind === 'done';
  const evidenced = !parked && face.evidence !== null && (!isDone || isUnprotected(face.evidence.claim));
  const risky = face.risk === 'high' || face.risk === 'irreversible';
  const listedBelow = pointsBelow(face, facts);
  const ids = { title: `${card.id}-intent`, about: `${card.id}-about` };

  return html`<article class="card" aria-labelledby=${ids.title} aria-describedby=${ids.about}>
    <div class=${moves.includes('air') ? 'card-body close' : 'card-body'} ref=${body}>
      <div class="card-top"><${Badge} card=${card} /><${CardWhen} card=${card} /></div>
      <h2 class="intent" id=${ids.title} ref=${title} tabindex="-1"><bdi>${strict(face.intent)}</bdi></h2>
      <div class="about" id=${ids.about}>
        ${face.risk && html`<span class="hidden">${RISKS[face.risk].word}.</span>`}
        ${parked && html`<p class="parked">No answer in ${waited(card)} counts as no, so nothing was allowed. One tap asks again, with everything checked afresh.</p>`}
        ${evidenced && html`<${Evidence} evidence=${face.evidence} lines=${isDone ? 'left out' : checksMoved ? 'counted' : areCommandsShort ? 'short' : 'shown'} />`}
        ${!parked && face.versions && html`<${Versions} versions=${face.versions} folded=${moves.includes('lines')} />`}
        ${shown.length > 0 && html`<${Facts} facts=${shown} diffs=${face.diffs}>${inFacts && html`<div><dt>You asked</dt><${Asked} text=${face.asked ?? ''} oneLine=${moves.includes('asked')} /></div>`}<//>`}
      </div>
      ${!inDetails && html`<${Why} face=${face} oneLine=${moves.includes('line')} />`}
      ${!parked && children}
      ${hasFiles(face) && !moves.includes('files') && html`<${FileList} diffs=${face.diffs} />`}
    </div>
    ${(hasDetails(card, moved) || checksMoved || areCommandsShort || whole) && html`<${Details} card=${card} moved=${moved} checksListed=${checksMoved || areCommandsShort || isDone} startsOpen=${!parked && (risky || listedBelow || n_moved > 0 || checksMoved || showsChange(face))}>${whole}<//>`}
  </article>`;
}

/** How long the card asked, as far as it says. @param {Card} card */
function waited({ offer }) {
  return offer ? limit(Date.parse(offer.expires_at) - Date.parse(offer.issued_at)) : 'time';
}

/**
 * Whether something on the card is only counted there, or named there as being below: then the details start open, whatever
 * the risk.
 * @param {import('../protocol.js').Face} face @param {import('../protocol.js').Fact[]} facts
 */
function pointsBelow(face, facts) {
  return [face.intent, ...facts.map(({ text }) => text)].some((text) => /\b((listed|named) below|not all shown|\d listed)\b/i.test(text))
    || facts.some(({ text }) => text.startsWith('…/')) || checkCount(face) > LINES_MAX || (hasFiles(face) && face.diffs.length > FILES_MAX);
}

/** From this height on the first lines of a change stand between a card and its dock. */
const ROOMY_PX = 760;

/** What would be put in place is read before anything else, where there is room for it. @param {import('../protocol.js').Face} face */
const showsChange = ({ kind, diffs }) => kind === 'rehearsed' && diffs.length > 0 && innerHeight >= ROOMY_PX;

/** @param {import('../protocol.js').Face} face */
const hasFiles = ({ kind, diffs }) => kind === 'done' && diffs.length > 0;

/**
 * What gives way when the body is too high, in this order: the second line of what the owner asked; the list of files, whose changes are in the details anyway;
 * the middle of commands that stand whole there; the rationale, to one line; on a result air, by which the owner's words stay
 * beside what came of them; the rationale, into the details; the last facts, all but one; at last the lines of the checks,
 * whose claim stays, or all but the first line of two versions. If even that is too much, as with wide letters, other cards
 * are set closer too.
 * @param {import('../protocol.js').Face} face @param {import('../protocol.js').Fact[]} facts
 * @returns {('asked' | 'files' | 'commands' | 'line' | 'rationale' | 'fact' | 'checks' | 'lines' | 'air')[]}
 */
function movesOf(face, facts) {
  // A question is never answered unread; what was asked for before can be found in the details.
  if (face.kind === 'decision') return ['line', 'air'];
  const isEvidenced = checkCount(face) > 0 && face.kind !== 'done';
  return [
    ...(face.asked ? /** @type {const} */ (['asked']) : []),
    ...(hasFiles(face) ? /** @type {const} */ (['files']) : []),
    ...(isEvidenced && hasLongCommand(face.evidence) ? /** @type {const} */ (['commands']) : []),
    ...(face.rationale || face.asked || face.quote ? /** @type {const} */ (isEvidenced ? ['line', 'air', 'rationale'] : ['line', 'rationale']) : []),
    ...facts.slice(1).map(() => /** @type {const} */ ('fact')),
    ...(isEvidenced ? /** @type {const} */ (['checks']) : []),
    ...(isFoldable(face.versions) ? /** @type {const} */ (['lines']) : []),
    'air',
  ];
}

/** How much has to move so that the body fits; measured after layout. @param {{ current: HTMLElement | null }} body @param {Card} card @param {import('../protocol.js').Fact[]} facts */
function useFit(body, card, facts) {
  const [fit, setFit] = useState({ key: '', level: 0 });
  const key = `${card.id} ${card.offer?.nonce ?? ''} ${card.state}`;
  const level = fit.key === key ? fit.level : 0;
  useLayoutEffect(() => {
    // With larger text or a narrower page the card simply grows.
    const ordinary = innerWidth >= 375 && parseFloat(getComputedStyle(document.documentElement).fontSize) <= 16;
    const tooHigh = (body.current?.offsetHeight ?? 0) > BODY_PX_MAX;
    const more = card.state === 'open' && level < movesOf(card.face, facts).length;
    if (ordinary && tooHigh && more) setFit({ key, level: level + 1 });
  }, [key, level]);
  return level;
}
