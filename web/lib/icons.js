// @ts-check
// The signs of the page, drawn in the colour of the text around them. They are hidden from screen readers: the word
// beside each says the same.

import { html } from './html.js';

/** Strokes on a 24 × 24 grid. @type {Record<string, string[]>} */
const STROKES = {
  stream: ['M4 7h16', 'M4 12h11', 'M4 17h14'],
  task: ['M7 4.5h10A2.5 2.5 0 0 1 19.5 7v10a2.5 2.5 0 0 1 -2.5 2.5H7A2.5 2.5 0 0 1 4.5 17V7A2.5 2.5 0 0 1 7 4.5z', 'M8.5 12.5l2.5 2.5 4.5 -5.5'],
  review: ['M6.5 4h11A2.5 2.5 0 0 1 20 6.5v7a2.5 2.5 0 0 1 -2.5 2.5h-11A2.5 2.5 0 0 1 4 13.5v-7A2.5 2.5 0 0 1 6.5 4z', 'M8.8 10l2.2 2.2 4.2-4.2', 'M7 20h10'],
  activity: ['M12 3.5a8.5 8.5 0 1 1 0 17a8.5 8.5 0 1 1 0-17z', 'M12 7.5V12l3 2'],
  stop: ['M8.3 3h7.4L21 8.3v7.4L15.7 21H8.3L3 15.7V8.3z'],
  send: ['M12 19V5', 'M6 11l6-6 6 6'],
  chevron: ['M9 5l7 7-7 7'],
  down: ['M5 9l7 7 7-7'],
  up: ['M5 15l7-7 7 7'],
  back: ['M15 5l-7 7 7 7'],
  close: ['M6 6l12 12', 'M18 6L6 18'],
  tick: ['M5 12.5l4.5 4.5L19 7.5'],
  cross: ['M6.5 6.5l11 11', 'M17.5 6.5l-11 11'],
  arrow: ['M4 12h15', 'M13 6l6 6-6 6'],
  save: ['M12 15V4', 'M8 8l4-4 4 4', 'M8 11.5H6.5A1.5 1.5 0 0 0 5 13v5.5A1.5 1.5 0 0 0 6.5 20h11a1.5 1.5 0 0 0 1.5-1.5V13a1.5 1.5 0 0 0-1.5-1.5H16'],
  undo: ['M9 14L4.5 9.5 9 5', 'M5 9.5h9a5 5 0 0 1 0 10h-3'],
  lock: ['M7 10.5h10a1.5 1.5 0 0 1 1.5 1.5v6.5a1.5 1.5 0 0 1 -1.5 1.5h-10a1.5 1.5 0 0 1 -1.5 -1.5v-6.5a1.5 1.5 0 0 1 1.5 -1.5z', 'M8.5 10.5V8a3.5 3.5 0 0 1 7 0v2.5'],
  shield: ['M12 3.5l7 2.5v5.5c0 4.3-2.9 7.6-7 9-4.1-1.4-7-4.7-7-9V6z'],
  finger: ['M6 10.5a6 6 0 0 1 12 0v3.5', 'M9 20v-9a3 3 0 0 1 6 0v5', 'M12 11.5V20', 'M6 14v3', 'M18 17v1.5'],
  moon: ['M19 14.5A7.5 7.5 0 1 1 9.5 5a6 6 0 0 0 9.5 9.5z'],
  pen: ['M4.5 19.5l1-4.5L16 4.5l3.5 3.5L9 18.5z', 'M14 6.5l3.5 3.5'],
  refused: ['M12 3.5a8.5 8.5 0 1 1 0 17a8.5 8.5 0 1 1 0-17z', 'M6 6l12 12'],
  link: ['M10 14a4 4 0 0 0 5.7 0l3.1-3.1a4 4 0 0 0-5.7-5.7l-1.2 1.2', 'M14 10a4 4 0 0 0-5.7 0l-3.1 3.1a4 4 0 0 0 5.7 5.7l1.2-1.2'],
  broken: ['M13.1 5.2a4 4 0 0 1 5.7 5.7l-2 2', 'M10.9 18.8a4 4 0 0 1-5.7-5.7l2-2', 'M5 5l14 14'],
  prompt: ['M6 8l4 4-4 4', 'M13 16h5'],
  forward: ['M6 5l7 7-7 7', 'M13 5l7 7-7 7'],
  offline: ['M4 4l16 16', 'M8.5 15.5a5 5 0 0 1 7 0', 'M5 12a10 10 0 0 1 4-2.4', 'M19 12a10 10 0 0 0-5-2.7', 'M12 19h.010'],
};

/** The scalloped seal of a proof. */
const SEAL = 'M12 1.8l2.4 1.9 3-.4 1.2 2.8 2.8 1.2-.4 3L22.9 12 21 14.7l.4 3-2.8 1.2-1.2 2.8-3-.4L12 23.2l-2.4-1.9-3 .4-1.2-2.8-2.8-1.2.4-3L1.1 12 3 9.3l-.4-3 2.8-1.2 1.2-2.8 3 .4z';

/** @param {{ name: string, size?: number }} props */
export function Icon({ name, size = 20 }) {
  // In rem, so that signs grow with the words beside them.
  const frame = { width: `${size / 16}rem`, height: `${size / 16}rem`, viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false', class: `icon icon-${name}` };
  if (name === 'seal') {
    return html`<svg ...${frame}><path d=${SEAL} fill="currentColor" /><path class="icon-inner" d="M7.5 12.3l3 3 6-6.3" fill="none" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" /></svg>`;
  }
  if (name === 'seal-outline') {
    return html`<svg ...${frame} fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"><path d=${SEAL} /><path d="M7.5 12.3l3 3 6-6.3" /></svg>`;
  }
  if (name === 'dashed') {
    return html`<svg ...${frame} fill="none" stroke="currentColor" stroke-width="2.2"><circle cx="12" cy="12" r="9" stroke-dasharray="4 3" /></svg>`;
  }
  if (name === 'ring') {
    return html`<svg ...${frame} fill="none" stroke="currentColor" stroke-width="2.2"><circle cx="12" cy="12" r="8.5" /></svg>`;
  }
  if (name === 'spinner') {
    return html`<svg ...${frame} fill="none" stroke="currentColor" stroke-width="3.4"><circle class="spinner-track" cx="12" cy="12" r="9" /><path d="M12 3a9 9 0 0 1 9 9" /></svg>`;
  }
  if (name === 'more') {
    return html`<svg ...${frame} fill="currentColor"><circle cx="4.5" cy="12" r="1.7" /><circle cx="12" cy="12" r="1.7" /><circle cx="19.5" cy="12" r="1.7" /></svg>`;
  }
  const shapes = { low: html`<circle cx="12" cy="12" r="6.5" />`, medium: html`<path d="M12 2.5l9.5 9.5-9.5 9.5L2.5 12z" />`, high: html`<path d="M12 3l10.5 18H1.5z" />` };
  if (name in shapes) return html`<svg ...${frame} fill="currentColor">${shapes[/** @type {keyof typeof shapes} */ (name)]}</svg>`;
  if (name === 'irreversible') {
    return html`<svg ...${frame} fill="currentColor"><path d="M8 2h8l6 6v8l-6 6H8l-6-6V8z" /><path class="icon-inner" d="M7 12h10" stroke-width="3" /></svg>`;
  }
  return html`<svg ...${frame} fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">
    ${STROKES[name].map((d) => html`<path key=${d} d=${d} />`)}
    ${name === 'stop' && html`<rect x="9" y="9" width="6" height="6" rx="0.5" fill="currentColor" stroke="none" />`}
  </svg>`;
}
