// @ts-check
// A modal sheet: from below on a phone, from the side for panels. Esc and a tap beside it close it; focus goes back.

import { useLayoutEffect, useRef } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';

/** @param {{ label: string, side?: boolean, onClose: () => void, children?: unknown }} props */
export function Sheet({ label, side = false, onClose, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // On the title rather than on the first button: nothing should be one stray Enter away.
    /** @type {HTMLElement | null | undefined} */ (shown?.querySelector('h1, h2'))?.focus();
    return () => shown?.close();
  }, []);
  const beside = (/** @type {MouseEvent} */ event) => void (event.target === dialog.current && onClose());
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog class=${side ? 'sheet sheet-side' : 'sheet'} ref=${dialog} aria-label=${label} onClick=${beside} onCancel=${cancel}>
    <div class="sheet-inner">${children}</div>
  </dialog>`;
}
