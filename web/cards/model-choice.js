// @ts-check
// Choosing a model: who answers, which of their models, and with which key. Everything that each choice means comes from
// the server; choosing sends nothing anywhere but there, and the next card asks.

import { useState } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { choose } from '../lib/session.js';
import { set } from '../lib/store.js';
import { strict } from '../lib/text.js';
import { CardView } from './card.js';
import { formOf } from './secure-input.js';

/** @typedef {import('../protocol.js').Card} Card */
/** @typedef {import('../protocol.js').ModelOption} ModelOption */

/** @param {{ card: Card, choices: ModelOption[], focus: boolean, linked: boolean }} props */
export function ModelChoiceCard({ card, choices, focus, linked }) {
  const [provider, setProvider] = useState(choices[0]?.provider);
  const [typed, setTyped] = useState(/** @type {Record<string, string>} */ ({}));
  const [url, setUrl] = useState('');
  /** Whether the box under the choices is ticked; what it says depends on the choice. */
  const [ticked, setTicked] = useState(false);
  const chosen = choices.find((choice) => choice.provider === provider) ?? choices[0];
  if (!chosen || card.state !== 'open') return html`<${CardView} card=${card} focus=${focus} />`;

  const model = typed[chosen.provider] ?? chosen.model;
  const box = chosen.takes_url ? 'It needs no key' : chosen.key === 'kept' ? 'Give a new key' : null;
  const hold = () => set({ holding: card.id });

  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    if (!linked) return;
    const name = `${chosen.provider}:${model.trim()}${chosen.takes_url ? `@${url.trim()}` : ''}`;
    const none = chosen.key === 'none' || (chosen.takes_url && ticked);
    choose(card, name, none ? 'none' : chosen.key === 'kept' && ticked ? 'new' : 'kept');
  };
  /** @param {string} id @param {string} label @param {string} value @param {(value: string) => void} change @param {string} hint */
  const line = (id, label, value, change, hint) => html`<label class="entry-label" for=${`${card.id}-${id}`}>${label}</label>
    <div class="entry-box"><input class="entry-field" id=${`${card.id}-${id}`} form=${formOf(card)} type="text" dir="ltr" autocomplete="off" autocapitalize="off" spellcheck=${false} maxlength="200" placeholder=${hint}
      value=${value} onFocus=${hold} onInput=${(/** @type {any} */ event) => change(event.currentTarget.value)} /></div>`;

  return html`<${CardView} card=${card} focus=${focus} facts=${chosen.facts}>
      <form class="entry" id=${formOf(card)} method="post" autocomplete="off" onSubmit=${submit}>
        ${line('model', 'Model', model, (value) => setTyped({ ...typed, [chosen.provider]: value }), 'Its name')}
      </form>
    <//>
    <fieldset class="choices">
      <legend>Provider</legend>
      <div class="choices-grid">${choices.map((choice) => html`<label class="choice" key=${choice.provider}>
        <input type="radio" class="hidden" name=${`${card.id}-provider`} checked=${choice.provider === chosen.provider} onChange=${() => { setProvider(choice.provider); setTicked(false); hold(); }} />
        <b>${strict(choice.title)}</b><span>${strict(choice.note)}</span>
      </label>`)}</div>
      ${chosen.takes_url && line('url', 'Address', url, setUrl, 'https://…/v1')}
      ${box && html`<label class="choice-box"><input type="checkbox" checked=${ticked} onChange=${(/** @type {any} */ event) => setTicked(event.currentTarget.checked)} />${box}</label>`}
    </fieldset>`;
}
