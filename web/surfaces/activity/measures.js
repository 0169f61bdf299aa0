// @ts-check
// How deciding goes, asked for when somebody wants to know.

import { html } from '../../lib/html.js';
import { askMeasures } from '../../lib/asking.js';

/** @typedef {import('../../lib/store.js').State} State */

/** @param {{ measures: State['measures'] }} props */
export function Measures({ measures }) {
  const opened = (/** @type {Event} */ event) => event.target instanceof HTMLDetailsElement && event.target.open && askMeasures();
  return html`<details class="measures" onToggle=${opened}>
    <summary>How deciding goes</summary>
    ${measures === null ? html`<p class="activity-text">Looking</p>` : measures.length === 0 ? html`<p class="activity-text">Nothing was decided in the last 30 days.</p>` : html`<p class="activity-text">The last 30 days, counted from the log. Nothing of it leaves this machine.</p>
    <dl>${measures.map((measure) => html`<div key=${measure.name}><dt>${measure.name}</dt><dd>${measure.value}${measure.note && html` <span class="measure-note">${measure.note}</span>`}</dd><dd class="measure-target">should be ${measure.target}</dd></div>`)}</dl>`}
  </details>`;
}
