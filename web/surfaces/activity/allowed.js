// @ts-check
// What is allowed, in words, with what is left of it, and the devices that may decide. Each can be taken back.

import { useState } from '../../vendor/hooks.js';
import { html } from '../../lib/html.js';
import { shows } from '../../lib/advanced.js';
import { unavailable } from '../../lib/passkeys.js';
import { moreGrants } from '../../lib/pages.js';
import { addPasskey, askHouseRules, more, withdraw } from '../../lib/asking.js';
import { Words, count } from '../../lib/text.js';
import { day, until } from '../../lib/time.js';

/** @typedef {import('../../lib/store.js').State} State */
/** @typedef {import('../../protocol.js').GrantView} Grant */
/** @typedef {import('../../protocol.js').DeviceView} Device */

/** @param {{ state: State, titled: boolean }} props */
export function Allowed({ state, titled }) {
  const { grants, n_more_grants: beyond, devices } = state;
  const n = grants.length + beyond;
  const linked = state.link.status === 'open';
  const present = devices.filter((device) => !device.is_revoked);
  const hasRules = beyond > 0 || grants.some(({ title }) => title === 'House rules');
  return html`${titled && html`<h1 class="hidden">What is allowed</h1>`}
    <p class="activity-text">${n === 0 ? 'Nothing is granted. Everything asks you first.' : `${count(n, 'grant')}. Everything else asks you first.`}</p>
    <ul class="grants">${grants.map((grant) => html`<${GrantBlock} key=${grant.token} grant=${grant} state=${state} linked=${linked} />`)}
      ${beyond > 0 && html`<li class="show-more"><button type="button" class="button plain" disabled=${!linked} onClick=${() => more(moreGrants)}>Show ${Math.min(beyond, 100)} more of ${beyond}</button></li>`}
      ${!hasRules && linked && html`<li class="grant">
        <h2>No house rules</h2><p>Silas begins nothing again and drops nothing by itself.</p>
        <div class="grant-end"><p class="grant-left">Everything asks you</p><button type="button" class="button plain revoke" onClick=${askHouseRules}>Ask me for them</button></div>
      </li>`}
    </ul>
    <h2 class="devices-title">Devices that may decide</h2>
    <ul class="grants">${present.map((device) => html`<${DeviceBlock} key=${device.key} device=${device} state=${state} linked=${linked} />`)}
      ${linked && shows(state, 'passkeys') && !present.some(({ kind }) => kind === 'passkey') && html`<${NoPasskey} />`}</ul>`;
}

function NoPasskey() {
  const problem = unavailable();
  return html`<li class="grant">
    <h2>No passkey</h2><p>${problem ?? 'What cannot be undone could ask for your finger, face or PIN.'}</p>
    ${!problem && html`<div class="grant-end"><p class="grant-left">This browser signs it</p><button type="button" class="button plain revoke" onClick=${addPasskey}>Add a passkey</button></div>`}
  </li>`;
}

/** @param {{ grant: Grant, state: State, linked: boolean }} props */
function GrantBlock({ grant, state, linked }) {
  const { uses } = grant;
  return html`<li class="grant">
    <h2><bdi>${grant.title}</bdi></h2><p><${Words} text=${grant.text} /></p>
    ${uses && html`<progress class="grant-meter" value=${uses.left} max=${uses.of} aria-label="What is left"></progress>`}
    <${Revoke} id=${grant.token} name=${grant.title} what=${{ grant: grant.token }} left=${left(grant)} sure="From then on it asks you again." state=${state} linked=${linked} />
  </li>`;
}

/** "7 of 10 left · until Saturday", "No limit · since 3 September". @param {Grant} grant */
function left({ uses, until: end, since }) {
  const number = uses ? `${uses.left.toLocaleString('en')} of ${uses.of.toLocaleString('en')} left` : 'No limit';
  return `${number} · ${end ? `until ${until(end)}` : `since ${day(since)}`}`;
}

/** @param {{ device: Device, state: State, linked: boolean }} props */
function DeviceBlock({ device, state, linked }) {
  const own = device.key === state.key;
  const terminal = device.kind === 'terminal';
  const passkey = device.kind === 'passkey';
  const text = terminal ? 'On the machine where Silas runs. It is the way back in, so it stays.' : passkey ? `A passkey. On pages of ${device.site?.rp_id} it signs what cannot be undone, and nothing else does.` : own ? 'This browser.' : 'A browser that you paired.';
  const goes = device.n_grants > 0 ? ` ${count(device.n_grants, 'grant')} that it signed ${device.n_grants === 1 ? 'goes' : 'go'} too.` : '';
  const since = `Since ${day(device.since)}${device.kind === 'browser' ? ` · digits ${device.digits}` : ''}`;
  return html`<li class="grant">
    <h2><bdi>${device.name}</bdi></h2><p>${text}</p>
    ${terminal
      ? html`<div class="grant-end"><p class="grant-left">${since}</p></div>`
      : html`<${Revoke} id=${device.key} name=${device.name} what=${{ device: device.key }} left=${since} sure=${`${passkey ? 'It signs its own end. From then on another key is enough again.' : own ? 'This page closes.' : 'Its page closes.'}${goes}`} state=${state} linked=${linked} />`}
  </li>`;
}

/**
 * The last line of a block: what is left, and taking it back in two taps, because it cannot be brought back with one.
 * @param {{ id: string, name: string, what: import('../../protocol.js').Withdrawn, left: string, sure: string, state: State, linked: boolean }} props
 */
function Revoke({ id, name, what, left: words, sure, state, linked }) {
  const [asked, setAsked] = useState(false);
  const busy = state.revoking === id;
  const off = !linked || state.revoking !== null;
  if (!asked) {
    return html`<div class="grant-end"><p class="grant-left">${words}</p>
      <button type="button" class="button plain revoke" aria-label=${`Revoke ${name}`} disabled=${off} onClick=${() => setAsked(true)}>Revoke</button></div>`;
  }
  return html`<div class="grant-sure" role="group" aria-label=${`Revoke ${name}`}>
    <p>${sure}</p>
    <div class="grant-end">
      <button type="button" class="button plain" disabled=${busy} onClick=${() => setAsked(false)}>Keep it</button>
      <button type="button" class="button filled confirm" disabled=${off} onClick=${() => withdraw(what)}>${busy ? 'Revoking' : 'Revoke'}</button>
    </div>
  </div>`;
}
