// @ts-check
// A message that is being worked on, where its answer will stand: what is done, whose message it is, for how long, and Stop.

import { interrupt } from '../../lib/asking.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { Said } from '../../lib/text.js';
import { span } from '../../lib/time.js';
import { clamped } from '../../cards/quote.js';

/** @param {{ one: import('../../lib/under-way.js').Doing, now: number }} props */
export function UnderWay({ one: { does, model, since, about }, now }) {
  const ms = Math.max(0, now - Date.parse(since));
  return html`<section class="under-way" aria-label="Under way">
    <div class="under-way-words">
      <p class="under-way-what"><${Icon} name="spinner" size=${16} /><b>${does}</b><span class="step-time">${ms < 1000 ? '' : span(Math.floor(ms / 1000) * 1000)}</span></p>
      ${about && html`<p class="under-way-about" dir="auto">“<${Said} text=${clamped(about, 'twoLines')} />”</p>`}
      ${model && html`<p class="under-way-about">with <bdi>${model}</bdi></p>`}
    </div>
    <button type="button" class="link-button" onClick=${interrupt}>Stop</button>
  </section>`;
}
