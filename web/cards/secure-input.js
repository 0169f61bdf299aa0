// @ts-check
// The one form for a secret: a password field inside the card. What is typed lives in that field and nowhere else of the
// page, and leaves it straight for the vault.

import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { give } from '../lib/secure.js';
import { set } from '../lib/store.js';
import { strict } from '../lib/text.js';

/** The form that the button in the dock sends. @param {import('../protocol.js').Card} card */
export const formOf = (card) => `${card.id}-form`;

/** @param {{ card: import('../protocol.js').Card, wanted: import('../protocol.js').SecureInput, linked: boolean }} props */
export function SecureField({ card, wanted, linked }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [note, setNote] = useState('');
  const ids = { field: `${card.id}-secret`, note: `${card.id}-secret-note` };
  useEffect(() => () => void (field.current && (field.current.value = '')), []);

  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    const box = field.current;
    if (!box || !linked) return;
    if (box.value === '') {
      setNote('Paste it first.');
      box.focus();
      return;
    }
    // Out of the page before anything else: a second tap finds nothing to send.
    const value = box.value;
    box.value = '';
    setNote('');
    void give(card, wanted, value);
  };
  const paste = async () => {
    try {
      const text = await navigator.clipboard.readText();
      if (field.current) field.current.value = text.trim();
      setNote(text.trim() ? 'Pasted.' : 'There is nothing to paste.');
    } catch {
      // The browser asks first, and the answer may be no.
      setNote('The browser does not allow that. Paste into the field instead.');
    }
    field.current?.focus();
  };
  const canPaste = 'clipboard' in navigator && 'readText' in navigator.clipboard;
  // No name and no action: without the script above, the browser itself would send nothing of it.
  return html`<form class="entry" id=${formOf(card)} method="post" autocomplete="off" onSubmit=${submit}>
    <label class="entry-label" for=${ids.field}>${strict(wanted.label)}</label>
    <div class="entry-box">
      <input class="entry-field" id=${ids.field} ref=${field} type="password" autocomplete="off" autocapitalize="off" spellcheck=${false} data-1p-ignore data-lpignore="true"
        maxlength="65536" enterkeyhint="done" aria-describedby=${ids.note} onFocus=${() => set({ holding: card.id })} />
      ${canPaste && html`<button type="button" class="entry-paste" onClick=${paste}>Paste</button>`}
    </div>
    <p class="entry-note" id=${ids.note} role="status">${note || (wanted.input_hint ? html`Starts with <code dir="ltr">${strict(wanted.input_hint)}</code>` : 'Nobody will see it, not even you.')}</p>
  </form>`;
}
