// @ts-check
// The line on top: who this is, what is going on, and Stop.

import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { isOffline } from '../../lib/socket.js';
import { needingReview, set } from '../../lib/store.js';
import { clock, moment } from '../../lib/time.js';
import { useUnderWay } from '../../lib/under-way.js';

/** @typedef {import('../../lib/store.js').State} State */

/** @param {{ state: State, wide: boolean }} props */
export function Header({ state, wide }) {
  const running = state.work.some((work) => work.running);
  const stop = () => set({ sheet: 'stop', stopping: null });
  return html`<header class="top">
    <div class="top-name">
      <p class="name">Silas</p>
      <${Ambient} state=${state} />
    </div>
    ${wide && html`<nav class="top-nav" aria-label="Surfaces"><a class="top-link" href="#activity"><${Icon} name="activity" size=${20} />Activity<kbd aria-hidden="true">A</kbd></a></nav>`}
    <button type="button" class=${running ? 'top-stop running' : 'top-stop'} aria-label=${wide ? undefined : 'Stop everything'} aria-haspopup="dialog" onClick=${stop}>
      <${Icon} name="stop" size=${wide ? 22 : 24} />${wide && 'Stop everything'}
    </button>
    <button type="button" class="top-more" aria-label="More" aria-haspopup="dialog" onClick=${() => set({ sheet: 'more' })}><${Icon} name="more" size=${20} /></button>
  </header>`;
}

/** "1 active · 1 needs review". @param {{ state: State }} props */
function Ambient({ state }) {
  const { link, loaded, asOf } = state;
  const { doing } = useUnderWay(state);
  if (link.status !== 'open') {
    const since = asOf === null ? '' : ` · as of ${moment(asOf)}`;
    return html`<p class="ambient">${link.lastSeen && isOffline() ? `Offline · last seen ${moment(link.lastSeen)}` : loaded ? `Reconnecting${since}` : 'Connecting'}</p>`;
  }
  // A message that is being read is something that goes on; a model that is asked has a line of its own.
  const reading = doing.filter(({ model }) => !model).length;
  const active = state.work.filter((work) => work.running).length + reading;
  const waiting = needingReview(state.cards).length;
  const asked = state.waiting_for[0];
  const until = state.waiting_for.map((one) => one.waits_until).find(Boolean);
  const isFirst = state.entries.length + state.work.length === 0;
  if (active + waiting === 0 && !asked) return html`<p class="ambient">${isFirst ? 'Paired with this browser · All quiet' : 'All quiet'}</p>`;
  // Each part is an element of its own with a key: loose ones that come and go are mistaken for each other.
  return html`<p class="ambient">
    ${active > 0 && html`<span key="active"><span class="dot" aria-hidden="true"></span><bdi>${active} active</bdi></span>`}
    ${until && html`<span key="until">${active > 0 ? ' · ' : ''}Waiting for the provider until ${clock(until)}</span>`}
    ${active === 0 && !until && html`<span key="asked">${asked ? html`Waiting for <bdi class="ambient-model" title=${asked.model}>${asked.model}</bdi> since ${moment(Date.parse(asked.since))}` : 'Nothing running'}</span>`}
    ${waiting > 0 && html`<span key="waiting">${' · '}<a href="#review">${waiting} ${waiting === 1 ? 'needs' : 'need'} review</a></span>`}
  </p>`;
}
