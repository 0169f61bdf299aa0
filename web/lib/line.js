// @ts-check
// The line to Silas that this page holds, and the key that signs on it. It is laid and taken up by the session; everybody
// else only sends.

/** @typedef {ReturnType<typeof import('./socket.js').openSocket>} Socket */

/** Written by the session alone; `n_lost`: how often it broke. @type {{ socket: Socket | null, device: import('./keys.js').Device | null, n_lost: number }} */
export const line = { socket: null, device: null, n_lost: 0 };

/** Sends it, and says whether it went out. @param {any} message */
export const send = (message) => line.socket?.send(message) ?? false;

export const LOST = 'The connection broke. Nothing was sent.';
