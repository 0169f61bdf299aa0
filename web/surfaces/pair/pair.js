// @ts-check
// The only thing an unpaired browser sees: the digits of its new key, the house rules in words, and one tap. No code is
// typed; it came with the printed address.

import { useEffect, useState } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { Icon } from '../../lib/icons.js';
import { Unsupported } from '../../lib/keys.js';
import { Refused, pair, pairingScreen } from '../../lib/pairing.js';
import { FactText, Words, strict, visible } from '../../lib/text.js';
import { DetailLists } from '../../cards/details.js';

/** @typedef {{ message: string, todo: string }} Problem */

/** @param {{ code: string | null, note: string, onPaired: () => void }} props `note`: why the key of this browser is not known any more. */
export function Pair({ code, note, onPaired }) {
  const [shown, setShown] = useState(/** @type {import('../../lib/pairing.js').Newcomer | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [left, setLeft] = useState(false);
  const load = () => pairingScreen(note === '').then((loaded) => { setShown(loaded); setProblem(null); }, (cause) => setProblem(inWords(cause)));
  useEffect(() => void load(), []);

  const tap = async () => {
    if (!code || !shown || busy) return;
    setBusy(true);
    try {
      await pair(code, shown);
      onPaired();
    } catch (cause) {
      setProblem(inWords(cause));
      setBusy(false);
    }
  };
  const { screen, old } = shown ?? {};
  const rules = screen?.house_rules;
  return html`<main class="pair">
    <article class="card pair-card" aria-labelledby="pair-title">
      <div class="card-body">
        <p class="pair-name">Silas</p>
        <h1 class="pair-title" id="pair-title">${left ? 'Nothing was paired' : strict(old ? 'Give this browser a new key' : rules?.face.intent ?? 'Pair this browser with Silas')}</h1>
        ${left
          ? html`<p class="why">You can close this page. The printed address works until its code runs out.</p>`
          : html`${note && html`<p class="pair-note">${note}</p>`}
            ${old && html`<p class="pair-note">This browser is paired already. Its old key stops counting, and so does what it allowed: directories are asked for again.</p>`}
            <p class="why">It gets a key of its own that never leaves it. With it you talk to Silas and sign what you decide.</p>
            ${code && shown && html`<p class="pair-digits"><span class="why">The digits of its key. The terminal shows the same ones when it is paired:</span> <b>${shown.digits}</b></p>`}
            ${rules && html`<${Rules} face=${rules.face} />`}`}
        ${problem && html`<div class="pair-problem" role="alert"><p><b><${Words} text=${problem.message} /></b> <${Words} text=${problem.todo} /></p></div>`}
      </div>
      ${!left && html`<div class="pair-dock">
        ${code
          ? html`<button type="button" class="button filled" disabled=${!screen || busy} onClick=${tap}>${busy ? 'Pairing this browser' : strict(old ? 'Pair again with a new key' : rules?.face.ctas[0]?.label ?? 'Pair this browser')}</button>
            <button type="button" class="button plain last" disabled=${busy} onClick=${() => (old ? onPaired() : setLeft(true))}>${old ? 'Keep the key' : 'Not now'}</button>`
          : html`<p class="pair-how">To get an address with a code, on the machine where Silas runs: <code dir="ltr">silas pair</code></p>`}
        ${!screen && problem && html`<button type="button" class="button plain" onClick=${load}>Retry</button>`}
      </div>`}
    </article>
  </main>`;
}

/** What the tap signs besides the key: all of it is on the screen. @param {{ face: import('../../protocol.js').Face }} props */
function Rules({ face }) {
  return html`<section class="rules" aria-labelledby="rules-title">
    <h2 class="rules-title" id="rules-title"><${Icon} name="shield" size=${18} /><bdi>${strict(face.details_title)}</bdi></h2>
    ${face.facts.length > 0 && html`<dl class="facts">${face.facts.map(({ label, text }) => html`<div key=${label}><dt>${strict(label)}</dt><dd><${FactText} text=${text} /></dd></div>`)}</dl>`}
    ${face.rationale && html`<p class="why"><bdi>${visible(face.rationale)}</bdi></p>`}
    <${DetailLists} details=${face.details} />
  </section>`;
}

/** @param {unknown} cause @returns {Problem} */
function inWords(cause) {
  if (cause instanceof Refused) return { message: cause.message, todo: cause.todo };
  if (cause instanceof Unsupported) return { message: cause.message, todo: 'Use a current Chromium, Firefox or Safari, and the printed address.' };
  if (cause instanceof TypeError) return { message: 'Silas is not answering. Nothing was paired.', todo: 'Look whether it still runs, then try again.' };
  return { message: 'This browser could not keep the key. Nothing was paired.', todo: 'Leave private browsing, or allow this address to store data.' };
}
