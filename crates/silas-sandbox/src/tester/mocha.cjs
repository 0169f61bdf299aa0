// A reporter for mocha that writes down which tests ran and prints a line for each. Tests run in its own process: the key is
// read and removed before the first of them is loaded.

const { readFileSync, unlinkSync, writeFileSync } = require('node:fs');
const { relative, resolve } = require('node:path');

const PLACE = '/silas/report';
const key = readFileSync(`${PLACE}/key`, 'utf8');
unlinkSync(`${PLACE}/key`);
const { stringify } = JSON;

/** Where a file is that the configuration names, with or without its ending. */
function found(name) {
  try {
    return require.resolve(resolve(name));
  } catch {
    return resolve(name);
  }
}

module.exports = class Report {
  constructor(runner, options = {}) {
    const seen = new Map();
    const { require: first, import: imported, file, config, ui, loader } = options;
    const named = [first, imported, file, config, ui, loader].flat().filter((name) => typeof name === 'string');
    const files = new Set(named.map(found));
    const note = (test, verdict) => {
      if (test.file) files.add(test.file);
      const isTest = test.type === 'test';
      seen.set(`${isTest ? '' : '!'}${relative('.', test.file ?? '')} > ${test.fullTitle()}`, verdict);
      console.log(`${verdict}: ${test.fullTitle()}`);
    };
    runner.on('suite', ({ file }) => file && files.add(file));
    runner.on('pass', (test) => note(test, 'passed'));
    runner.on('pending', (test) => note(test, 'skipped'));
    runner.on('fail', (test, error) => {
      note(test, 'failed');
      console.log(String(error?.stack ?? error));
    });
    runner.on('end', () => {
      const report = { key, tests: [...seen], files: [...files] };
      writeFileSync(`${PLACE}/report.json`, stringify(report), { flag: 'wx' });
    });
  }
};
