// @ts-check
// Dollars as they are typed, in the exact numbers that are signed.

/** Micro-dollars of "0.25"; `null` if that is no price. Digit by digit: a float would round. @param {string} text */
export function microdollars(text) {
  const found = /^\$?\s*(\d{1,6})(?:[.,](\d{1,6}))?$/.exec(text.trim());
  return found && Number(found[1]) * 1_000_000 + Number((found[2] ?? '').padEnd(6, '0'));
}

/** "0.25" of what is kept. @param {number} micro */
export const typedDollars = (micro) => (micro / 1_000_000).toFixed(6).replace(/0{1,4}$/, '');

/** Whether an address is on the machine where Silas runs. @param {string} url */
export const isLoopback = (url) => /^https?:\/\/(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?:[:/]|$)/i.test(url.trim());
