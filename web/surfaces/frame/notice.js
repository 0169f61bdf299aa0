// @ts-check
// What stands in the way, above everything else and in three parts: what happened, what it means, what to do.

import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { retry } from '../../lib/session.js';
import { isOffline } from '../../lib/socket.js';
import { set } from '../../lib/store.js';
import { Words, count } from '../../lib/text.js';
import { clock, moment, serverNow, serverTime, useNow } from '../../lib/time.js';
import { acceptRestore } from '../../lib/witness.js';

/** @typedef {import('../../lib/store.js').State} State */

/** @param {{ state: State }} props */
export function Notice({ state }) {
  if (state.doubt) return html`<${Doubted} doubt=${state.doubt} />`;
  if (state.link.status !== 'open') return html`<${Reconnecting} link=${state.link} asOf=${state.asOf} />`;
  if (!state.problem) return html`<${Stopped} state=${state} />`;
  const { message, todo, code } = state.problem;
  return html`<div class="notice" role="alert">
    <${Icon} name="refused" size=${20} />
    <p><b><${Words} text=${message} /></b> <${Words} text=${todo} />${/^E_/.test(code) && html`<span class="notice-code">${code}</span>`}</p>
    <button type="button" class="notice-act" onClick=${() => set({ problem: null })}>Close</button>
  </div>`;
}

/** What Stop did, until something begins again or somebody puts it away. @param {{ state: State }} props */
function Stopped({ state: { stopped, work, grants } }) {
  if (!stopped || work.some(({ running, started_at }) => running || started_at > stopped.at)) return null;
  const { n_works, models = [] } = stopped;
  const waited = models.length > 0 && `${models.join(', ')} ${models.length === 1 ? 'is' : 'are'} not waited for any more.`;
  const ended = [n_works > 0 && `${count(n_works, 'task')} ended.`, waited].filter(Boolean).join(' ') || 'Nothing was running.';
  const gone = stopped.n_grants > 0 ? `${count(stopped.n_grants, 'grant')} ${stopped.n_grants === 1 ? 'is' : 'are'} gone: everything asks you first.` : grants.length > 0 ? `What you granted stays.` : '';
  return html`<div class="notice" role="note">
    <${Icon} name="stop" size=${20} />
    <p><b>Everything is stopped.</b> ${ended} ${gone}</p>
    <button type="button" class="notice-act" onClick=${() => set({ stopped: null })}>Close</button>
  </div>`;
}

/** Stays until somebody has found out; only a restore can be said to be one's own. @param {{ doubt: import('../../lib/witness.js').Doubt }} props */
function Doubted({ doubt }) {
  const { kind, seq, seenAt, head } = doubt;
  const what = {
    cut: `The log now ends at entry ${head?.seq ?? 0}. Its end was cut off, or this is an old copy.`,
    other: 'The log was written anew.',
    restored: 'Silas was restored from a backup, and what came after that backup is not in its log.',
  }[kind];
  return html`<div class="notice" role="alert">
    <${Icon} name="refused" size=${20} />
    <p><b>The log does not continue what this browser has seen.</b> Entry ${seq} was seen here at ${clock(seenAt)}. ${what} ${kind === 'restored' ? 'If that was not you, find out before you approve anything.' : 'Approve nothing, keep everything as it is, and find out.'}</p>
    ${kind === 'restored' && html`<button type="button" class="notice-act" onClick=${() => void acceptRestore()}>I restored it</button>`}
  </div>`;
}

/** @param {{ link: State['link'], asOf: State['asOf'] }} props */
function Reconnecting({ link, asOf }) {
  const waiting = link.status === 'waiting';
  useNow(waiting);
  // The first connection is not a loss; and a try that lasts a moment keeps the notice as it is.
  if (!waiting && link.retryAt === 0 && asOf === null) return null;
  if (isOffline()) {
    return html`<div class="notice" role="status"><${Icon} name="offline" size=${20} />
      <p><b>This device is offline.</b> ${link.lastSeen ? `What you see is from ${moment(link.lastSeen)}. ` : ''}Work on the machine goes on.</p></div>`;
  }
  const seconds = Math.max(0, Math.ceil((serverTime(link.retryAt) - serverNow()) / 1000));
  return html`<div class="notice">
    <${Icon} name="dashed" size=${20} />
    <p><span role="status"><b>Silas is not answering.</b></span> ${waiting && seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again now.'} ${asOf === null ? 'Nothing that was recorded is lost.' : `What you see is as of ${moment(asOf)}.`}</p>
    <button type="button" class="notice-act" onClick=${retry}>Retry</button>
  </div>`;
}
