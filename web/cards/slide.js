// @ts-check
// The slide of a high risk: drag to the end, or tap the arrow and then the end mark, or ten presses of an arrow key
// (or End) and then Enter. Letting go early brings it back.

import { useRef, useState } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { strict } from '../lib/text.js';

/** From here on, letting go counts as having arrived. */
const ARRIVED = 96;
const STEP = 10;

/** @param {{ risk: import('../protocol.js').Risk, act: string, consequence: string, disabled: boolean, onDone: () => void, thumb: { current: HTMLElement | null } }} props */
export function Slide({ risk, act, consequence, disabled, onDone, thumb }) {
  const [value, setValue] = useState(0);
  const [armed, setArmed] = useState(false);
  const track = useRef(/** @type {HTMLElement | null} */ (null));
  const from = useRef(/** @type {number | null} */ (null));
  const words = act.charAt(0).toLowerCase() + act.slice(1);
  const mirrored = () => getComputedStyle(/** @type {HTMLElement} */ (track.current)).direction === 'rtl';

  /** @param {PointerEvent} event */
  const reached = (event) => {
    const width = (track.current?.offsetWidth ?? 1) - (thumb.current?.offsetWidth ?? 0) - 10;
    const moved = (event.clientX - (from.current ?? event.clientX)) * (mirrored() ? -1 : 1);
    return Math.max(0, Math.min(100, (moved / width) * 100));
  };
  /** @param {any} event */
  const down = (event) => {
    if (disabled) return;
    from.current = event.clientX;
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  /** @param {any} event */
  const up = (event) => {
    if (from.current === null) return;
    const end = reached(event);
    from.current = null;
    setValue(0);
    if (end >= ARRIVED) onDone();
    else setArmed(end === 0);
  };
  /** @param {KeyboardEvent} event */
  const key = (event) => {
    const [on, off] = mirrored() ? ['ArrowLeft', 'ArrowRight'] : ['ArrowRight', 'ArrowLeft'];
    if (event.key === on || event.key === 'ArrowUp') setValue(Math.min(100, value + STEP));
    else if (event.key === off || event.key === 'ArrowDown') setValue(Math.max(0, value - STEP));
    else if (event.key === 'End') setValue(100);
    else if (event.key === 'Home') setValue(0);
    else if (event.key === 'Enter' && value === 100 && !event.repeat) onDone();
    else return;
    event.preventDefault();
  };

  const ready = value === 100 || armed;
  const mark = risk === 'irreversible' ? 'octagon' : 'triangle';
  return html`<div class="slide-box">
    <div class=${`slide slide-${risk}`} ref=${track}>
      <span class="slide-words" aria-hidden="true">Slide to ${strict(words)}</span>
      <div class="slide-thumb" ref=${thumb} role="slider" tabindex="0" aria-label=${`Slide to ${words}`} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${Math.round(value)}
        aria-valuetext=${value === 100 ? `ready, press Enter to ${words}` : 'not confirmed'} aria-disabled=${disabled}
        style=${{ insetInlineStart: `calc(5px + (100% - 74px) * ${value / 100})` }}
        onPointerDown=${down} onPointerMove=${(/** @type {any} */ event) => from.current !== null && setValue(reached(event))} onPointerUp=${up}
        onPointerCancel=${() => { from.current = null; setValue(0); }} onKeyDown=${key}><${Icon} name="forward" size=${22} /></div>
      <button type="button" class=${ready ? 'slide-end ready' : 'slide-end'} aria-label=${`Confirm: ${consequence}`} onClick=${() => ready && !disabled && onDone()}><${Icon} name=${risk === 'irreversible' ? risk : 'high'} size=${18} /></button>
    </div>
    <p class="dock-note">${armed ? `Now tap the ${mark}` : `Or tap the arrow, then tap the ${mark}`}</p>
  </div>`;
}
