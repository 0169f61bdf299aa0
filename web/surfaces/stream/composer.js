// @ts-check
// Where the owner writes. Enter sends, Shift and Enter begins a line; without a connection the message is kept.

import { useLayoutEffect, useRef } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { sayTyped } from '../../lib/saying.js';
import { set } from '../../lib/store.js';

/** Longest message, in bytes; the server refuses a longer one. */
const BYTES_MAX = 32 * 1024;

/** @param {{ draft: string }} props */
export function Composer({ draft }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  // Every character is a byte at least, so what is far too long is not measured.
  const tooLong = draft.length > BYTES_MAX || new TextEncoder().encode(draft).length > BYTES_MAX;
  useLayoutEffect(() => {
    const box = field.current;
    if (!box || tooLong || CSS.supports('field-sizing', 'content')) return;
    box.style.height = 'auto';
    box.style.height = `${box.scrollHeight}px`; // The style sheet stops it at four lines.
  }, [draft]);

  /** @param {Event} event */
  const send = (event) => {
    event.preventDefault();
    if (draft.trim() && !tooLong) void sayTyped(draft.trim());
    field.current?.focus();
  };
  /** @param {KeyboardEvent} event */
  const key = (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) send(event);
  };
  return html`<form class="composer" onSubmit=${send}>
    <div class=${tooLong ? 'composer-box too-long' : 'composer-box'}>
      <textarea id="composer" ref=${field} rows="1" dir="auto" aria-label="Ask or tell Silas something" placeholder="Ask or tell Silas something" enterkeyhint="send" value=${draft}
        aria-describedby=${tooLong ? 'too-long' : undefined}
        onInput=${(/** @type {any} */ event) => set({ draft: event.currentTarget.value })} onKeyDown=${key}></textarea>
      <button type="submit" class=${draft.trim() && !tooLong ? 'send ready' : 'send'} aria-label="Send" aria-disabled=${!draft.trim() || tooLong}><${Icon} name="send" size=${20} /></button>
    </div>
    ${tooLong && html`<p class="composer-note" id="too-long">This is longer than 32 KiB. Put it into a file and name the file.</p>`}
  </form>`;
}
