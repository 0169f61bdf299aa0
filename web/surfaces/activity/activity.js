// @ts-check
// Activity: what happened, told from the log, and what is allowed.

import { useLayoutEffect, useRef } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { Allowed } from './allowed.js';
import { Happened } from './happened.js';

/** @typedef {import('../../lib/store.js').State} State */

/** @typedef {'happened' | 'allowed'} Half */

/** @param {{ state: State, filter: string, half: Half, setHalf: (half: Half) => void, onClose?: () => void }} props `half` is kept around it, where turning a tablet does not reach. */
export function Activity({ state, filter, half, setHalf, onClose }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  // Arrows go from one half to the other, and focus with them.
  useLayoutEffect(() => {
    if (list.current?.contains(document.activeElement)) list.current.querySelector(/** @type {'button'} */ ('[aria-selected=true]'))?.focus();
  }, [half]);
  const onKey = (/** @type {KeyboardEvent} */ { key }) => {
    if (key === 'ArrowLeft' || key === 'ArrowRight') setHalf(half === 'happened' ? 'allowed' : 'happened');
  };
  const tab = (/** @type {Half} */ name, /** @type {string} */ label) => html`<button type="button" role="tab" aria-selected=${half === name} tabindex=${half === name ? 0 : -1} onClick=${() => setHalf(name)}>${label}</button>`;
  return html`<section class="activity" aria-label="Activity">
    ${onClose && html`<div class="panel-top"><h1 tabindex="-1">Activity</h1><button type="button" class="panel-close" aria-label="Close" onClick=${onClose}><${Icon} name="close" size=${22} /></button></div>`}
    <div class="halves" role="tablist" aria-label="Activity" ref=${list} onKeyDown=${onKey}>${tab('happened', 'What happened')}${tab('allowed', 'What is allowed')}</div>
    ${half === 'happened' ? html`<${Happened} state=${state} wanted=${filter} titled=${!onClose} />` : html`<${Allowed} state=${state} titled=${!onClose} />`}
  </section>`;
}
