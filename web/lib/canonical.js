// @ts-check
// Canonical JSON (RFC 8785) without fractions: the bytes that are hashed and signed, equal to those of silas-core.

/**
 * @param {unknown} value
 * @returns {string}
 */
export function canonical(value) {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    // Beyond 2^53 - 1 two different texts are the same number here, so the bytes could not be trusted.
    if (!Number.isSafeInteger(value)) throw new Error('A number that is not a safe integer cannot be signed.');
    return String(value);
  }
  if (typeof value === 'string') {
    if (!isWellFormed(value)) throw new Error('Half a character cannot be signed.');
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object') {
    const fields = /** @type {Record<string, unknown>} */ (value);
    // Array.prototype.sort without a function compares UTF-16 code units, which is what the standard asks for.
    const members = Object.keys(fields).sort().map((key) => `${canonical(key)}:${canonical(fields[key])}`);
    return `{${members.join(',')}}`;
  }
  throw new Error(`A ${typeof value} cannot be signed.`);
}

/** Whether no surrogate stands alone. @param {string} text */
function isWellFormed(text) {
  return !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);
}
