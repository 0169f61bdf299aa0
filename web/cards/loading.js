// @ts-check
// Before the first snapshot: grey bars in a card's shape. The style sheet shows them only after a moment.

import { html } from '../lib/html.js';

export function Loading() {
  return html`<div class="card loading" aria-hidden="true"><div class="card-body"><span class="bar short"></span><span class="bar tall"></span><span class="bar"></span><span class="bar"></span><span class="bar"></span></div></div>`;
}
