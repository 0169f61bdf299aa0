// @ts-check
// The page around the surfaces: header, surfaces by width and route, tabs, sheets, keys. On a wide page Stream and
// Review stand side by side and the rest slides over.

import { useEffect, useState } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { used } from '../../lib/advanced.js';
import { show } from '../../lib/notify.js';
import { go, goAnd, leave, useRoute, useWide } from '../../lib/router.js';
import { needingReview, set, state as store } from '../../lib/store.js';
import { Activity } from '../activity/activity.js';
import { Proof } from '../proof/proof.js';
import { Review } from '../review/review.js';
import { Stream } from '../stream/stream.js';
import { Header } from './header.js';
import { Notice } from './notice.js';
import { Sheet } from './sheet.js';
import { Sheets } from './sheets.js';

/** @typedef {import('../../lib/store.js').State} State */
/** @typedef {import('../activity/activity.js').Half} Half */

/** @param {{ state: State }} props */
export function Frame({ state }) {
  const route = useRoute();
  const wide = useWide(isDeciding);
  const [half, setHalf] = useHalf(route.surface);
  const waiting = needingReview(state.cards).length;
  useKeys();
  // Opened by a notification: the card is known as soon as the cards are.
  useEffect(() => void (route.card && state.loaded && show(route.card)), [route.card, state.loaded]);
  useEffect(() => {
    document.title = waiting > 0 ? `(${waiting}) Silas` : 'Silas';
    void navigator.setAppBadge?.(waiting).catch(() => {}); // Not installed: there is no badge, and nothing is missing.
  }, [waiting]);
  // Whoever is not paired any more is told nothing, not even how many.
  useEffect(() => () => {
    document.title = 'Silas';
    void navigator.clearAppBadge?.().catch(() => {});
  }, []);

  const { surface } = route;
  const tab = surface === 'proof' ? 'review' : surface;
  const proof = html`<${Proof} state=${state} execution=${route.execution} onBack=${leave} />`;
  const activity = (/** @type {(() => void) | undefined} */ onClose) => html`<${Activity} state=${state} filter=${route.filter} half=${half} setHalf=${setHalf} onClose=${onClose} />`;
  // One order of things for both widths: what stands at its place stays as it is when a tablet is turned, also half decided.
  return html`<div class=${wide ? 'frame wide' : 'frame'}>
    ${(wide || surface !== 'proof') && html`<${Header} state=${state} wide=${wide} />`}
    <main>
      <div class="pane"><${Notice} state=${state} />${(wide || surface === 'stream') && html`<${Stream} state=${state} />`}</div>
      <div class="pane pane-review">${(wide || surface === 'review') && html`<${Review} state=${state} wide=${wide} />`}</div>
      ${!wide && surface === 'activity' && activity(undefined)}
      ${!wide && surface === 'proof' && proof}
    </main>
    ${wide && surface === 'activity' && html`<${Sheet} side label="Activity" onClose=${() => go('stream')}>${activity(() => go('stream'))}<//>`}
    ${wide && surface === 'proof' && html`<${Sheet} side label="Proof" onClose=${leave}>${proof}<//>`}
    ${!wide && html`<nav class="tabs" aria-label="Surfaces">
      ${[['stream', 'Stream'], ['review', 'Review'], ['activity', 'Activity']].map(([name, label]) => html`<a key=${name} href=${`#${name}`} aria-current=${tab === name ? 'page' : undefined}>
        ${label}
        <span class="tab-icon"><${Icon} name=${name} size=${24} />${name === 'review' && waiting > 0 && html`<span class="tab-count">${waiting}<span class="hidden"> waiting</span></span>`}</span>
      </a>`)}
    </nav>`}
    <${Sheets} state=${state} />
  </div>`;
}

/** Somebody is in the middle of a card, and not writing. */
const isDeciding = () => store.holding !== null && document.activeElement?.id !== 'composer';

/** Which half of Activity is looked at; whoever comes again begins with what happened. @param {string} surface @returns {[Half, (half: Half) => void]} */
function useHalf(surface) {
  const [half, setHalf] = useState(/** @type {Half} */ ('happened'));
  useEffect(() => void (surface !== 'activity' && setHalf('happened')), [surface]);
  return [half, setHalf];
}

/** Shortcuts; none of them decides anything. */
function useKeys() {
  useEffect(() => {
    /** @param {KeyboardEvent} event */
    const pressed = (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (event.ctrlKey || event.metaKey || event.altKey || target.matches('textarea, input') || document.querySelector('dialog[open]')) return;
      /** @type {Record<string, () => void>} */
      const keys = {
        '/': () => goAnd('stream', () => document.getElementById('composer')?.focus()),
        r: () => goAnd('review', () => document.querySelector(/** @type {'h2'} */ ('.card .intent'))?.focus()),
        a: () => go('activity'),
        '.': () => set({ sheet: 'stop', stopping: null }),
        '?': () => set({ sheet: 'more' }),
      };
      const act = keys[event.key.toLowerCase()];
      if (!act) return;
      event.preventDefault();
      used('keys');
      act();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}
