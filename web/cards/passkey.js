// @ts-check
// The last step of what cannot be undone: a sheet that repeats it, and the passkey that signs it. Without a passkey it
// says so, and this browser's own key signs.

import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { isForPasskey, passkeys, unavailable } from '../lib/passkeys.js';
import { addPasskey } from '../lib/asking.js';
import { strict } from '../lib/text.js';
import { Sheet } from '../surfaces/frame/sheet.js';

/** @typedef {import('../protocol.js').Card} Card */
/** @typedef {import('../protocol.js').DeviceView} DeviceView */

/** Read, slid, and signed, with the passkey if there is one: how far a decision has come. @param {{ at: 1 | 2 | 3, devices: DeviceView[] }} props */
export function Rungs({ at, devices }) {
  const last = passkeys(devices).known.length > 0 ? 'Passkey' : 'Sign';
  return html`<ol class="rungs" aria-label=${`Step ${at} of 3`}>${[['Read', 'Read'], ['Slide', 'Slid'], [last, 'Signed']].map(([now, done], n) => html`<li key=${now} class=${n + 1 < at ? 'rung-done' : n + 1 === at ? 'rung-now' : ''} aria-current=${n + 1 === at ? 'step' : undefined}>
    ${n + 1 < at ? html`<${Icon} name="tick" size=${16} />${done}` : `${n + 1} ${now}`}
  </li>`)}</ol>`;
}

/** Whether the slide is followed by this sheet. @param {Card} card @param {DeviceView[]} devices */
export const asksPasskey = (card, devices) => card.face.risk === 'irreversible' || (isForPasskey(card) && passkeys(devices).known.length > 0);

/**
 * @param {{ card: Card, cta: { label: string, consequence: string }, alternatives: { label: string, act: () => void }[], devices: DeviceView[], device: string, off: boolean, onSign: (passkey: DeviceView | null) => void, onClose: () => void }} props
 */
export function PasskeySheet({ card, cta, alternatives, devices, device, off, onSign, onClose }) {
  const { known, here } = passkeys(devices);
  const problem = unavailable();
  const canAdd = known.length === 0 && !problem;
  const elsewhere = known.length > 0 && here.length === 0;
  const why = elsewhere
    ? `Your passkey counts on pages of ${[...new Set(known.map(({ site }) => site?.rp_id))].join(', ')}. Open Silas there; nothing can be signed for it here.`
    : known.length > 0 ? 'Your passkey signs exactly this and nothing else.' : `There is no passkey yet, so ${device || 'this browser'} signs it with its own key. ${problem ?? 'With a passkey it would ask for your finger, face or PIN.'}`;
  return html`<${Sheet} label="Sign for good" onClose=${onClose}>
    <${Rungs} at=${3} devices=${devices} />
    <h2 class="sheet-title" tabindex="-1"><bdi>${strict(card.face.intent)}?</bdi></h2>
    <p class="sheet-text">${strict(cta.consequence)} ${why}</p>
    ${card.face.risk === 'irreversible' && html`<p class="for-good"><${Icon} name="irreversible" size=${18} />Cannot be undone, not even by Silas</p>`}
    ${here.map((passkey) => html`<button type="button" class="button filled" key=${passkey.key} disabled=${off} onClick=${() => onSign(passkey)}><${Icon} name="finger" size=${22} />${here.length > 1 ? html`<bdi>Sign with ${passkey.name}</bdi>` : 'Sign with the passkey'}</button>`)}
    ${known.length === 0 && html`<button type="button" class="button filled" disabled=${off} onClick=${() => onSign(null)}>Sign with this browser</button>`}
    <div class="dock-row">
      ${canAdd && html`<button type="button" class="button plain" disabled=${off} onClick=${() => { onClose(); void addPasskey(); }}>Add a passkey</button>`}
      ${(canAdd ? alternatives.slice(-1) : alternatives).map(({ label, act }, at) => html`<button type="button" key=${label} class=${`button plain ${label === alternatives.at(-1)?.label ? 'last' : ''}`} disabled=${off} onClick=${() => { onClose(); act(); }}>${strict(label)}</button>`)}
    </div>
  <//>`;
}
