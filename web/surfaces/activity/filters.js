// @ts-check
// What can be looked for in Activity. The choice is kept in the address, so that a link leads to it and Back leaves
// Activity instead of going through every choice.

import { useRef } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { swap } from '../../lib/router.js';
import { isNight } from '../../lib/time.js';

/** @typedef {{ name: string, label: string, title: string, topic: import('../../protocol.js').Topic, one: string, many: string, none: string }} Looked */

/** The owner's last long pause; its label depends on when that was. */
export const AWAY = 'away';
export const EVERYTHING = 'everything';

/** @type {Looked[]} */
export const TOPICS = [
  { name: 'changes', label: 'Changes', title: 'What changed', topic: 'change', one: 'change', many: 'changes', none: 'Nothing changed lately. What Silas applies, rehearses for you or puts back is listed here.' },
  { name: 'decisions', label: 'Decisions', title: 'What you decided', topic: 'decision', one: 'decision', many: 'decisions', none: 'You decided nothing lately. What you approve, decline, allow or take back is listed here.' },
  { name: 'refused', label: 'Refused', title: 'What was refused', topic: 'refusal', one: 'refusal', many: 'refusals', none: 'Nothing was refused lately. What Silas does not do, and why, is listed here.' },
  { name: 'spending', label: 'Spending', title: 'What was spent', topic: 'spending', one: 'entry', many: 'entries', none: 'Nothing was spent lately. Each question to a model with its cost, a cap that was reached and what you add to it is listed here.' },
];

/** @param {import('../../protocol.js').PeriodView} away */
export const awayWords = ({ from, to }) => (isNight(from, to) ? { filter: 'Last night', title: 'While you slept' } : { filter: 'While you were away', title: 'While you were away' });

/** @param {{ away: import('../../protocol.js').PeriodView | null, chosen: string }} props */
export function Filters({ away, chosen }) {
  const strip = useRef(/** @type {HTMLElement | null} */ (null));
  // What is chosen when nobody has chosen is at the beginning, in sight.
  const names = [...(away ? [AWAY] : []), EVERYTHING, ...TOPICS.map(({ name }) => name)];
  const label = (/** @type {string} */ name) => (name === AWAY && away ? awayWords(away).filter : TOPICS.find((topic) => topic.name === name)?.label ?? 'Everything');

  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    const buttons = /** @type {HTMLElement[]} */ ([...(strip.current?.querySelectorAll('button') ?? [])]);
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const forward = strip.current?.matches(':dir(rtl)') ? 'ArrowLeft' : 'ArrowRight';
    const to = { Home: 0, End: buttons.length - 1, ArrowLeft: at - 1, ArrowRight: at - 1, [forward]: at + 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    buttons[to]?.focus();
  };
  return html`<div class="filters" role="group" aria-label="Show" ref=${strip} onKeyDown=${onKey}>${names.map((name) => html`<button type="button" key=${name} class="filter" aria-pressed=${chosen === name} onClick=${() => swap(`activity/${name}`)}>${name === AWAY && html`<${Icon} name="moon" size=${18} />`}${label(name)}</button>`)}</div>`;
}
