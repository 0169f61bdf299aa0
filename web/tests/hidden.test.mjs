// What nobody could see is shown: the page's list of such characters is the runtime's, and its rules come to the same.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { EMOJI, HIDDEN, JOINED, oneLine, strict, visible } from '../lib/hidden.js';

const RUST = readFileSync(new URL('../../crates/silas-core/src/hidden.rs', import.meta.url), 'utf8');

/** The ranges of a list of the core. */
function ranges(name) {
  const list = new RegExp(`pub const ${name}: [^=]*=\\s*\\[([^\\]]*)\\];`).exec(RUST)?.[1];
  assert.ok(list, name);
  return [...list.matchAll(/\('\\u\{([0-9a-f]+)\}', '\\u\{([0-9a-f]+)\}'\)/g)].map(([, from, to]) => [parseInt(from, 16), parseInt(to, 16)]);
}

test('there is one list', () => {
  assert.ok(ranges('HIDDEN').length > 20);
  assert.deepEqual(HIDDEN, ranges('HIDDEN'));
  assert.deepEqual(JOINED, ranges('JOINED'));
  assert.deepEqual(EMOJI, ranges('EMOJI'));
});

test('what takes no room is shown by its number, wherever it stands', () => {
  for (const code of [0xd, 0xb, 0xc, 0x85, 0xad, 0x34f, 0x115f, 0x180e, 0x200b, 0x2028, 0x2029, 0x202e, 0x2064, 0x2800, 0x3164, 0xfe01, 0xffa0, 0xfff9, 0xe0041, 0xe0100, 0xe01ef]) {
    const shown = `a⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩b`;
    assert.equal(visible(`a${String.fromCodePoint(code)}b`), shown);
    assert.equal(strict(`a${String.fromCodePoint(code)}b`), shown);
  }
  assert.equal(visible('Grüße, 世界\n\tindented'), 'Grüße, 世界\n\tindented');
});

test('prose keeps what its writing needs, and a decision keeps none of it', () => {
  assert.equal(visible('❤️‍🔥 می‌خواهم'), '❤️‍🔥 می‌خواهم');
  assert.equal(strict('❤️‍🔥'), '❤⟨U+FE0F⟩⟨U+200D⟩🔥');
  assert.equal(visible('❤️️'), '❤️⟨U+FE0F⟩');
  assert.equal(visible('a️‍b'), 'a⟨U+FE0F⟩⟨U+200D⟩b');
  assert.equal(visible('؜‍'), '⟨U+061C⟩⟨U+200D⟩');
  assert.equal(oneLine('a\n\tb'), 'a⟨U+000A⟩⟨U+0009⟩b');
});
