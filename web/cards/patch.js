// @ts-check
// The change as a patch, for whoever wants to read or apply it elsewhere. The same text as `silas work diff`.

import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { askPatch } from '../lib/session.js';

/** @param {{ execution: string, disabled?: boolean }} props */
export function SavePatch({ execution, disabled = false }) {
  return html`<button type="button" class="link-button save-patch" disabled=${disabled} onClick=${() => askPatch(execution)}><${Icon} name="save" size=${18} />Save as a patch</button>`;
}
