// @ts-check
// The change as a patch, for whoever wants to read or apply it elsewhere. The same text as `silas work diff`. Decides
// nothing, so it may stand in the details, in a proof, and in the dock where that has room.

import { executionOf } from '../lib/decision.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { askPatch } from '../lib/session.js';

const LABEL = 'Save as a patch';

/** @param {{ execution: string, disabled?: boolean }} props */
export function SavePatch({ execution, disabled = false }) {
  return html`<button type="button" class="link-button save-patch" disabled=${disabled} onClick=${() => askPatch(execution)}><${Icon} name="save" size=${18} />${LABEL}</button>`;
}

/** Whether the dock has a place for it: never more than two buttons besides the last. @param {import('../protocol.js').Card} card */
export const fitsDock = ({ face, state }) => state !== 'parked' && face.ctas.length <= 2;

/**
 * The buttons of a card with this one among them, if the card shows changes and has a place left.
 * @template {{ press: string }} T @param {import('../protocol.js').Card} card @param {T[]} buttons
 */
export function withPatch(card, buttons) {
  const execution = card.face.diffs.length > 0 ? executionOf(card) : null;
  if (execution === null || !fitsDock(card)) return buttons;
  const patch = { press: 'patch', label: LABEL, consequence: '', act: () => askPatch(execution) };
  return [...buttons.slice(0, -1), patch, ...buttons.slice(-1)];
}
