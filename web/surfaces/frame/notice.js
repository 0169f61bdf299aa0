// @ts-check
// What stands in the way, above everything else and in three parts: what happened, what it means, what to do.

import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { retry } from '../../lib/session.js';
import { set } from '../../lib/store.js';
import { clock, serverNow, serverTime, useNow } from '../../lib/time.js';
import { isOffline } from './header.js';

/** @typedef {import('../../lib/store.js').State} State */

/** @param {{ state: State }} props */
export function Notice({ state }) {
  if (state.link.status !== 'open') return html`<${Reconnecting} link=${state.link} />`;
  if (!state.problem) return null;
  const { message, todo } = state.problem;
  return html`<div class="notice" role="alert">
    <${Icon} name="refused" size=${20} />
    <p><b>${message}</b> ${todo}</p>
    <button type="button" class="notice-act" onClick=${() => set({ problem: null })}>Close</button>
  </div>`;
}

/** @param {{ link: State['link'] }} props */
function Reconnecting({ link }) {
  const waiting = link.status === 'waiting';
  useNow(waiting);
  // The first connection is not a loss; and a try that lasts a moment keeps the notice as it is.
  if (!waiting && link.retryAt === 0) return null;
  if (isOffline()) {
    return html`<div class="notice" role="status"><${Icon} name="offline" size=${20} />
      <p><b>This device is offline.</b> ${link.lastSeen ? `What you see is from ${clock(link.lastSeen)}. ` : ''}Work on the machine goes on.</p></div>`;
  }
  const seconds = Math.max(0, Math.ceil((serverTime(link.retryAt) - serverNow()) / 1000));
  return html`<div class="notice">
    <${Icon} name="dashed" size=${20} />
    <p><span role="status"><b>Silas is not answering.</b></span> ${waiting && seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again now.'} Nothing you decided is lost.</p>
    <button type="button" class="notice-act" onClick=${retry}>Retry</button>
  </div>`;
}
