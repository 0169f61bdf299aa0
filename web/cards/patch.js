// @ts-check
// The change as a patch, for whoever wants to read or apply it elsewhere. The same text as `silas work diff`. Decides
// nothing, so it may stand in the details, in a proof, and in the dock where that has room.

import { shows } from '../lib/advanced.js';
import { executionOf } from '../lib/decision.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { askPatch } from '../lib/asking.js';
import { state } from '../lib/store.js';

const LABEL = 'Save as a patch';

/** @param {{ execution: string, disabled?: boolean }} props */
export function SavePatch({ execution, disabled = false }) {
  return html`<button type="button" class="link-button save-patch" disabled=${disabled} onClick=${() => askPatch(execution)}><${Icon} name="save" size=${18} />${LABEL}</button>`;
}

/** Whether it stood in the dock when a card came up: nothing moves there while somebody looks. @type {Map<string, boolean>} */
const stood = new Map();
const CARDS_MAX = 100;

/**
 * Whether it stands in the dock: once somebody has looked at the changes of a result, and where there is a place, never more
 * than two buttons besides the last.
 * @param {import('../protocol.js').Card} card
 */
export function inDock({ id, face, state: now }) {
  if (!stood.has(id)) {
    if (stood.size >= CARDS_MAX) stood.clear();
    stood.set(id, shows(state, 'patch'));
  }
  return now !== 'parked' && face.ctas.length <= 2 && (state.uses.everything || stood.get(id) === true);
}

/**
 * The buttons of a card with this one among them, if the card shows changes and has a place left.
 * @template {{ press: string }} T @param {import('../protocol.js').Card} card @param {T[]} buttons
 */
export function withPatch(card, buttons) {
  const execution = card.face.diffs.length > 0 ? executionOf(card) : null;
  if (execution === null || !inDock(card)) return buttons;
  const patch = { press: 'patch', label: LABEL, consequence: '', act: () => askPatch(execution) };
  return [...buttons.slice(0, -1), patch, ...buttons.slice(-1)];
}
