// A reporter for `node --test` that writes down which tests ran. It lives in the process that starts the tests, not in
// theirs; the key is read and removed before the first of them starts.

import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';

const PLACE = '/silas/report';
const key = readFileSync(`${PLACE}/key`, 'utf8');
unlinkSync(`${PLACE}/key`);

export default async function* report(source) {
  const tests = [];
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const isGroup = data.details?.type === 'suite';
    // A file that ends without a test is reported as a test of its own name.
    const isFile = data.nesting === 0 && (data.name === data.file || data.name === relative('.', data.file ?? ''));
    if (isGroup || (isFile && type === 'test:pass')) continue;
    const isSkipped = data.skip !== undefined || data.todo !== undefined;
    const verdict = isSkipped ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed';
    // A file that could not be run is a failure, but no test that must come back.
    tests.push([`${isFile ? '!' : ''}${relative('.', data.file ?? '')} > ${data.nesting} ${data.name}`, verdict]);
  }
  writeFileSync(`${PLACE}/report.json`, JSON.stringify({ key, tests }), { flag: 'wx' });
  yield '';
}
