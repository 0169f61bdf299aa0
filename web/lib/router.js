// @ts-check
// Which surface is shown, kept in the fragment so that the browser's Back works.

import { useEffect, useState } from '../vendor/hooks.js';

/** @typedef {{ surface: 'stream' | 'review' | 'activity' | 'proof', execution: string, filter: string, card: string }} Route `filter`: what is looked for in Activity, if the address says so; `card`: the one that a notification leads to. */

/** What an address may look for in Activity. */
const FILTERS = ['away', 'changes', 'decisions', 'refused', 'spending', 'everything'];

/** @returns {Route} */
function read() {
  const [surface, part = ''] = location.hash.slice(1).split('/');
  if (surface === 'proof' && /^exec-[\w-]+$/.test(part)) return { surface, execution: part, filter: '', card: '' };
  if (surface === 'activity') return { surface, execution: '', filter: FILTERS.includes(part) ? part : '', card: '' };
  const card = surface === 'review' && /^card-[\w-]+$/.test(part) ? part : '';
  return { surface: surface === 'review' ? surface : 'stream', execution: '', filter: '', card };
}

/** Read whenever it is drawn: not every change of the address is told. @returns {Route} */
export function useRoute() {
  const [, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return read();
}

/** @param {string} surface */
export function go(surface) {
  if (location.hash !== `#${surface}`) location.hash = surface;
}

/** Goes there, and does something as soon as it is drawn. @param {string} surface @param {() => void} then */
export function goAnd(surface, then) {
  if (location.hash === `#${surface}`) return then();
  // Whoever draws was told to listen first, and has drawn by then.
  addEventListener('hashchange', then, { once: true });
  return go(surface);
}

/** The same surface in another way: takes the place of what Back would have led to. @param {string} surface */
export const swap = (surface) => location.replace(`#${surface}`);

/** Back to where the panel was opened from; a panel that was opened by its address leads to the Stream. */
export function leave() {
  if (history.length > 1) history.back();
  else go('stream');
}

const WIDE = matchMedia('(min-width: 960px)');

/** Whether Stream and Review stand side by side. @param {() => boolean} isDeciding Whether Review is the one to stay where there is no more room for both. */
export function useWide(isDeciding) {
  const [wide, setWide] = useState(WIDE.matches);
  useEffect(() => {
    const changed = () => {
      // Before anything is drawn anew, so that what was half decided is not gone for a moment, and with it for good.
      if (!WIDE.matches && read().surface === 'stream' && isDeciding()) history.replaceState(null, '', '#review');
      setWide(WIDE.matches);
    };
    WIDE.addEventListener('change', changed);
    return () => WIDE.removeEventListener('change', changed);
  }, []);
  return wide;
}
