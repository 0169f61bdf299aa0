//! Runners that a project of node brings along: jest, vitest and mocha, as `package.json` names them. `./test peers` installs
//! them; without that these cases say that they are skipped.

use super::{Attempt, Went, has};
use crate::runner::{Case, skip};
use silas_core::check::Expectation;
use std::path::PathBuf;
use std::process::Command;

pub(crate) const CASES: &[Case] = &[("mocha", mocha), ("jest", jest), ("jest_by_npx", jest_by_npx), ("vitest", vitest)];

const CALC: (&str, &str) = ("calc.cjs", "exports.add = (a, b) => a - b;\n");
const FIX: &str = "echo 'exports.add = (a, b) => a + b;' > calc.cjs";

/// What `./test peers` has installed.
fn installed() -> Option<PathBuf> {
    let found = std::env::var_os("SILAS_PEERS").map(|peers| PathBuf::from(peers).join("node_modules"));
    if found.is_none() {
        skip("SILAS_PEERS names no directory with jest, vitest and mocha; run ./test peers");
    }
    found.filter(|_| has("node") && has("npm"))
}

fn check(script: &str, check: &str, test: (&str, &str)) {
    let Some(modules) = installed() else { return };
    let package = format!("{{ \"name\": \"calc\", \"scripts\": {{ \"test\": \"{script}\" }} }}\n");
    let files = [CALC, ("package.json", package.as_str()), test];
    let make = |step: &str| -> Went {
        let steps = [step];
        let attempt = Attempt { files: &files, steps: &steps, check };
        let world = attempt.world();
        let copied = Command::new("cp").arg("-a").arg(&modules).arg(&world.project).status().unwrap();
        assert!(copied.success());
        attempt.make_in(&world, Expectation::ExitCode(0), true).unwrap()
    };
    let went = make(FIX).proved();
    assert_eq!(went.after.tests.map(|tests| (tests.passed, tests.failed)), Some((2, 0)), "{check}");
    make("echo 'process.exit(0);' > calc.cjs").no_proof();
    make(&format!("sed -i 's/3)/-1)/' {}", test.0)).no_proof();
    make(&format!("sed -i 's/\"{script}\"/\"true\"/' package.json")).no_proof();
}

fn mocha() {
    let test = "const assert = require('node:assert');\nconst { add } = require('../calc.cjs');\ndescribe('calc', () => {\n  it('adds', () => assert.equal(add(1, 2), 3));\n  it('zero', () => assert.equal(add(0, 0), 0));\n});\n";
    check("mocha checks/adds.cjs", "npm test", ("checks/adds.cjs", test));
}

const JEST: &str = "const { add } = require('../calc.cjs');\ntest('adds', () => expect(add(1, 2)).toBe(3));\ntest('zero', () => expect(add(0, 0)).toBe(0));\n";

fn jest() {
    check("jest --ci", "npm test", ("__tests__/adds.js", JEST));
}

fn jest_by_npx() {
    check("jest --ci", "npx jest --ci", ("__tests__/adds.js", JEST));
}

fn vitest() {
    let test = "import { expect, test } from 'vitest';\nimport { add } from '../calc.cjs';\ntest('adds', () => expect(add(1, 2)).toBe(3));\ntest('zero', () => expect(add(0, 0)).toBe(0));\n";
    check("vitest run --dir checks", "npm test", ("checks/adds.test.mjs", test));
}
