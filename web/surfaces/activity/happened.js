// @ts-check
// What happened: a sentence that sums up, the mark of the log, and the rows of what is looked for. What a row is about is
// the server's word; nothing is guessed from its text.

import { useState } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { shows } from '../../lib/advanced.js';
import { earliest, moreActivity } from '../../lib/pages.js';
import { more } from '../../lib/asking.js';
import { needingReview } from '../../lib/store.js';
import { Words, count } from '../../lib/text.js';
import { clock, day, serverNow } from '../../lib/time.js';
import { Loading } from '../../cards/loading.js';
import { Evidence, idOf } from './evidence.js';
import { AWAY, EVERYTHING, Filters, TOPICS, awayWords } from './filters.js';
import { Measures } from './measures.js';
import { Works } from './works.js';
import { sum } from './sum.js';

/** @typedef {import('../../lib/store.js').State} State */
/** @typedef {import('../../protocol.js').Row} Row */

/** For this long after a pause, what happened in it is what one wants to know first. */
const BACK_MS = 2 * 3_600_000;

/** @param {{ state: State, wanted: string, titled: boolean }} props `wanted`: the filter that the address names, if it names one. */
export function Happened({ state, wanted, titled }) {
  const { activity, since, measures, cards } = state;
  const { away, spent } = activity;
  const rows = state.older ? [...activity.rows, ...state.older.rows] : activity.rows;
  const linked = state.link.status === 'open';
  // Times have one spelling, so their order is that of the text.
  const isWithin = (/** @type {string} */ at) => away !== null && at >= away.from && at <= away.to;
  const meanwhile = rows.filter(({ at }) => isWithin(at));
  const isBack = away !== null && meanwhile.length > 0 && serverNow() - Date.parse(away.to) < BACK_MS;
  const filter = (wanted === AWAY && !away ? '' : wanted) || (isBack ? AWAY : EVERYTHING);
  const looked = TOPICS.find(({ name }) => name === filter);
  const period = filter === AWAY ? away : null;
  const words = period ? awayWords(period).title : looked?.title ?? 'What Silas did';
  const title = titled ? html`<h1 class="surface-title">${words}</h1>` : html`<h2 class="surface-title">${words}</h2>`;
  if (!state.loaded) return html`${title}<${Loading} />`;
  if (rows.length === 0) return html`${title}<p class="activity-text">Nothing yet. Everything Silas does will be listed here.</p>`;

  const shown = period ? meanwhile : looked ? rows.filter(({ topics }) => topics.includes(looked.topic)) : rows;
  const waiting = needingReview(cards).filter(({ created_at }) => !period || isWithin(created_at)).length;
  const summed = sum({ rows: shown, waiting, looked, period, isBack, spent });
  return html`${title}
    ${summed && html`<p class="activity-text">${summed}</p>`}
    ${since && html`<p class="activity-text activity-since">${count(since.n_entries, 'message')} since this device was last here, ${day(since.at)} ${clock(since.at)}.</p>`}
    <${LogMark} activity=${activity} />
    <${Filters} away=${away} chosen=${filter} />
    ${shown.length === 0
      ? html`<p class="activity-text activity-none">${looked ? looked.none : 'Nothing happened in this time.'}</p>`
      : html`<ol class="timeline">${shown.map((row, at) => html`<${TimelineRow} key=${row.seq} state=${state} row=${row} newDay=${at === 0 ? day(row.at) !== 'today' : day(row.at) !== day(shown[at - 1].at)} />`)}</ol>`}
    ${earliest(state) !== null && html`<p class="show-more"><button type="button" class="button plain" disabled=${!linked} onClick=${() => more(moreActivity)}>Show earlier</button></p>`}
    ${shows(state, 'works') && html`<${Works} works=${state.works} linked=${linked} />`}
    ${shows(state, 'measures') && html`<${Measures} measures=${measures} />`}`;
}

/** @param {{ activity: State['activity'] }} props */
function LogMark({ activity: { verified, n_entries } }) {
  const entries = count(n_entries, 'entry', 'entries');
  if (verified === null) return html`<p class="log-mark"><${Icon} name="link" size=${18} /><b>Checking the log</b> ${entries}</p>`;
  if (verified) return html`<p class="log-mark log-good"><${Icon} name="link" size=${18} /><b>Log verified</b> <span>${entries}, unbroken</span></p>`;
  return html`<div class="log-mark log-broken" role="alert"><${Icon} name="broken" size=${18} /><p><b>The log is broken.</b> Something changed it outside Silas. Do not rely on what is listed here. On its machine: <code dir="ltr">silas audit verify</code></p></div>`;
}

/** What a row tells may be in the words of others, so it stands beside what opens it and not in it. @param {{ state: State, row: Row, newDay: boolean }} props */
function TimelineRow({ state, row, newDay }) {
  const [open, setOpen] = useState(false);
  const ids = { text: `row-${row.seq}-text`, note: `row-${row.seq}-note`, evidence: idOf(row.seq) };
  return html`<li class=${`row row-${row.icon}`}>
    ${newDay && html`<p class="row-day">${day(row.at)}</p>`}
    <time class="row-time" datetime=${row.at}>${clock(row.at)}</time>
    <span class="row-icon"><${Icon} name=${row.icon} size=${18} /></span>
    <div class="row-words">
      <p class="row-text" id=${ids.text}><${Told} row=${row} /></p>
      ${row.note && html`<p class="row-note" id=${ids.note}><${Words} text=${row.note} /></p>`}
      <button type="button" class="row-open" aria-label=${`Entry ${row.seq.toLocaleString('en')} of the log`} aria-describedby=${row.note ? `${ids.text} ${ids.note}` : ids.text} aria-expanded=${open} aria-controls=${open ? ids.evidence : undefined} onClick=${() => setOpen(!open)}><${Icon} name=${open ? 'up' : 'down'} size=${16} /></button>
    </div>
    ${open && html`<${Evidence} state=${state} seq=${row.seq} />`}
  </li>`;
}

/** The words that carry the news stand out: that something was refused or proved, that a check is red. @param {{ row: Row }} props */
function Told({ row: { icon, text } }) {
  const news = /^(?:Refused|Proved)(?= )/.exec(text) ?? (icon === 'cross' ? /\bred\b/.exec(text) : null);
  if (!news) return html`<${Words} text=${text} />`;
  const [before, after] = [text.slice(0, news.index), text.slice(news.index + news[0].length)];
  return html`${before && html`<${Words} text=${before} />`}<b>${news[0]}</b>${after && html`<${Words} text=${after} />`}`;
}
