// @ts-check
// Words that Silas did not compute: the owner's request and what a model says about its plan. Each is marked as whose it
// is and isolated from the text around it; on the card it is cut at a word, in the details it stands whole.

import { useLayoutEffect, useRef, useState } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { Said, Words, strict } from '../lib/text.js';

/** @typedef {import('../protocol.js').Face} Face */

/** What a place on a card holds in an ordinary font; the style sheet holds back what a wide one makes of it. */
const CHARS_MAX = { twoLines: 84, oneLine: 38, fact: 26, asked: 120 };

/** As much of a text as fits there, ended at a word. @param {string} text @param {keyof typeof CHARS_MAX} place */
export const clamped = (text, place) => ended(text, CHARS_MAX[place]);

/** @param {string} text @param {number} max */
function ended(text, max) {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  if (line.length <= max) return line;
  const cut = line.slice(0, max).replace(/\s\S*$/, '');
  // What began as code and is cut off in it ends as code.
  const isOpen = (cut.match(/`/g) ?? []).length % 2 === 1;
  return `${cut}${isOpen ? '`' : ''} …`;
}

/** The owner's words among the facts: as many as there is room for, ended at a word; measured after layout. @param {{ text: string, oneLine: boolean }} props */
export function Asked({ text, oneLine }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const key = `${text} ${oneLine}`;
  const [fit, setFit] = useState({ key, max: CHARS_MAX.asked });
  const max = fit.key === key ? fit.max : CHARS_MAX.asked;
  const words = ended(text, max);
  useLayoutEffect(() => {
    const box = place.current;
    const isCut = box !== null && box.scrollHeight > box.clientHeight + 1;
    if (isCut && words.length > CHARS_MAX.fact) setFit({ key, max: words.replace(/ …$/, '').length - 1 });
  }, [key, max]);
  return html`<dd class=${oneLine ? 'asked one-line' : 'asked'} dir="auto" ref=${place}>“<${Said} text=${words} />”</dd>`;
}

/** What the widest letters leave on one line: only so much is certainly there to be read, whatever the letters are. */
const READ_CHARS_MAX = 12;

/** Whether there may be more of it than the card shows. @param {string | null | undefined} text */
const isCut = (text) => Boolean(text) && (/** @type {string} */ (text).length > READ_CHARS_MAX || clamped(/** @type {string} */ (text), 'fact') !== text);

/** @param {{ label: string, text: string, oneLine: boolean, whole?: boolean }} props */
function Quotation({ label, text, oneLine, whole = false }) {
  return html`<blockquote class=${whole ? 'quote whole' : oneLine ? 'quote one-line' : 'quote'}>
    <p class="quote-label">${label}</p>
    <p class="quote-text" dir="auto">“<${Said} text=${whole ? text : clamped(text, oneLine ? 'oneLine' : 'twoLines')} />”</p>
  </blockquote>`;
}

/**
 * Why this is proposed, in the body of a card: in the model's words, in the owner's, or computed.
 * @param {{ face: Face, oneLine: boolean }} props
 */
export function Why({ face: { kind, asked, quote, rationale }, oneLine }) {
  // Whoever answers a question has read all of it.
  if (quote && kind === 'decision') return html`${!oneLine && html`<${Quotation} label="You asked" text=${asked ?? ''} oneLine />`}
    <${Quotation} label="In the model’s words" text=${quote.text} oneLine=${false} whole />`;
  if (quote) return html`<${Quotation} label="In the model’s words" text=${quote.text} oneLine=${oneLine} />`;
  if (asked) return html`<${Quotation} label="You asked" text=${asked} oneLine=${oneLine} />`;
  return rationale ? html`<p class="why"><${Words} text=${rationale} /></p>` : null;
}

/** Whether the details have to say it all. @param {Face} face @param {boolean} moved Whether the card does not say it at all. */
export const saysMore = ({ asked, quote, rationale }, moved) => Boolean(quote) || isCut(asked) || (moved && Boolean(asked || rationale));

/** The same in the details: everything, with its lines. @param {{ face: Face }} props */
export function Whole({ face: { asked, quote, rationale } }) {
  return html`${asked && html`<section class="detail said"><h3>You asked</h3><p dir="auto"><${Said} text=${asked} /></p></section>`}
    ${quote && html`<section class="detail said said-model"><h3>In the model’s words, ${strict(quote.who)}</h3><p dir="auto"><${Said} text=${quote.text} /></p></section>`}
    ${!asked && !quote && rationale && html`<p class="why"><${Words} text=${rationale} /></p>`}`;
}
