// @ts-check
// How quickly the last decisions of medium and higher risk were taken here. It only tells; nothing ever waits for it.

/** So many decisions make a habit. */
const RECENT = 5;
/** Less than this, and nobody has read the card. */
const QUICK_MS = 1000;

/** @type {{ id: string, at: number }} */
let shown = { id: '', at: 0 };
/** The last few, oldest first. @type {number[]} */
let times = [];

/** A card came up. @param {string} id @param {number} now */
export function cameUp(id, now) {
  if (shown.id !== id) shown = { id, at: now };
}

/**
 * A card was decided.
 * @param {{ id: string, face: { risk: import('../protocol.js').Risk | null } }} card @param {number} now
 * @returns {boolean} Whether the last five were quick, by their median.
 */
export function decided({ id, face: { risk } }, now) {
  if (shown.id === id && risk !== null && risk !== 'low') times = [...times, now - shown.at].slice(-RECENT);
  const sorted = [...times].sort((a, b) => a - b);
  return sorted.length === RECENT && sorted[Math.floor(RECENT / 2)] < QUICK_MS;
}
