// @ts-check
// Bytes as text and their hash, in the spellings of the wire: base64url without padding, lower-case hexadecimal.

const encoder = new TextEncoder();

/** @param {string} text */
export const utf8 = (text) => encoder.encode(text);

/** @param {ArrayBuffer | Uint8Array} bytes */
export function base64url(bytes) {
  const binary = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The other way round. @param {string} text @returns {Uint8Array<ArrayBuffer>} */
export function bytes(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
}

/** @param {ArrayBuffer | Uint8Array} bytes */
export function hex(bytes) {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** SHA-256 in hexadecimal. @param {string | Uint8Array<ArrayBuffer>} what */
export async function sha256(what) {
  const bytes = typeof what === 'string' ? utf8(what) : what;
  return hex(await crypto.subtle.digest('SHA-256', bytes));
}
