// @ts-check
// Times as the owner's wall clock, spans in words, and the server's clock as seen from here.

import { useLayoutEffect, useState } from '../vendor/hooks.js';

const clockFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long' });
const HOUR_MS = 3_600_000;

/** How far the server's clock is ahead of this one; learned from each snapshot. */
let aheadMs = 0;

/** @param {string} serverNow */
export function learnServerTime(serverNow) {
  aheadMs = Date.parse(serverNow) - Date.now();
}

/** What the server's clock showed at a moment of this one. @param {number} localMs */
export const serverTime = (localMs) => localMs + aheadMs;

/** The server's time now, in milliseconds. */
export const serverNow = () => serverTime(Date.now());

/** The one spelling of an instant on the wire: six digits of fraction. */
export const timestamp = () => new Date(serverNow()).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z');

/** "07:14"; in an hour that happens twice, with its offset. @param {string | number} at */
export function clock(at) {
  const date = new Date(at);
  const text = clockFormat.format(date);
  const repeated = [-HOUR_MS, HOUR_MS].some((shift) => clockFormat.format(new Date(date.getTime() + shift)) === text);
  return repeated ? `${text} ${offset(date)}` : text;
}

/** @param {Date} date */
function offset(date) {
  const minutes = -date.getTimezoneOffset();
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '−' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** "today", "yesterday", "3 September". @param {string} at */
export function day(at) {
  const date = new Date(at);
  const midnight = new Date(serverNow());
  midnight.setHours(0, 0, 0, 0);
  const days = Math.ceil((midnight.getTime() - date.getTime()) / (24 * HOUR_MS));
  if (days <= 0) return 'today';
  return days === 1 ? 'yesterday' : dayFormat.format(date);
}

/** "07:14" of today, "yesterday 07:14", "3 September 07:14". @param {number} at */
export function moment(at) {
  const when = day(new Date(at).toISOString());
  return when === 'today' ? clock(at) : `${when} ${clock(at)}`;
}

const weekdayFormat = new Intl.DateTimeFormat('en-GB', { weekday: 'long' });
const yearFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric' });

/** @param {Date} date */
const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();

/** When something ends: "07:14" today, "tomorrow 07:14", "Saturday" within six days, "3 September", with the year if it is another. @param {string} at */
export function until(at) {
  const date = new Date(at);
  const now = new Date(serverNow());
  // A day in which the clock changes is not 24 hours long.
  const days = Math.round((midnight(date) - midnight(now)) / (24 * HOUR_MS));
  if (days <= 0) return moment(date.getTime());
  if (days === 1) return `tomorrow ${clock(at)}`;
  if (days <= 6) return weekdayFormat.format(date);
  return (date.getFullYear() === now.getFullYear() ? dayFormat : yearFormat).format(date);
}

/** The hour in which whoever was away was most likely asleep. */
const NIGHT_HOUR = 3;

/** Whether a stretch of time holds the middle of the night in which it ended, by the owner's clock. @param {string} from @param {string} to */
export function isNight(from, to) {
  const middle = new Date(to);
  middle.setHours(NIGHT_HOUR, 0, 0, 0);
  return Date.parse(from) < middle.getTime() && middle.getTime() < Date.parse(to);
}

/** "0.4 s", "41 s", "2 min 10 s". @param {number} ms */
export function span(ms) {
  if (ms < 50) return '<0.1 s';
  if (ms < 950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const rest = seconds % 60;
  return rest === 0 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 60)} min ${rest} s`;
}

/** "5 minutes", "1 hour", "90 seconds": a limit, in whole words. @param {number} ms */
export function limit(ms) {
  const seconds = Math.round(ms / 1000);
  const [n, unit] = seconds % 3600 === 0 ? [seconds / 3600, 'hour'] : seconds % 60 === 0 ? [seconds / 60, 'minute'] : [seconds, 'second'];
  return `${n} ${unit}${n === 1 ? '' : 's'}`;
}

/** "4:32". @param {number} ms */
export function countdown(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** The server's time, renewed every second while `wanted`. @param {boolean} wanted */
export function useNow(wanted) {
  const [now, setNow] = useState(serverNow());
  useLayoutEffect(() => {
    if (!wanted) return undefined;
    setNow(serverNow());
    const timer = setInterval(() => setNow(serverNow()), 1000);
    return () => clearInterval(timer);
  }, [wanted]);
  return now;
}
