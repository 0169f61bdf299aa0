// A reporter for jest that writes down which tests ran. The key is read and removed before the first of them starts.
// Where jest runs tests in its own process, code under test could forge from within, as everywhere.

const { readFileSync, unlinkSync, writeFileSync } = require('node:fs');
const { relative } = require('node:path');

const PLACE = '/silas/report';
const key = readFileSync(`${PLACE}/key`, 'utf8');
unlinkSync(`${PLACE}/key`);
const VERDICTS = { passed: 'passed', failed: 'failed' };
const { stringify } = JSON;

/** What the configuration has jest load into its processes, wherever that lies. */
function configured(config) {
  const { setupFiles, setupFilesAfterEnv, globalSetup, globalTeardown, snapshotSerializers } = config;
  const { testEnvironment, runner, testRunner, resolver, transform } = config;
  const transforms = (transform ?? []).map(([, file]) => file);
  const lists = [setupFiles, setupFilesAfterEnv, snapshotSerializers, transforms];
  const all = [...lists.flat(), globalSetup, globalTeardown, testEnvironment, runner, testRunner, resolver];
  return all.filter((file) => typeof file === 'string' && file.startsWith('/'));
}

module.exports = class Report {
  onRunComplete(contexts, results) {
    const tests = [];
    const files = [...contexts].flatMap(({ config }) => configured(config));
    for (const { testFilePath, testResults, testExecError, failureMessage } of results.testResults) {
      files.push(testFilePath);
      const at = relative('.', testFilePath);
      if (testExecError || (failureMessage && testResults.length === 0)) tests.push([`!${at}`, 'failed']);
      for (const { fullName, status } of testResults) tests.push([`${at} > ${fullName}`, VERDICTS[status] ?? 'skipped']);
    }
    writeFileSync(`${PLACE}/report.json`, stringify({ key, tests, files }), { flag: 'wx' });
  }
};
