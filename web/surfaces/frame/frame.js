// @ts-check
// The page around the surfaces: header, surfaces by width and route, tabs, sheets, keys. On a wide page Stream and
// Review stand side by side and the rest slides over.

import { useEffect } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { show } from '../../lib/notify.js';
import { go, leave, useRoute, useWide } from '../../lib/router.js';
import { needingReview, set } from '../../lib/store.js';
import { Activity } from '../activity/activity.js';
import { Proof } from '../proof/proof.js';
import { Review } from '../review/review.js';
import { Stream } from '../stream/stream.js';
import { Header } from './header.js';
import { Notice } from './notice.js';
import { Sheet } from './sheet.js';
import { Sheets } from './sheets.js';

/** @typedef {import('../../lib/store.js').State} State */

/** @param {{ state: State }} props */
export function Frame({ state }) {
  const route = useRoute();
  const wide = useWide();
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

  const proof = html`<${Proof} state=${state} execution=${route.execution} onBack=${leave} />`;
  if (wide) {
    return html`<div class="frame wide">
      <${Header} state=${state} wide=${true} />
      <main>
        <div class="wide-stream"><${Notice} state=${state} /><${Stream} state=${state} /></div>
        <div class="wide-review"><${Review} state=${state} wide=${true} /></div>
      </main>
      ${route.surface === 'activity' && html`<${Sheet} side label="Activity" onClose=${() => go('stream')}><${Activity} state=${state} filter=${route.filter} onClose=${() => go('stream')} /><//>`}
      ${route.surface === 'proof' && html`<${Sheet} side label="Proof" onClose=${leave}>${proof}<//>`}
      <${Sheets} state=${state} />
    </div>`;
  }
  const tab = route.surface === 'proof' ? 'review' : route.surface;
  return html`<div class="frame">
    ${route.surface !== 'proof' && html`<${Header} state=${state} wide=${false} />`}
    <main>
      <${Notice} state=${state} />
      ${route.surface === 'stream' && html`<${Stream} state=${state} />`}
      ${route.surface === 'review' && html`<${Review} state=${state} wide=${false} />`}
      ${route.surface === 'activity' && html`<${Activity} state=${state} filter=${route.filter} />`}
      ${route.surface === 'proof' && proof}
    </main>
    <nav class="tabs" aria-label="Surfaces">
      ${[['stream', 'Stream'], ['review', 'Review'], ['activity', 'Activity']].map(([name, label]) => html`<a key=${name} href=${`#${name}`} aria-current=${tab === name ? 'page' : undefined}>
        <span class="tab-icon"><${Icon} name=${name} size=${24} />${name === 'review' && waiting > 0 && html`<span class="tab-count">${waiting}<span class="hidden"> waiting,</span></span>`}</span>
        ${label}
      </a>`)}
    </nav>
    <${Sheets} state=${state} />
  </div>`;
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
        '/': () => {
          go('stream');
          requestAnimationFrame(() => document.getElementById('composer')?.focus());
        },
        r: () => {
          go('review');
          requestAnimationFrame(() => document.querySelector(/** @type {'h2'} */ ('.card .intent'))?.focus());
        },
        a: () => go('activity'),
        '.': () => set({ sheet: 'stop', stopping: null }),
        '?': () => set({ sheet: 'more' }),
      };
      const act = keys[event.key.toLowerCase()];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}
