// @ts-check
// A text as a file of the reader's own. Nothing leaves the machine: the address that is opened lives in this page.

/** The browser reads the file after the click; then the address may go. */
const KEPT_MS = 60_000;

/** @param {string} name @param {string} text */
export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}
