// A reporter for `node --test` that writes down which tests ran. It lives in the process that starts the tests, not in
// theirs; the key is read and removed before the first of them starts.

import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const PLACE = '/silas/report';
const key = readFileSync(`${PLACE}/key`, 'utf8');
unlinkSync(`${PLACE}/key`);

// Older ones name a module by its address.
const pathOf = (file) => (file?.startsWith('file://') ? fileURLToPath(file) : file);

export default async function* report(source) {
  const tests = [];
  const files = new Set();
  for await (const { type, data } of source) {
    const file = pathOf(data.file);
    if (file) files.add(file);
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const isGroup = data.details?.type === 'suite';
    // A file that ends without a test is reported as a test of its own name.
    const isFile = data.nesting === 0 && (data.name === file || data.name === relative('.', file ?? ''));
    if (isGroup || (isFile && type === 'test:pass')) continue;
    const isSkipped = data.skip !== undefined || data.todo !== undefined;
    const verdict = isSkipped ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed';
    // A file that could not be run is a failure, but no test that must come back.
    tests.push([`${isFile ? '!' : ''}${relative('.', file ?? '')} > ${data.nesting} ${data.name}`, verdict]);
  }
  writeFileSync(`${PLACE}/report.json`, JSON.stringify({ key, tests, files: [...files] }), { flag: 'wx' });
  yield '';
}
