// @ts-check
// The slide of a high risk: drag to the end, or tap the arrow and then the end mark, or ten presses of an arrow key
// (or End) and then Enter. Whoever presses by voice, a switch or a screen reader presses the arrow, or the end mark, twice.
// Letting go early brings it back.

import { useRef, useState } from '../vendor/hooks.js';
import { html } from '../lib/html.js';
import { Icon } from '../lib/icons.js';
import { announce } from '../lib/store.js';
import { strict } from '../lib/text.js';

/** The second tap of a double tap decides nothing: neither the chip, nor a card that has just come up under the thumb, nor an arrow that was only just pressed. */
export const DOUBLE_TAP_MS = 350;
/** From here on, letting go counts as having arrived. */
const ARRIVED = 96;
/** A finger that only taps does not lie quite still. More than this was a slide, and where it was let go it goes back. */
const TAP_PX_MAX = 8;
const STEP = 10;

/** @param {{ risk: import('../protocol.js').Risk, act: string, consequence: string, disabled: boolean, onDone: () => void, thumb: { current: HTMLElement | null } }} props */
export function Slide({ risk, act, consequence, disabled, onDone, thumb }) {
  const [value, setValue] = useState(0);
  const [armed, setArmed] = useState(false);
  const armedAt = useRef(0);
  const track = useRef(/** @type {HTMLElement | null} */ (null));
  const from = useRef(/** @type {number | null} */ (null));
  /** How far the pointer went, and whether the click that follows was told by it already. */
  const travelled = useRef(0);
  const byPointer = useRef(false);
  const words = act.charAt(0).toLowerCase() + act.slice(1);
  const mirrored = () => getComputedStyle(/** @type {HTMLElement} */ (track.current)).direction === 'rtl';

  const arm = () => {
    armedAt.current = performance.now();
    setArmed(true);
  };
  /** @param {PointerEvent} event */
  const reached = (event) => {
    const width = (track.current?.offsetWidth ?? 1) - (thumb.current?.offsetWidth ?? 0) - 10;
    const px = event.clientX - (from.current ?? event.clientX);
    travelled.current = Math.max(travelled.current, Math.abs(px));
    return Math.max(0, Math.min(100, ((px * (mirrored() ? -1 : 1)) / width) * 100));
  };
  /** @param {any} event */
  const down = (event) => {
    byPointer.current = true;
    if (disabled) return;
    from.current = event.clientX;
    travelled.current = 0;
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  /** @param {any} event */
  const up = (event) => {
    if (from.current === null) return;
    const end = reached(event);
    from.current = null;
    setValue(0);
    if (end >= ARRIVED) return onDone();
    if (travelled.current > TAP_PX_MAX) return setArmed(false);
    if (!armed) arm();
    return undefined;
  };
  const cancel = () => {
    [from.current, byPointer.current] = [null, false];
    setValue(0);
  };
  /** A press that no pointer made: the first readies, the second confirms; a double one is the first. */
  const press = () => {
    if (disabled) return;
    if (!armed && value < 100) {
      arm();
      announce(`Ready. Press again to ${words}.`);
    } else if (performance.now() - armedAt.current >= DOUBLE_TAP_MS) onDone();
  };
  /** @param {MouseEvent} event */
  const click = (event) => {
    const wasTold = event.detail > 0 && byPointer.current;
    byPointer.current = false;
    if (!wasTold) press();
  };
  /** @param {MouseEvent} event */
  const end = (event) => {
    // Tapped by hand, the end mark is the second half of a way that begins at the arrow.
    if (event.detail === 0) press();
    else if (ready && !disabled) onDone();
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
  const said = value === 100 ? `ready, press Enter to ${words}` : armed ? `ready, press again to ${words}` : 'not confirmed';
  return html`<div class="slide-box">
    <div class=${`slide slide-${risk}`} ref=${track}>
      <span class="slide-words" aria-hidden="true">Slide to ${strict(words)}</span>
      <div class="slide-thumb" ref=${thumb} role="slider" tabindex="0" aria-label=${`Slide to ${words}`} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${Math.round(value)}
        aria-valuetext=${said} aria-disabled=${disabled}
        style=${{ insetInlineStart: `calc(5px + (100% - 74px) * ${value / 100})` }}
        onPointerDown=${down} onPointerMove=${(/** @type {any} */ event) => from.current !== null && setValue(reached(event))} onPointerUp=${up}
        onPointerCancel=${cancel} onClick=${click} onKeyDown=${key}><${Icon} name="forward" size=${22} /></div>
      <button type="button" class=${ready ? 'slide-end ready' : 'slide-end'} aria-label=${`Confirm: ${consequence}`} onClick=${end}><${Icon} name=${risk === 'irreversible' ? risk : 'high'} size=${18} /></button>
    </div>
    <p class="dock-note">${armed ? `Now tap the ${mark}` : `Or tap the arrow, then tap the ${mark}`}</p>
  </div>`;
}
