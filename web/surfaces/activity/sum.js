// @ts-check
// The sentence over the timeline: how much, what waits, what was refused, and money if there was any.

import { count, dollars } from '../../lib/text.js';
import { clock } from '../../lib/time.js';

/** @typedef {import('../../protocol.js').Row} Row */

/**
 * @param {{ rows: Row[], waiting: number, looked: import('./filters.js').Looked | undefined, period: import('../../protocol.js').PeriodView | null, isBack: boolean, spent: import('../../protocol.js').Spent }} told
 *   `isBack`: the period has only just ended. `spent`: today.
 */
export function sum({ rows, waiting, looked, period, isBack, spent }) {
  if (looked?.topic === 'spending') return money(spent.microusd, spent.cap_microusd, ' today') || 'Nothing was spent today.';
  if (looked) return rows.length === 0 ? '' : `${count(rows.length, looked.one, looked.many)}, newest first.`;
  const when = !period ? 'so far' : isBack ? `since ${clock(period.from)}` : `from ${clock(period.from)} to ${clock(period.to)}`;
  const refused = rows.filter(({ topics }) => topics.includes('refusal')).length;
  const notable = [
    ...(waiting > 0 ? [`${waiting} ${waiting === 1 ? 'waits' : 'wait'} for you`] : []),
    ...(refused > 0 ? [`${refused} ${refused === 1 ? 'was' : 'were'} refused`] : []),
  ].join(', ');
  const cost = period ? money(period.microusd, spent.cap_microusd, '') : money(spent.microusd, spent.cap_microusd, ' today');
  return [`${count(rows.length, 'thing')} ${when}.`, notable && `${notable}.`, cost].filter(Boolean).join(' ');
}

/** "$0.31 of $2.00 spent."; nothing about nothing. The cap is a day's: what a longer time came to may be more than it. @param {number} microusd @param {number} cap @param {string} when */
function money(microusd, cap, when) {
  if (microusd === 0) return '';
  const sentence = `${dollars(microusd)}${microusd <= cap ? ` of ${dollars(cap)}` : ''} spent${when}.`;
  return sentence[0].toUpperCase() + sentence.slice(1);
}
