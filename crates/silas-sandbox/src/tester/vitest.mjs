// A reporter for vitest that writes down which tests ran. It lives in the process that starts the tests; the key is read
// and removed before the first of them starts.

import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';

const PLACE = '/silas/report';
const key = readFileSync(`${PLACE}/key`, 'utf8');
unlinkSync(`${PLACE}/key`);
const VERDICTS = { pass: 'passed', fail: 'failed' };
const LATER = { passed: 'passed', failed: 'failed' };

let configured = [];

export default class Report {
  // What the configuration has vitest load into its processes, wherever that lies.
  onInit({ config = {}, server }) {
    const { setupFiles, globalSetup, snapshotSerializers, environment, runner } = config;
    const inner = [setupFiles, globalSetup, snapshotSerializers, environment, runner, server?.config?.configFile];
    const all = [...inner.flat(), ...(server?.config?.configFileDependencies ?? [])];
    configured = all.filter((file) => typeof file === 'string' && file.includes('/')).map((file) => resolve(file));
  }

  onFinished(files = []) {
    const tests = [];
    const visit = (task, at) => {
      const name = `${at} > ${task.name}`;
      if (task.type === 'suite') for (const inner of task.tasks) visit(inner, name);
      else tests.push([name, VERDICTS[task.result?.state] ?? 'skipped']);
    };
    for (const file of files) {
      const at = relative('.', file.filepath);
      if (file.result?.state === 'fail' && file.tasks.length === 0) tests.push([`!${at}`, 'failed']);
      for (const task of file.tasks) visit(task, at);
    }
    write(tests, files.map(({ filepath }) => filepath));
  }

  // What later versions call instead.
  onTestRunEnd(modules = []) {
    const tests = [];
    for (const module of modules) {
      const at = relative('.', module.moduleId);
      const all = [...module.children.allTests()];
      if (all.length === 0 && module.state() === 'failed') tests.push([`!${at}`, 'failed']);
      for (const test of all) tests.push([`${at} > ${test.fullName}`, LATER[test.result().state] ?? 'skipped']);
    }
    write(tests, modules.map(({ moduleId }) => moduleId));
  }
}

let isWritten = false;

/** Once: some versions call both. */
function write(tests, files) {
  if (isWritten) return;
  isWritten = true;
  writeFileSync(`${PLACE}/report.json`, JSON.stringify({ key, tests, files: [...files, ...configured] }), { flag: 'wx' });
}
