// @ts-check
// Choosing a model: who answers, which of their models, with which key and at what price. Everything that each choice means
// comes from the server; choosing sends nothing anywhere but there, and the next card asks.

import { useLayoutEffect, useState } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { isLoopback, microdollars, typedDollars } from '../lib/price.js';
import { choose } from '../lib/setting-up.js';
import { set } from '../lib/store.js';
import { strict } from '../lib/text.js';
import { CardView } from './card.js';
import { formOf } from './secure-input.js';

/** @typedef {import('../protocol.js').Card} Card */
/** @typedef {import('../protocol.js').ModelChoice} ModelChoice */
/** @typedef {'nothing' | 'price' | 'unknown'} Costs */

/** @type {{ costs: Costs, title: string, note: string }[]} */
const COSTS = [
  { costs: 'nothing', title: 'It costs nothing', note: 'Your own, or paid for' },
  { costs: 'price', title: 'It has a price', note: 'Dollars a million tokens' },
  { costs: 'unknown', title: 'I do not know', note: 'Counted as expensive' },
];

/** @typedef {{ id: string, provider: string, typed: Record<string, string>, ticks: { none?: boolean, fresh?: boolean }, said: Costs | null }} Entered */

/** What was entered on the card that was here last: whoever turns the phone or looks at the Stream finds it again. Of a key nothing is entered here. @type {Entered | null} */
let last = null;

/** @param {{ card: Card, input: ModelChoice, focus: boolean, linked: boolean }} props */
export function ModelChoiceCard({ card, input: { choices, tried }, focus, linked }) {
  const kept = last?.id === card.id ? last : null;
  const [provider, setProvider] = useState(kept?.provider ?? tried ?? choices[0]?.provider);
  const [typed, setTyped] = useState(/** @type {Record<string, string>} */ (kept?.typed ?? {}));
  /** What is ticked; nothing of it while the owner has not said. @type {[{ none?: boolean, fresh?: boolean }, (ticks: object) => void]} */
  const [ticks, setTicks] = useState(kept?.ticks ?? {});
  const [said, setSaid] = useState(/** @type {Costs | null} */ (kept?.said ?? null));
  /** What is wrong with a field, and which. @type {[{ field: string, says: string }, (note: { field: string, says: string }) => void]} */
  const [note, setNote] = useState({ field: '', says: '' });
  useLayoutEffect(() => void (last = { id: card.id, provider, typed, ticks, said }), [card.id, provider, typed, ticks, said]);
  const chosen = choices.find((choice) => choice.provider === provider) ?? choices[0];
  if (!chosen || card.state !== 'open') return html`<${CardView} card=${card} focus=${focus} />`;

  const entered = (/** @type {string} */ id, /** @type {string} */ otherwise) => typed[`${chosen.provider}-${id}`] ?? otherwise;
  const model = entered('model', chosen.model);
  const url = entered('url', chosen.url ?? '');
  const [into, out] = ['input', 'output'].map((id) => entered(id, chosen.price ? typedDollars(chosen.price[/** @type {'input' | 'output'} */ (id)]) : ''));
  const keyless = chosen.takes_url ? ticks.none ?? chosen.key === 'none' : chosen.key === 'none';
  // What is one's own costs nothing unless somebody says otherwise; about anything else nobody can know.
  const before = chosen.price ? (chosen.price.input + chosen.price.output === 0 ? 'nothing' : 'price') : null;
  const costs = said ?? before ?? (keyless && isLoopback(url) ? 'nothing' : 'unknown');
  const hold = () => set({ holding: card.id });

  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    if (!linked) return;
    /** Says what is wrong where it is seen. @param {string} field @param {string} says */
    const wrong = (field, says) => {
      setNote({ field, says });
      document.getElementById(`${card.id}-${field}`)?.focus();
    };
    if (chosen.takes_url && !isAddress(url.trim())) return wrong('url', 'Address: write it whole, as http://localhost:11434/v1.');
    if (model.trim() === '') return wrong('model', 'Model: write its name, as the provider spells it.');
    if (/[\s@]/.test(model.trim())) return wrong('model', 'Model: its name has neither spaces nor @ in it.');
    const name = `${chosen.provider}:${model.trim()}${chosen.takes_url ? `@${url.trim()}` : ''}`;
    const [input, output] = costs === 'nothing' ? [0, 0] : [microdollars(into), microdollars(out)];
    if (chosen.takes_url && costs === 'price' && (input === null || output === null)) return wrong(input === null ? 'input' : 'output', 'Price: write both in dollars, as 0.25.');
    setNote({ field: '', says: '' });
    const price = chosen.takes_url && costs !== 'unknown' && input !== null && output !== null ? { input, output } : null;
    return choose(card, name, keyless ? 'none' : ticks.fresh ? 'new' : 'kept', price);
  };
  /** @param {string} id @param {string} label @param {string} value @param {string} hint */
  const line = (id, label, value, hint) => html`<label class="entry-label" for=${`${card.id}-${id}`}>${label}</label>
    <div class="entry-box"><input class="entry-field" id=${`${card.id}-${id}`} type="text" dir="ltr" autocomplete="off" autocapitalize="off" spellcheck=${false} maxlength="200" placeholder=${hint}
      aria-invalid=${note.field === id} aria-describedby=${note.field === id ? `${card.id}-${id}-note` : undefined} value=${value} onFocus=${hold} onInput=${(/** @type {any} */ event) => setTyped({ ...typed, [`${chosen.provider}-${id}`]: event.currentTarget.value })} /></div>
    ${note.field === id && html`<p class="entry-note entry-wrong" id=${`${card.id}-${id}-note`} role="alert">${note.says}</p>`}`;
  /** @param {'none' | 'fresh'} id @param {boolean} on @param {string} words */
  const box = (id, on, words) => html`<label class="choice-box"><input type="checkbox" checked=${on} onChange=${(/** @type {any} */ event) => setTicks({ ...ticks, [id]: event.currentTarget.checked })} />${words}</label>`;
  /** @param {string} group @param {boolean} on @param {() => void} choosing @param {string} title @param {string} about */
  const radio = (group, on, choosing, title, about) => html`<label class="choice" key=${title}>
    <input type="radio" class="hidden" name=${`${card.id}-${group}`} checked=${on} onChange=${() => { choosing(); hold(); }} /><b>${strict(title)}</b><span>${strict(about)}</span>
  </label>`;

  // First who answers, then what they offer, then how they are reached; the key has a card of its own.
  return html`<${CardView} card=${card} focus=${focus} facts=${chosen.facts} />
    <form class="entry-form" id=${formOf(card)} method="post" autocomplete="off" onSubmit=${submit}>
    <fieldset class="choices">
      <legend>Provider</legend>
      <div class="choices-grid">${choices.map((choice) => radio('provider', choice.provider === chosen.provider, () => { setProvider(choice.provider); setTicks({}); setSaid(null); setNote({ field: '', says: '' }); }, choice.title, choice.note))}</div>
    </fieldset>
    <fieldset class="choices">
      <legend>${strict(chosen.title)}</legend>
      ${chosen.takes_url && line('url', 'Address', url, 'https://…/v1')}
      ${line('model', 'Model', model, 'Its name')}
      ${chosen.takes_url && box('none', keyless, 'It needs no key')}
      ${chosen.key === 'kept' && !keyless && box('fresh', ticks.fresh ?? false, 'Give a new key')}
    </fieldset>
    ${chosen.takes_url && html`<fieldset class="choices">
      <legend>What it costs</legend>
      <div class="choices-grid">${COSTS.map((one) => radio('costs', one.costs === costs, () => setSaid(one.costs), one.title, one.note))}</div>
      ${costs === 'price' && html`${line('input', 'A million tokens in, in dollars', into, '0.25')}${line('output', 'A million tokens out, in dollars', out, '2.00')}`}
    </fieldset>`}
    </form>`;
}

/** @param {string} text */
function isAddress(text) {
  return /^https?:$/.test(URL.canParse(text) ? new URL(text).protocol : '');
}
