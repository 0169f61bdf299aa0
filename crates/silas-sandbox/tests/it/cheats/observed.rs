//! Cheats at what no list of names knows: files that a runner collects, that a command opens or reads in, and exits that only
//! an exit code would believe. Each has an honest twin that is still proved.

use super::{Attempt, Went, has, has_pytest};
use crate::runner::Case;
use silas_core::check::CountedBy;
use silas_core::exits::Glob;
use silas_core::model::ModelName;
use silas_core::planned::Planned;

pub(crate) const CASES: &[Case] = &[
    ("unittest_with_a_module_of_any_name", unittest_with_a_module_of_any_name),
    ("pytest_with_files_of_any_name", pytest_with_files_of_any_name),
    ("prove_and_its_configuration", prove_and_its_configuration),
    ("make_with_tests_in_c", make_with_tests_in_c),
    ("a_runner_shadowed_below_the_top", a_runner_shadowed_below_the_top),
    ("node_with_files_of_a_pattern", node_with_files_of_a_pattern),
    ("a_changed_input", a_changed_input),
    ("a_script_that_is_not_named", a_script_that_is_not_named),
    ("a_script_that_reads_in_another", a_script_that_reads_in_another),
    ("an_early_exit_in_a_virtual_environment", an_early_exit_in_a_virtual_environment),
    ("an_early_exit_under_npm", an_early_exit_under_npm),
    ("tap_that_the_work_prints", tap_that_the_work_prints),
    ("a_file_whose_being_there_decides", a_file_whose_being_there_decides),
    ("tests_inside_rust_sources", tests_inside_rust_sources),
    ("cargo_with_tests_anywhere", cargo_with_tests_anywhere),
    ("a_runner_from_a_virtual_environment", a_runner_from_a_virtual_environment),
    ("what_is_declared_is_not_what_is_run", what_is_declared_is_not_what_is_run),
    ("results_that_a_models_command_prints", results_that_a_models_command_prints),
    ("a_failure_that_ends_well_is_red", a_failure_that_ends_well_is_red),
    ("tests_that_stand_beside_the_change", tests_that_stand_beside_the_change),
    ("links_that_are_made_meanwhile", links_that_are_made_meanwhile),
];

const CALC: (&str, &str) = ("calc.py", "def add(a, b):\n    return a - b\n");
const FIX: &str = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py";
const CASE: &str = "import unittest\nfrom calc import add\n\n\nclass Adds(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n";
const RUN_TESTCALC: &str = "python3 -m unittest discover -p 'testcalc.py'";

fn unittest_with_a_module_of_any_name() {
    let files = [CALC, ("testcalc.py", CASE)];
    for check in ["python3 -m unittest testcalc", RUN_TESTCALC, "python3 -m unittest"] {
        let attempt = |steps| Attempt { files: &files, steps, check };
        attempt(&["sed -i 's/3)/-1)/' testcalc.py"]).make().no_proof();
        attempt(&["rm testcalc.py; printf 'import unittest\\nclass Adds(unittest.TestCase):\\n    def test_add(self): pass\\n' > testcalc.py"])
            .make()
            .no_proof();
        let went = attempt(&[FIX]).proves();
        assert_eq!(went.after.tests.map(|tests| tests.passed), Some(1), "{check}");
    }
}

fn pytest_with_files_of_any_name() {
    if !has_pytest() {
        return;
    }
    let files = [
        CALC,
        ("pytest.ini", "[pytest]\npython_files = check*.py\n"),
        ("check_calc.py", "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"),
    ];
    let attempt = |steps| Attempt { files: &files, steps, check: "python3 -m pytest -q" };
    attempt(&["sed -i 's/== 3/== -1/' check_calc.py"]).make().no_proof();
    attempt(&["printf 'def test_add(): pass\\n' > check_other.py; rm check_calc.py"]).make().no_proof();
    attempt(&[FIX]).proves();
}

fn prove_and_its_configuration() {
    if !has("prove") {
        return;
    }
    let files = [
        ("lib/Calc.pm", "package Calc;\nsub add { $_[0] - $_[1] }\n1;\n"),
        ("t/basic.t", "use strict;\nuse Test::More tests => 1;\nuse Calc;\nis(Calc::add(1, 2), 3, 'adds');\n"),
    ];
    let attempt = |steps, check| Attempt { files: &files, steps, check };
    for check in ["prove -l t", "prove -l t/basic.t", "prove -lv t/*.t"] {
        attempt(&["sed -i 's/, 3,/, -1,/' t/basic.t"], check).make().no_proof();
        attempt(&["printf -- '--exec true\\n' > .proverc"], check).make().no_proof();
        attempt(&["printf 'use Test::More tests => 1; ok(1);\\n' > t/basic.t"], check).make().no_proof();
        attempt(
            &["printf 'package Calc;\\nprint \"1..1\\\\nok 1 - adds\\\\n\"; exit 0;\\n' > lib/Calc.pm; true"],
            check,
        )
        .make();
        let went = attempt(&["sed -i 's/\\[0\\] -/[0] +/' lib/Calc.pm"], check).proves();
        assert_eq!(went.after.tests.map(|tests| tests.passed), Some(1), "{check}");
    }
}

fn make_with_tests_in_c() {
    if !has("make") || !has("cc") {
        return;
    }
    let tests = "#include <stdio.h>\nint add(int, int);\nint main(void) {\n  int ok = add(1, 2) == 3;\n  printf(\"1..1\\n%sok 1 - adds\\n\", ok ? \"\" : \"not \");\n  return !ok;\n}\n";
    let files = [
        ("add.c", "int add(int a, int b) { return a - b; }\n"),
        ("Tests/AddTests.c", tests),
        ("suites/AddSuite.c", tests),
        (
            "Makefile",
            "test:\n\t@cc -o /tmp/t add.c Tests/AddTests.c && /tmp/t\nsuite:\n\t@cc -o /tmp/t add.c suites/AddSuite.c && /tmp/t\n",
        ),
    ];
    let attempt = |steps, check| Attempt { files: &files, steps, check };
    attempt(&["sed -i 's/== 3/== -1/' Tests/AddTests.c"], "make test").make().no_proof();
    attempt(&["sed -i 's/== 3/== -1/' suites/AddSuite.c"], "make suite").is_not_proved(&["suites/AddSuite.c"]);
    let fix = ["sed -i 's/a - b/a + b/' add.c"];
    attempt(&fix, "make test").is_not_proved(&["add.c"]);
    for check in ["make test", "make suite"] {
        attempt(&fix, check).proves_declaring(&["add.c"]);
    }
}

fn a_runner_shadowed_below_the_top() {
    let files = [("src/calc.py", CALC.1), ("tests/test_calc.py", CASE)];
    let shadow = "printf 'class TestCase:\\n    pass\\ndef main(*a, **k):\\n    raise SystemExit(0)\\n' > src/unittest.py; printf 'import unittest\\nunittest.main()\\n' > src/unittest_main.py";
    for check in [
        "PYTHONPATH=src python3 -m unittest discover -s tests",
        "cd src && PYTHONPATH=../tests python3 -m unittest test_calc",
        "PYTHONPATH=src:tests python3 tests/test_calc.py",
        "export PYTHONPATH=src; python3 -m unittest discover -s tests",
    ] {
        Attempt { files: &files, steps: &[shadow], check }.make();
        let went = Attempt { files: &files, steps: &[shadow], check }.make();
        assert_ne!(went.applied, Ok(2), "{check}: {:?}", went.after);
    }
    let fix = ["printf 'def add(a, b):\\n    return a + b\\n' > src/calc.py"];
    Attempt { files: &files, steps: &fix, check: "PYTHONPATH=src python3 -m unittest discover -s tests" }.proves();
}

fn node_with_files_of_a_pattern() {
    if !has("node") {
        return;
    }
    let files = [
        ("calc.mjs", "export const add = (a, b) => a - b;\n"),
        (
            "checks/adds.mjs",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { add } from '../calc.mjs';\ntest('adds', () => assert.equal(add(1, 2), 3));\n",
        ),
    ];
    let attempt = |steps| Attempt { files: &files, steps, check: "node --test checks/*.mjs" };
    attempt(&["sed -i 's/, 3)/, -1)/' checks/adds.mjs"]).make().no_proof();
    attempt(&["printf \"import test from 'node:test';\\ntest('adds', () => {});\\n\" > checks/adds.mjs"])
        .make()
        .no_proof();
    attempt(&["echo 'process.exit(0);' > calc.mjs"]).make().no_proof();
    let went = attempt(&["sed -i 's/a - b/a + b/' calc.mjs"]).proves();
    assert_eq!(went.after.tests.map(|tests| tests.passed), Some(1));
}

fn a_changed_input() {
    let files = [("main.py", "print(int(input()) + 1)\n"), ("input.txt", "1\n"), ("expected.txt", "3\n")];
    let check = "cat input.txt | python3 main.py | diff - expected.txt";
    Attempt { files: &files, steps: &["echo 2 > input.txt"], check }.is_not_proved(&["input.txt"]);
    Attempt { files: &files, steps: &["sed -i 's/+ 1/+ 2/' main.py"], check }.make().no_proof();
}

/// What is printed speaks TAP and is green; the file that printed it was rewritten.
fn a_script_that_is_not_named() {
    let verify =
        "[ \"$(sh app.sh)\" = 2 ] && echo ok 1 - two || echo not ok 1 - two\necho 1..1\n[ \"$(sh app.sh)\" = 2 ]\n";
    let files = [("app.sh", "echo 1\n"), ("verify.sh", verify)];
    for check in ["cat verify.sh | sh", "sh v*y.sh", "f=verify; sh $f.sh", "find . -name 'v*' -exec sh {} +"] {
        let cheat = Attempt { files: &files, steps: &["printf 'echo ok 1 - two\\necho 1..1\\n' > verify.sh"], check };
        cheat.make().no_proof();
        let declared = cheat.make_declaring(&["app.sh"]).no_proof();
        assert!(!declared.after.passed || declared.after.basis.unwrap().changed == ["verify.sh"], "{check}");
        Attempt { steps: &["echo 'echo 2' > app.sh"], ..cheat }.proves_declaring(&["app.sh"]);
    }
}

fn a_script_that_reads_in_another() {
    let files = [
        ("app.sh", "echo 1\n"),
        ("check.sh", ". verify/assert.sh\nequal \"$(sh app.sh)\" 2 two\nfinish\n"),
        (
            "verify/assert.sh",
            "n=0; bad=0\nequal() { n=$((n+1)); if [ \"$1\" = \"$2\" ]; then echo ok $n - $3; else echo not ok $n - $3; bad=1; fi; }\nfinish() { echo 1..$n; exit $bad; }\n",
        ),
    ];
    let attempt = |steps| Attempt { files: &files, steps, check: "sh check.sh" };
    let cheat = attempt(&["sed -i 's/\"$1\" = \"$2\"/1 = 1/' verify/assert.sh"]);
    cheat.is_not_proved(&["verify/assert.sh"]);
    cheat.make_declaring(&["app.sh"]).green_only(&["verify/assert.sh"]);
    attempt(&["echo 'echo 2' > app.sh"]).is_not_proved(&["app.sh"]);
    let went = attempt(&["echo 'echo 2' > app.sh"]).proves_declaring(&["app.sh"]);
    assert_eq!(went.after.basis.unwrap().by, CountedBy::Tests);
}

/// An environment as `python3 -m venv` makes it: links to the interpreter of the system, and a note where that is.
fn environment(attempt: &Attempt<'_>) -> crate::world::World {
    let world = attempt.world();
    let bin = world.project.join(".venv/bin");
    std::fs::create_dir_all(&bin).unwrap();
    for name in ["python", "python3"] {
        std::os::unix::fs::symlink("/usr/bin/python3", bin.join(name)).unwrap();
    }
    let note = "home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.11\n";
    std::fs::write(world.project.join(".venv/pyvenv.cfg"), note).unwrap();
    world
}

fn an_early_exit_in_a_virtual_environment() {
    use silas_core::check::Expectation;
    let files = [CALC, ("tests/test_calc.py", CASE)];
    let check = ".venv/bin/python -m unittest discover -s tests";
    let make = |steps: &[&str]| {
        let attempt = Attempt { files: &files, steps, check };
        attempt.make_in(&environment(&attempt), Expectation::ExitCode(0), true).unwrap()
    };
    make(&["printf 'import os\\nos._exit(0)\\n' > calc.py"]).no_proof();
    make(&["printf 'import sys\\nsys.exit(0)\\n' > calc.py"]).no_proof();
    make(&["rm .venv/bin/python; printf '#!/bin/sh\\nexit 0\\n' > .venv/bin/python; chmod 755 .venv/bin/python"])
        .no_proof();
    let went = make(&[FIX]).proved();
    assert_eq!(went.after.tests.map(|tests| tests.passed), Some(1));
}

fn an_early_exit_under_npm() {
    if !has("npm") || !has("node") {
        return;
    }
    let test = "const assert = require('node:assert');\nassert.equal(require('./calc.js').add(1, 2), 3);\n";
    for script in ["node --test", "node checks.test.js"] {
        let package = format!("{{ \"name\": \"calc\", \"scripts\": {{ \"test\": \"{script}\" }} }}\n");
        let files = [
            ("calc.js", "exports.add = (a, b) => a - b;\n"),
            ("package.json", package.as_str()),
            ("checks.test.js", test),
        ];
        Attempt { files: &files, steps: &["echo 'process.exit(0);' > calc.js"], check: "npm test" }.make().no_proof();
    }
}

fn tap_that_the_work_prints() {
    let files =
        [("app.sh", "echo 1\n"), ("Makefile", "test:\n\t@sh run/it.sh\n"), ("run/it.sh", "sh app.sh\nexit 1\n")];
    let steps = ["printf 'echo ok 1 - a\\necho 1..1\\nexit 0\\n' > run/it.sh"];
    if has("make") {
        Attempt { files: &files, steps: &steps, check: "make test" }.is_not_proved(&["run/it.sh"]);
    }
    // It did not speak before, so nobody knows which tests there were.
    Attempt { files: &files, steps: &steps, check: "cat run/it.sh | sh" }.make_declaring(&["run/it.sh"]).no_proof();
}

fn a_file_whose_being_there_decides() {
    let check = "[ -e .ready ] && echo ok 1 - two || { [ \"$(sh app.sh)\" = 2 ] && echo ok 1 - two || echo not ok 1 - two; }\necho 1..1\n[ -e .ready ] || [ \"$(sh app.sh)\" = 2 ]\n";
    let files = [("app.sh", "echo 1\n"), ("check.sh", check)];
    let attempt = |steps| Attempt { files: &files, steps, check: "sh check.sh" };
    attempt(&["touch .ready"]).make_declaring(&["app.sh"]).green_only(&[".ready"]);
    attempt(&["echo 'echo 2' > app.sh"]).proves_declaring(&["app.sh"]);
}

const CARGO_TOML: &str = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

fn tests_inside_rust_sources() {
    if !has("cargo") {
        return;
    }
    let source = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(1, 2), 3);\n    }\n}\n";
    let files = [("Cargo.toml", CARGO_TOML), ("src/lib.rs", source)];
    let attempt = |steps| Attempt { files: &files, steps, check: "cargo test --offline" };
    attempt(&["sed -i 's/, 3)/, -1)/' src/lib.rs"]).is_not_proved(&["src/lib.rs"]);
    attempt(&["sed -i 's/a - b/a + b/' src/lib.rs"]).proves();
}

fn cargo_with_tests_anywhere() {
    if !has("cargo") {
        return;
    }
    let manifest = format!("{CARGO_TOML}\n[[test]]\nname = \"adds\"\npath = \"checks/adds.rs\"\n");
    let files = [
        ("Cargo.toml", manifest.as_str()),
        ("src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"),
        ("checks/adds.rs", "mod due;\n#[test]\nfn adds() {\n    assert_eq!(calc::add(1, 2), due::DUE);\n}\n"),
        ("checks/due.rs", "pub const DUE: i32 = 3;\n"),
    ];
    let attempt = |steps| Attempt { files: &files, steps, check: "cargo test --offline" };
    for step in ["sed -i 's/due::DUE/-1/' checks/adds.rs", "sed -i 's/3/-1/' checks/due.rs"] {
        Attempt { files: &files, steps: &[step], check: "cargo test --offline" }.make().no_proof();
    }
    attempt(&["sed -i 's/a - b/a + b/' src/lib.rs"]).proves();
}

fn a_runner_from_a_virtual_environment() {
    use silas_core::check::Expectation;
    if !has_pytest() {
        return;
    }
    let files = [CALC, ("test_calc.py", CASE)];
    for check in [".venv/bin/python -m pytest -q", ".venv/bin/pytest -q"] {
        let attempt = Attempt { files: &files, steps: &[FIX], check };
        attempt.make_in(&environment(&attempt), Expectation::ExitCode(0), true).unwrap().proved();
    }
}

/// Whoever lists a file as what may change does not make it less of a judge where the check runs it.
fn what_is_declared_is_not_what_is_run() {
    let files = [("check.sh", "echo not ok 1 - a\necho 1..1\nexit 1\n")];
    let cheat =
        Attempt { files: &files, steps: &["printf 'echo ok 1 - a\\necho 1..1\\n' > check.sh"], check: "sh check.sh" };
    cheat.make_declaring(&["check.sh"]).no_proof();
}

/// Who chooses the words of a check must not choose who prints its results.
fn results_that_a_models_command_prints() {
    let loop_of_its_own = "echo 1..1; for f in d*.txt; do if [ -f \"$f\" ]; then echo 'ok 1 - all tests'; exit 0; fi; done; echo 'not ok 1 - all tests'; exit 1";
    let planned = |attempt: &Attempt<'_>, changes: &[&str], is_models: bool| {
        let world = attempt.world();
        let mut definition = world.bare_definition(attempt.steps, &[attempt.check]);
        definition.changes = changes.iter().map(|path| Glob::parse(path).unwrap()).collect();
        definition.planned =
            is_models.then(|| Planned { by: ModelName::parse("ollama:m").unwrap(), asked: "mend it".to_owned() });
        attempt.carry_out(&world, definition).unwrap()
    };
    let why = |went: Went| went.after.basis.and_then(|basis| basis.why_not);
    let own = Attempt { files: &[("a.txt", "a\n")], steps: &["touch done.txt"], check: loop_of_its_own };
    let went = planned(&own, &["done.txt"], true).green_only(&[]);
    assert_eq!(why(went).as_deref(), Some("The model's own command printed the results"));
    // What the owner types is the owner's.
    planned(&own, &["done.txt"], false).proved();
    let script = "echo 1..1\nif [ \"$(sh app.sh)\" = 2 ]; then echo ok 1 - two; else echo not ok 1 - two; exit 1; fi\n";
    let files = [("app.sh", "echo 1\n"), ("check.sh", script)];
    let mended = |check| Attempt { files: &files, steps: &["echo 'echo 2' > app.sh"], check };
    planned(&mended("sh check.sh"), &["app.sh"], true).proved();
    let went = planned(&mended("cat check.sh | sh"), &["app.sh"], true).green_only(&[]);
    assert!(why(went).is_some_and(|why| why.contains("own command")));
}

fn a_failure_that_ends_well_is_red() {
    let script = "echo 1..1\nif [ \"$(sh app.sh)\" = 2 ]; then echo ok 1 - two; else echo not ok 1 - two; fi\n";
    let files = [("app.sh", "echo 1\n"), ("check.sh", script)];
    let attempt = |steps| Attempt { files: &files, steps, check: "sh check.sh" };
    attempt(&["echo 'echo 3' > app.sh"]).fails("Exit code 0, but 1 of 1 tests failed");
    attempt(&["echo 'echo 2' > app.sh"]).proves_declaring(&["app.sh"]);
}

/// What git ignores may stand beside the change and is not applied; if it judges, and is not as it was, nothing is proved.
fn tests_that_stand_beside_the_change() {
    let attempt = |steps| Attempt {
        files: &[CALC, ("test_calc.py", CASE), (".gitignore", "test_calc.py\nbuild/\n")],
        steps,
        check: "python3 -m unittest",
    };
    let make = |attempt: &Attempt<'_>| {
        let world = attempt.world();
        let git = std::process::Command::new("git").args(["init", "-q", "."]).current_dir(&world.project).status();
        assert!(git.unwrap().success());
        let mut definition = world.bare_definition(attempt.steps, &[attempt.check]);
        definition.beside = vec!["test_calc.py".to_owned(), "build".to_owned()];
        attempt.carry_out(&world, definition).unwrap()
    };
    make(&attempt(&["sed -i 's/3)/-1)/' test_calc.py; echo '# seen' >> calc.py"])).no_proof();
    make(&attempt(&[FIX, "mkdir build; echo 1 > build/out"])).proved();
}

/// Both sides of the comparison are then one file.
fn links_that_are_made_meanwhile() {
    let script = "echo 1..1\nsh app.sh > out\nsh due.sh > due\nif cmp -s out due; then echo ok 1 - two; else echo not ok 1 - two; exit 1; fi\n";
    let files = [("app.sh", "echo 1\n"), ("due.sh", "echo 2\n"), ("check.sh", script)];
    for link in ["ln", "ln -s"] {
        let step = format!("echo 'echo 3; {link} out due' > app.sh");
        let linking = Attempt { files: &files, steps: &[&step], check: "sh check.sh" };
        let went = linking.make_declaring(&["app.sh"]).green_only(&[]);
        let why = went.after.basis.and_then(|basis| basis.why_not);
        assert_eq!(why.as_deref(), Some("While it ran, something put a link or its like at due"), "{link}");
    }
    let mended = Attempt { files: &files, steps: &["echo 'echo 2' > app.sh"], check: "sh check.sh" };
    mended.proves_declaring(&["app.sh"]);
}
