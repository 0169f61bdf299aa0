// @ts-check
// Which surface is shown, kept in the fragment so that the browser's Back works.

import { useEffect, useState } from '../vendor/hooks.js';

/** @typedef {{ surface: 'stream' | 'review' | 'activity' | 'proof', execution: string, card: string }} Route `card`: the one that a notification leads to. */

/** @returns {Route} */
function read() {
  const [surface, about = ''] = location.hash.slice(1).split('/');
  if (surface === 'proof' && /^exec-[\w-]+$/.test(about)) return { surface, execution: about, card: '' };
  const card = surface === 'review' && /^card-[\w-]+$/.test(about) ? about : '';
  return { surface: surface === 'review' || surface === 'activity' ? surface : 'stream', execution: '', card };
}

/** @returns {Route} */
export function useRoute() {
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const changed = () => setRoute(read());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}

/** @param {string} surface */
export function go(surface) {
  if (location.hash !== `#${surface}`) location.hash = surface;
}

/** Back to where the panel was opened from; a panel that was opened by its address leads to the Stream. */
export function leave() {
  if (history.length > 1) history.back();
  else go('stream');
}

const WIDE = matchMedia('(min-width: 960px)');

/** Whether Stream and Review stand side by side. */
export function useWide() {
  const [wide, setWide] = useState(WIDE.matches);
  useEffect(() => {
    const changed = () => setWide(WIDE.matches);
    WIDE.addEventListener('change', changed);
    return () => WIDE.removeEventListener('change', changed);
  }, []);
  return wide;
}
