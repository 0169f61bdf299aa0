// @ts-check
// Activity: what happened, told from the log, and what is allowed.

import { useState } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { earliest, moreActivity } from '../../lib/pages.js';
import { more } from '../../lib/session.js';
import { Words, count } from '../../lib/text.js';
import { clock, day, isNight, serverNow } from '../../lib/time.js';
import { Allowed } from './allowed.js';
import { Measures } from './measures.js';
import { Works } from './works.js';

/** @typedef {import('../../lib/store.js').State} State */
/** @typedef {import('../../protocol.js').Row} Row */

/** @param {{ state: State, onClose?: () => void }} props */
export function Activity({ state, onClose }) {
  const [half, setHalf] = useState(/** @type {'happened' | 'allowed'} */ ('happened'));
  const tab = (/** @type {'happened' | 'allowed'} */ name, /** @type {string} */ label) => html`<button type="button" role="tab" aria-selected=${half === name} onClick=${() => setHalf(name)}>${label}</button>`;
  return html`<section class="activity" aria-label="Activity">
    ${onClose && html`<div class="panel-top"><h1 tabindex="-1">Activity</h1><button type="button" class="panel-close" aria-label="Close" onClick=${onClose}><${Icon} name="close" size=${22} /></button></div>`}
    <div class="halves" role="tablist" aria-label="Activity">${tab('happened', 'What happened')}${tab('allowed', 'What is allowed')}</div>
    ${half === 'happened' ? html`<${Happened} state=${state} activity=${state.activity} since=${state.since} measures=${state.measures} titled=${!onClose} />` : html`<${Allowed} state=${state} titled=${!onClose} />`}
  </section>`;
}

/** Which rows a filter keeps, by what they are about. @type {[string, Row['icon'][]][]} */
const FILTERS = [['Results', ['seal', 'tick', 'cross', 'undo']], ['Decisions', ['pen', 'shield']], ['Refused', ['refused']]];

/** The filter that shows the owner's last long pause; its name depends on when that was. */
const AWAY = 'away';
/** For this long after a pause, what happened in it is what one wants to know first. */
const BACK_MS = 2 * 3_600_000;

/** @param {import('../../protocol.js').PeriodView} away */
const awayWords = ({ from, to }) => (isNight(from, to) ? { filter: 'Last night', title: 'While you slept' } : { filter: 'While you were away', title: 'While you were away' });

/** What happened, without the times of another clock. @param {string} text */
const told = (text) => text.slice(text.indexOf(': ') + 2);

/** @param {{ state: State, activity: State['activity'], since: State['since'], measures: State['measures'], titled: boolean }} props */
function Happened({ state, activity, since, measures, titled }) {
  const [chosen, setFilter] = useState(/** @type {string | null} */ (null));
  const { summary, away } = activity;
  const rows = state.older ? [...activity.rows, ...state.older.rows] : activity.rows;
  const linked = state.link.status === 'open';
  // Times have one spelling, so their order is that of the text.
  const meanwhile = away === null ? [] : rows.filter(({ at }) => at >= away.from && at <= away.to);
  const isBack = away !== null && meanwhile.length > 0 && serverNow() - Date.parse(away.to) < BACK_MS;
  const filter = chosen ?? (isBack ? AWAY : '');
  const night = away !== null && filter === AWAY;
  const words = night ? awayWords(away).title : 'What Silas did';
  const title = titled ? html`<h1 class="surface-title">${words}</h1>` : html`<h2 class="surface-title">${words}</h2>`;
  if (rows.length === 0) return html`${title}<p class="activity-text">Nothing yet. Everything Silas does will be listed here.</p>`;
  const useful = FILTERS.filter(([, icons]) => rows.some(({ icon }) => icons.includes(icon)));
  const icons = FILTERS.find(([name]) => name === filter)?.[1];
  const shown = night ? meanwhile : icons ? rows.filter(({ icon }) => icons.includes(icon)) : rows;
  const names = [...(away ? [AWAY] : []), '', ...useful.map(([name]) => name)];
  const label = (/** @type {string} */ name) => (name === AWAY && away ? awayWords(away).filter : name || 'Everything');
  return html`${title}
    <p class="activity-text"><${Words} text=${night ? `${clock(away.from)} to ${clock(away.to)}: ${told(away.text)}` : summary} /></p>
    ${since && html`<p class="activity-text activity-since">${count(since.n_entries, 'message')} since this device was last here, ${day(since.at)} ${clock(since.at)}.</p>`}
    <${LogMark} activity=${activity} />
    ${names.length > 2 && html`<div class="filters" role="group" aria-label="Show" tabindex="0">${names.map((name) => html`<button type="button" key=${name} class="filter" aria-pressed=${filter === name} onClick=${() => setFilter(name)}>${name === AWAY && html`<${Icon} name="moon" size=${18} />`}${label(name)}</button>`)}</div>`}
    <ol class="timeline">${shown.map((row, at) => html`<${TimelineRow} key=${row.seq} row=${row} newDay=${at === 0 ? day(row.at) !== 'today' : day(row.at) !== day(shown[at - 1].at)} />`)}</ol>
    ${earliest(state) !== null && html`<p class="show-more"><button type="button" class="button plain" disabled=${!linked} onClick=${() => more(moreActivity)}>Show earlier</button></p>`}
    <${Works} works=${state.works} linked=${linked} />
    <${Measures} measures=${measures} />`;
}

/** @param {{ activity: State['activity'] }} props */
function LogMark({ activity: { verified, n_entries } }) {
  const entries = count(n_entries, 'entry', 'entries');
  if (verified === null) return html`<p class="log-mark"><${Icon} name="link" size=${18} /><b>Checking the log</b> ${entries}</p>`;
  if (verified) return html`<p class="log-mark log-good"><${Icon} name="link" size=${18} /><b>Log verified</b> <span>${entries}, unbroken</span></p>`;
  return html`<div class="log-mark log-broken" role="alert"><${Icon} name="broken" size=${18} /><p><b>The log is broken.</b> Something changed it outside Silas. Do not rely on what is listed here. On its machine: <code dir="ltr">silas audit verify</code></p></div>`;
}

/** @param {{ row: Row, newDay: boolean }} props */
function TimelineRow({ row, newDay }) {
  return html`<li class=${`row row-${row.icon}`}>
    ${newDay && html`<p class="row-day">${day(row.at)}</p>`}
    <time class="row-time" datetime=${row.at}>${clock(row.at)}</time>
    <span class="row-icon"><${Icon} name=${row.icon} size=${18} /></span>
    <div class="row-words"><p><${Words} text=${row.text} /></p>${row.note && html`<p class="row-note"><${Words} text=${row.note} /></p>`}</div>
  </li>`;
}
