//! Cheats at node and npm, and the honest way for cargo and go where they are installed.

use super::{Attempt, has};
use crate::runner::Case;

pub(crate) const CASES: &[Case] = &[
    ("an_honest_fix_is_proved_by_node", an_honest_fix_is_proved_by_node),
    ("what_could_not_be_loaded_may_be_repaired", what_could_not_be_loaded_may_be_repaired),
    ("an_early_exit", an_early_exit),
    ("a_script_that_does_nothing", a_script_that_does_nothing),
    ("options_for_node_by_configuration", options_for_node_by_configuration),
    ("edited_and_renamed_tests", edited_and_renamed_tests),
    ("other_scripts_count_nothing", other_scripts_count_nothing),
    ("an_honest_fix_is_proved_by_cargo", an_honest_fix_is_proved_by_cargo),
    ("an_honest_fix_is_proved_by_go", an_honest_fix_is_proved_by_go),
];

const FILES: [(&str, &str); 3] = [
    ("calc.js", "exports.add = (a, b) => a - b;\n"),
    ("package.json", "{ \"name\": \"calc\", \"scripts\": { \"test\": \"node --test\" } }\n"),
    (
        "test/calc.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('../calc.js');\ntest('adds', () => assert.equal(add(1, 2), 3));\ntest('zero', () => assert.equal(add(0, 0), 0));\n",
    ),
];
const FIX: &str = "echo 'exports.add = (a, b) => a + b;' > calc.js";

fn npm<'a>(steps: &'a [&'a str]) -> Attempt<'a> {
    Attempt { files: &FILES, steps, check: "npm test" }
}

fn an_honest_fix_is_proved_by_node() {
    if !has("node") {
        return;
    }
    for check in ["npm test", "node --test", "node --test test/", "cd test && node --test"] {
        let went = Attempt { check, ..npm(&[FIX]) }.proves();
        let tests = went.after.tests.unwrap();
        assert_eq!((tests.passed, tests.failed), (2, 0), "{check}");
    }
}

fn what_could_not_be_loaded_may_be_repaired() {
    if !has("node") {
        return;
    }
    let suite = "const { describe, it } = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('../calc.js');\ndescribe('calc', () => { it('adds', () => assert.equal(add(1, 2), 3)); });\n";
    for calc in ["exports.add = (a, b) =>\n", "exports.add = (a, b) => a - b;\n"] {
        let files = [("calc.js", calc), FILES[1], ("test/calc.test.js", suite)];
        let went = Attempt { files: &files, ..npm(&[FIX]) }.proves();
        assert_eq!(went.after.tests.map(|tests| tests.passed), Some(1));
    }
}

fn an_early_exit() {
    if !has("node") {
        return;
    }
    let went = npm(&["echo 'process.exit(0);' > calc.js"]).fails("No test ran");
    assert_eq!(went.after.exit_code, Some(0), "node itself calls that a success");
    assert_eq!(went.flags, ["calc.js ends the process: process.exit"]);
}

fn a_script_that_does_nothing() {
    if !has("node") {
        return;
    }
    let went = npm(&["sed -i 's/node --test/true/' package.json"]).fails("1 failed");
    assert_eq!(went.unseen, ["package.json"]);
}

fn options_for_node_by_configuration() {
    if !has("node") {
        return;
    }
    npm(&["echo 'node-options=--require=./hook.js' > .npmrc; echo 'process.exit(0)' > hook.js"]).fails("1 failed");
}

fn edited_and_renamed_tests() {
    if !has("node") {
        return;
    }
    npm(&["sed -i 's/, 3)/, -1)/' test/calc.test.js"]).fails("1 failed");
    npm(&["mv test hidden"]).fails("1 failed");
    npm(&["mkdir -p node_modules/x; sed -i 's/^test.*//' test/calc.test.js"]).fails("1 failed");
}

/// An unknown script is judged by its exit code, out of the work's reach, and the result says that nothing was counted.
fn other_scripts_count_nothing() {
    if !has("npm") {
        return;
    }
    let package = "{ \"name\": \"calc\", \"scripts\": { \"test\": \"node check.js\" } }\n";
    let files = [
        FILES[0],
        ("package.json", package),
        ("check.js", "process.exit(require('./calc.js').add(1, 2) - 3 ? 1 : 0)\n"),
    ];
    let went = Attempt { files: &files, steps: &[FIX], check: "npm test" }.is_not_proved(&["calc.js"]);
    assert_eq!(went.after.tests, None);
}

fn an_honest_fix_is_proved_by_cargo() {
    if !has("cargo") {
        return;
    }
    let files = [
        ("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"),
        ("tests/adds.rs", "#[test]\nfn adds() {\n    assert_eq!(calc::add(1, 2), 3);\n}\n"),
    ];
    let went = Attempt { files: &files, steps: &["sed -i 's/a - b/a + b/' src/lib.rs"], check: "cargo test --offline" }
        .proves();
    assert_eq!(went.after.tests.map(|tests| tests.passed), Some(1));
    let exit = ["sed -i 's/a - b/std::process::exit(a - a * b)/' src/lib.rs"];
    Attempt { files: &files, steps: &exit, check: "cargo test --offline" }.fails("before they were through");
}

fn an_honest_fix_is_proved_by_go() {
    if !has("go") {
        return;
    }
    let files = [
        ("go.mod", "module example.com/calc\n\ngo 1.19\n"),
        ("calc.go", "package calc\n\nfunc Add(a, b int) int { return a - b }\n"),
        (
            "calc_test.go",
            "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(Add(1, 2))\n\t}\n}\n",
        ),
    ];
    let went = Attempt { files: &files, steps: &["sed -i 's/a - b/a + b/' calc.go"], check: "go test ./..." }.proves();
    assert_eq!(went.after.tests.map(|tests| tests.passed), Some(1));
}
