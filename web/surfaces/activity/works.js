// @ts-check
// All work that was ever approved, newest first, asked for when somebody wants to see it.

import { html } from '../../lib/html.js';
import { moreWork } from '../../lib/pages.js';
import { more } from '../../lib/asking.js';
import { clock, day } from '../../lib/time.js';

/** @typedef {import('../../lib/store.js').State} State */
/** @typedef {import('../../protocol.js').WorkItemView} Item */

/** @type {Record<Item['state'], string>} */
const WORDS = { running: 'Running', rehearsed: 'Waits for you', applied: 'Applied', ended: 'Nothing applied', undone: 'Undone' };

/** @param {{ works: State['works'], linked: boolean }} props */
export function Works({ works, linked }) {
  const opened = (/** @type {Event} */ event) => event.target instanceof HTMLDetailsElement && event.target.open && !works && more(moreWork);
  return html`<details class="measures works" onToggle=${opened}>
    <summary>All work</summary>
    ${works === null ? html`<p class="activity-text">Looking</p>` : works.list.length === 0 ? html`<p class="activity-text">No work yet.</p>` : html`<dl>${works.list.map((item) => html`<${Work} key=${item.execution} item=${item} />`)}</dl>`}
    ${works !== null && works.n_more > 0 && html`<p class="show-more"><button type="button" class="button plain" disabled=${!linked} onClick=${() => more(moreWork)}>Show more of ${works.n_more}</button></p>`}
  </details>`;
}

/** @param {{ item: Item }} props */
function Work({ item: { execution, title, place, state, started_at: at, has_proof: proof } }) {
  return html`<div><dt><bdi>${title}</bdi></dt>
    <dd>${WORDS[state]} <span class="measure-note">${place}, ${day(at)} ${clock(at)}</span></dd>
    ${proof && html`<dd class="measure-target"><a href=${`#proof/${execution}`}>See the proof</a></dd>`}</div>`;
}
