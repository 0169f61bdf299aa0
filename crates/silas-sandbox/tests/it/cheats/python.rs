//! Cheats at pytest and unittest.

use super::{Attempt, has_pytest};
use crate::runner::Case;
use silas_core::check::{CountedBy, Expectation};
use silas_core::testlog::Tests;
use silas_sandbox::Error;

pub(crate) const CASES: &[Case] = &[
    ("an_honest_fix_is_proved_by_pytest", an_honest_fix_is_proved_by_pytest),
    ("an_honest_fix_is_proved_by_unittest", an_honest_fix_is_proved_by_unittest),
    ("honest_projects_are_importable", honest_projects_are_importable),
    ("an_early_exit_at_import", an_early_exit_at_import),
    ("an_early_exit_in_a_call", an_early_exit_in_a_call),
    ("an_exit_from_another_thread", an_exit_from_another_thread),
    ("a_polite_exit", a_polite_exit),
    ("an_exit_code_changed_at_the_end", an_exit_code_changed_at_the_end),
    ("a_module_in_the_place_of_pytest", a_module_in_the_place_of_pytest),
    ("a_package_in_the_place_of_unittest", a_package_in_the_place_of_unittest),
    ("a_standard_module_replaced", a_standard_module_replaced),
    ("a_conftest_that_skips", a_conftest_that_skips),
    ("a_conftest_that_exits", a_conftest_that_exits),
    ("edited_tests", edited_tests),
    ("deleted_tests", deleted_tests),
    ("renamed_tests", renamed_tests),
    ("tests_behind_a_link", tests_behind_a_link),
    ("a_link_in_the_place_of_tests", a_link_in_the_place_of_tests),
    ("a_case_that_is_only_listed_is_gone", a_case_that_is_only_listed_is_gone),
    ("new_tests_behind_each_that_is_taken_back", new_tests_behind_each_that_is_taken_back),
    ("configuration_that_only_collects", configuration_that_only_collects),
    ("a_suite_without_tests", a_suite_without_tests),
    ("sitecustomize_and_path_files", sitecustomize_and_path_files),
    ("a_plugin_by_entry_point", a_plugin_by_entry_point),
    ("a_planted_bytecode_file", a_planted_bytecode_file),
    ("a_python_in_the_project", a_python_in_the_project),
    ("tests_skipped_by_what_they_test", tests_skipped_by_what_they_test),
    ("cases_emptied_by_what_they_test", cases_emptied_by_what_they_test),
    ("a_forged_report", a_forged_report),
    ("tests_rewritten_while_they_run", tests_rewritten_while_they_run),
    ("what_could_not_be_loaded_may_be_repaired", what_could_not_be_loaded_may_be_repaired),
    ("ignored_by_git_is_not_invisible", ignored_by_git_is_not_invisible),
    ("a_background_process_that_waits", a_background_process_that_waits),
    ("a_good_change_with_a_cheat_beside_it", a_good_change_with_a_cheat_beside_it),
    ("an_open_check_says_so", an_open_check_says_so),
    ("open_class_forging_inside_the_process", open_class_forging_inside_the_process),
];

const CALC: &str = "def add(a, b):\n    return a - b\n";
const FIX: &str = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py";
const PYTEST: [(&str, &str); 2] = [
    ("calc.py", CALC),
    (
        "tests/test_calc.py",
        "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n",
    ),
];
const UNITTEST: [(&str, &str); 2] = [
    ("calc.py", CALC),
    (
        "tests/test_calc.py",
        "import unittest\nfrom calc import add\n\n\nclass Adds(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
    ),
];
const RUN_PYTEST: &str = "python3 -m pytest -q";
const RUN_UNITTEST: &str = "python3 -m unittest discover -s tests";

fn pytest<'a>(steps: &'a [&'a str]) -> Attempt<'a> {
    Attempt { files: &PYTEST, steps, check: RUN_PYTEST }
}

fn unittest<'a>(steps: &'a [&'a str]) -> Attempt<'a> {
    Attempt { files: &UNITTEST, steps, check: RUN_UNITTEST }
}

fn counts(tests: Option<&Tests>) -> Option<(u32, u32, u32)> {
    tests.map(|tests| (tests.passed, tests.failed, tests.skipped))
}

fn an_honest_fix_is_proved_by_pytest() {
    if !has_pytest() {
        return;
    }
    let went = pytest(&[FIX]).proves();
    assert_eq!(counts(went.before.tests.as_ref()), Some((1, 1, 0)));
    assert_eq!(counts(went.after.tests.as_ref()), Some((2, 0, 0)));
    assert_eq!(went.after.reason, "Exit code 0, expected 0; 2 tests passed");
    assert!(went.after.protected && went.flags.is_empty() && went.unseen.is_empty());
    Attempt {
        check: "pytest tests",
        files: &[PYTEST[0], PYTEST[1], ("tests/conftest.py", "import sys\nsys.path.insert(0, '.')\n")],
        steps: &[FIX],
    }
    .proves();
}

fn an_honest_fix_is_proved_by_unittest() {
    let went = unittest(&[FIX]).proves();
    assert_eq!(counts(went.after.tests.as_ref()), Some((1, 0, 0)));
    Attempt { check: "cd tests && PYTHONPATH=.. python3 -m unittest test_calc.Adds", ..unittest(&[FIX]) }.proves();
}

/// Packages below `src`, relative imports, a module called like one of the standard library: none of it is touched.
fn honest_projects_are_importable() {
    if !has_pytest() {
        return;
    }
    let files = [
        ("src/shop/__init__.py", ""),
        ("src/shop/types.py", "PRICE = 1\n"),
        (
            "src/shop/cart.py",
            "from . import types\nimport json\n\n\ndef total(n):\n    return json.loads(str(n * types.PRICE))\n",
        ),
        ("tests/__init__.py", ""),
        (
            "tests/test_cart.py",
            "from shop.cart import total\nfrom .rules import DUE\n\n\ndef test_total():\n    assert total(2) == DUE\n",
        ),
        ("tests/rules.py", "DUE = 4\n"),
    ];
    let steps = ["printf 'PRICE = 2\\n' > src/shop/types.py"];
    Attempt { files: &files, steps: &steps, check: "PYTHONPATH=src python3 -B -m pytest" }.proves();
}

fn an_early_exit_at_import() {
    let exit = ["printf 'import os\\nos._exit(0)\\n' > calc.py"];
    let went = unittest(&exit).fails("before they were through");
    assert_eq!(went.after.exit_code, Some(0), "an exit code alone would have been green");
    assert_eq!(went.flags, ["calc.py ends the process: os._exit"]);
    if has_pytest() {
        pytest(&exit).fails("before they were through");
    }
}

fn an_early_exit_in_a_call() {
    let exit = ["printf 'import os\\ndef add(a, b):\\n    os._exit(0)\\n' > calc.py"];
    unittest(&exit).fails("before they were through");
    if has_pytest() {
        pytest(&exit).fails("before they were through");
    }
}

fn an_exit_from_another_thread() {
    let text = "import os, threading, time\\nthreading.Thread(target=lambda: os._exit(0)).start()\\ntime.sleep(30)\\n";
    unittest(&[&format!("printf '{text}' > calc.py")]).fails("before they were through");
}

fn a_polite_exit() {
    let exit = ["printf 'import sys\\nsys.exit(0)\\n' > calc.py"];
    unittest(&exit).fails("");
    if has_pytest() {
        pytest(&exit).fails("");
    }
}

fn an_exit_code_changed_at_the_end() {
    let text = "import atexit, os\\natexit.register(os._exit, 0)\\ndef add(a, b):\\n    return a - b\\n";
    let step = format!("printf '{text}' > calc.py");
    let went = unittest(&[&step]).fails("the runner reported another");
    assert_eq!(went.after.exit_code, Some(0));
    if has_pytest() {
        pytest(&[&step]).fails("the runner reported another");
    }
}

fn a_module_in_the_place_of_pytest() {
    if !has_pytest() {
        return;
    }
    let went = pytest(&["printf 'import sys\\nprint(\"2 passed\")\\nsys.exit(0)\\n' > pytest.py"]).fails("1 failed");
    assert_eq!(went.unseen, ["pytest.py"]);
    // It would not have helped an open check either: the runner is found without the project.
    let went = pytest(&["printf 'import sys\\nsys.exit(0)\\n' > pytest.py"]).make_open();
    assert!(!went.after.passed, "{:?}", went.after);
}

fn a_package_in_the_place_of_unittest() {
    let step = "mkdir unittest; printf 'import sys\\nsys.exit(0)\\n' > unittest/__main__.py; cp unittest/__main__.py unittest/__init__.py";
    unittest(&[step]).fails("1 failed");
    let went = unittest(&[step]).make_open();
    assert!(!went.after.passed, "{:?}", went.after);
}

fn a_standard_module_replaced() {
    let went = unittest(&["printf 'import os\\nos._exit(0)\\n' > traceback.py; cp traceback.py argparse.py"])
        .fails("1 failed");
    assert_eq!(went.unseen, ["argparse.py", "traceback.py"]);
}

fn a_conftest_that_skips() {
    if !has_pytest() {
        return;
    }
    let hook = "import pytest\\ndef pytest_collection_modifyitems(items):\\n    for i in items: i.add_marker(pytest.mark.skip)\\n";
    let went = pytest(&[&format!("printf '{hook}' > conftest.py; cp conftest.py tests/")]).fails("1 failed");
    assert_eq!(went.unseen, ["conftest.py", "tests/conftest.py"]);
    assert!(
        went.after.reason.contains("as they were before the work, not as changed: conftest.py"),
        "{:?}",
        went.after
    );
    assert!(went.flags.contains(&"conftest.py is test configuration".to_owned()), "{:?}", went.flags);
}

fn a_conftest_that_exits() {
    if !has_pytest() {
        return;
    }
    let hook = "import os\\ndef pytest_sessionfinish(session):\\n    os._exit(0)\\n";
    pytest(&[&format!("printf '{hook}' > conftest.py")]).fails("1 failed");
}

fn edited_tests() {
    unittest(&["sed -i s/assertEqual/assertNotEqual/ tests/test_calc.py"]).fails("1 failed");
    if has_pytest() {
        pytest(&["sed -i 's/assert .*/assert True/' tests/test_calc.py"]).fails("1 failed");
    }
}

fn deleted_tests() {
    let went = unittest(&["rm tests/test_calc.py; printf 'import unittest\\nclass T(unittest.TestCase):\\n    def test_t(self): pass\\n' > tests/test_new.py"]).fails("1 failed");
    assert_eq!(went.unseen, ["tests/test_calc.py", "tests/test_new.py"]);
}

fn renamed_tests() {
    unittest(&["mv tests/test_calc.py tests/calc_tests.txt"]).fails("1 failed");
    if has_pytest() {
        pytest(&["mv tests/test_calc.py tests/old.py"]).fails("1 failed");
    }
}

fn tests_behind_a_link() {
    let attempt = Attempt {
        files: &[("calc.py", CALC), ("qa/suite/test_calc.py", UNITTEST[1].1)],
        steps: &["sed -i s/assertEqual/assertNotEqual/ qa/suite/test_calc.py", "echo x > qa/suite/other.py"],
        check: RUN_UNITTEST,
    };
    let world = attempt.world();
    std::os::unix::fs::symlink("qa/suite", world.project.join("tests")).unwrap();
    let went = attempt.make_in(&world, Expectation::ExitCode(0), true).unwrap();
    assert!(!went.after.passed, "{:?}", went.after);
    assert_eq!(went.unseen, ["qa/suite/other.py", "qa/suite/test_calc.py"]);
}

/// What is tested says which tests there are. Each part that is taken back makes room for the next one.
fn new_tests_behind_each_that_is_taken_back() {
    let files = [
        ("calc.py", "def add(a, b):\n    return a - b\n\n\ndef parts():\n    return []\n"),
        (
            "tests/test_calc.py",
            "import unittest\nimport calc\n\n\nclass Adds(unittest.TestCase):\n    def test_add(self):\n        \
             self.assertEqual(calc.add(1, 2), 3)\n\n\ndef load_tests(loader, standard, pattern):\n    \
             for part in calc.parts():\n        standard.addTests(loader.loadTestsFromModule(part))\n    \
             return standard\n",
        ),
    ];
    let product = "cat > calc.py <<'E'\nimport importlib, importlib.util\n\n\ndef add(a, b):\n    return a + b\n\n\n\
                   def parts():\n    there = [n for n in ('part_%d' % n for n in range(9)) if importlib.util.find_spec(n)]\n    \
                   return [importlib.import_module(n) for n in there[:1]]\nE\n";
    let parts = |n: u32| {
        let case = "import unittest\n\n\nclass Part(unittest.TestCase):\n    def test_part(self):\n        pass\n";
        let one = |n| format!("cat > part_{n}.py <<'E'\n{case}E\n");
        product.to_owned() + &(0..n).map(one).collect::<String>()
    };
    let went = |n: u32| Attempt { files: &files, steps: &[&parts(n)], check: RUN_UNITTEST }.make();
    let few = went(3).proved().after.basis.unwrap();
    assert_eq!(few.as_approved, ["part_0.py", "part_1.py", "part_2.py"]);
    let many = went(8);
    assert!(!many.before.passed && many.after.passed, "{:?}\n{:?}", many.before, many.after);
    assert_eq!(many.applied, Err(Error::NotVerified), "{:?}", many.after);
    let basis = many.after.basis.unwrap();
    assert_eq!((basis.by, basis.changed), (CountedBy::ExitCode, vec!["part_4.py".to_owned()]));
    assert!(basis.why_not.unwrap().contains("taken back"));
}

fn a_link_in_the_place_of_tests() {
    let attempt = unittest(&["mkdir fake; printf '' > fake/__init__.py; rm -r tests; ln -s fake tests"]);
    let went = attempt.make_in(&attempt.world(), Expectation::ExitCode(0), true);
    assert!(matches!(went, Err(Error::Unsupported { .. })), "a file cannot take the place of a directory");
}

/// What is gone is called that, as on the card.
fn a_case_that_is_only_listed_is_gone() {
    let files = [
        ("calc.py", CALC),
        ("cases/2_3_5", "x\n"),
        ("cases/2_0_2", "x\n"),
        (
            "tests/test_calc.py",
            "import os\nimport unittest\nfrom calc import add\n\n\nclass Adds(unittest.TestCase):\n    def test_add(self):\n        \
             for name in os.listdir('cases'):\n            a, b, due = map(int, name.split('_'))\n            \
             self.assertEqual(add(a, b), due)\n",
        ),
    ];
    let cheat = Attempt { files: &files, steps: &["rm cases/2_3_5"], check: RUN_UNITTEST };
    let why = cheat.is_not_proved(&["cases/2_3_5"]).after.basis.and_then(|basis| basis.why_not);
    let said = "It is green only with what the work did to cases/2_3_5 (gone), which nothing opens";
    assert_eq!(why.as_deref(), Some(said));
}

fn configuration_that_only_collects() {
    if !has_pytest() {
        return;
    }
    for step in [
        "printf '[pytest]\\naddopts = --collect-only\\n' > pytest.ini",
        "printf '[tool:pytest]\\naddopts = --collect-only\\n' > setup.cfg",
        "printf '[pytest]\\naddopts = --collect-only\\n' > tox.ini",
        "printf '[tool.pytest.ini_options]\\naddopts = \"--collect-only\"\\n' > pyproject.toml",
    ] {
        pytest(&[step]).fails("1 failed");
        let went = pytest(&[step]).make_open();
        assert_eq!((went.after.passed, went.after.exit_code), (false, Some(0)), "open, and still no test ran: {step}");
        assert_eq!(went.after.reason, "No test ran");
    }
}

fn a_suite_without_tests() {
    let files = [("calc.py", CALC), ("tests/readme.txt", "soon\n")];
    let went = Attempt { files: &files, steps: &[FIX], check: RUN_UNITTEST }.make();
    assert!(!went.before.passed && !went.after.passed, "{:?}", went.after);
    assert_eq!(went.applied, Err(Error::NotVerified));
}

fn sitecustomize_and_path_files() {
    let exit = "printf 'import os\\nos._exit(0)\\n' > sitecustomize.py; cp sitecustomize.py usercustomize.py; echo 'import os; os._exit(0)' > evil.pth";
    let went = unittest(&[exit]).fails("1 failed");
    assert_eq!(went.unseen, ["evil.pth", "sitecustomize.py", "usercustomize.py"]);
    // With the project on the path from the start they would have been loaded; for us it comes later.
    Attempt { check: "PYTHONPATH=. python3 -m unittest discover -s tests", ..unittest(&[exit]) }.fails("1 failed");
}

fn a_plugin_by_entry_point() {
    if !has_pytest() {
        return;
    }
    let step = "mkdir evil.egg-info; printf 'Metadata-Version: 2.1\\nName: evil\\nVersion: 1\\n' > evil.egg-info/PKG-INFO; \
         printf '[pytest11]\\nevil = evil\\n' > evil.egg-info/entry_points.txt; \
         printf 'import os\\ndef pytest_sessionfinish(session):\\n    os._exit(0)\\n' > evil.py";
    pytest(&[step]).fails("1 failed");
}

fn a_planted_bytecode_file() {
    let step = "printf 'import unittest\\nclass Adds(unittest.TestCase):\\n    def test_add(self): pass\\n' > /tmp/fake.py && \
         python3 -c \"import py_compile, sys; py_compile.compile('/tmp/fake.py', \
         cfile='tests/__pycache__/test_calc.' + sys.implementation.cache_tag + '.pyc', doraise=True, \
         invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)\"";
    unittest(&[step]).fails("1 failed");
    let went = unittest(&[step]).make_open();
    assert!(went.after.passed, "it is a real cheat where checks are open: {:?}", went.after);
}

fn a_python_in_the_project() {
    let step = "printf '#!/bin/sh\\nexit 0\\n' > python3; chmod 755 python3";
    unittest(&[step]).fails("1 failed");
    let check = "PATH=.:$PATH python3 -m unittest discover -s tests";
    let went = Attempt { check, ..unittest(&[step]) }.fails("Exit code 1");
    assert_eq!((went.unseen.as_slice(), went.after.tests), (["python3".to_owned()].as_slice(), None));
}

fn tests_skipped_by_what_they_test() {
    let test = "import unittest\nimport calc\n\n\nclass Adds(unittest.TestCase):\n    @unittest.skipIf(getattr(calc, 'OLD', False), 'old')\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n    def test_other(self):\n        pass\n";
    let files = [("calc.py", CALC), ("tests/test_calc.py", test)];
    let went = Attempt { files: &files, steps: &["echo 'OLD = True' >> calc.py"], check: RUN_UNITTEST }
        .fails("Tests that ran before did not run again: test_calc.Adds.test_add");
    assert_eq!(went.after.exit_code, Some(0));
}

fn cases_emptied_by_what_they_test() {
    if !has_pytest() {
        return;
    }
    let test = "import pytest\nimport calc\n\n\n@pytest.mark.parametrize('n', calc.CASES)\ndef test_add(n):\n    assert calc.add(n, 1) == n + 1\n\n\ndef test_other():\n    pass\n";
    let calc = "CASES = [1, 2]\ndef add(a, b):\n    return a - b\n";
    let files = [("calc.py", calc), ("tests/test_calc.py", test)];
    Attempt { files: &files, steps: &["sed -i 's/1, 2//' calc.py"], check: RUN_PYTEST }.fails("did not run again");
}

fn a_forged_report() {
    let forge = "import json, os\\n\
         open(\"/silas/report/report.json\", \"w\").write(json.dumps({\"key\": \"0\" * 64, \"exit\": 0, \"tests\": [[\"a\", \"passed\"]]}))\\n\
         os._exit(0)\\n";
    unittest(&[&format!("printf '{forge}' > calc.py")]).fails("not written by the runner");
    // The program that counts cannot be replaced, and its key is gone.
    let pry = "import os\\ntry:\\n    open(\"/silas/tools/unittest.py\", \"w\")\\nexcept OSError:\\n    pass\\n\
         print(os.listdir(\"/silas/report\"), [v for v in os.environ])\\nos._exit(0)\\n";
    let went = unittest(&[&format!("printf '{pry}' > calc.py; true")]).fails("before they were through");
    assert!(!went.after.output.contains("key"), "{}", went.after.output);
}

/// The first test loads the code, the code rewrites the second, and puts it back at the end.
fn tests_rewritten_while_they_run() {
    let idle =
        "import calc\nimport unittest\n\n\nclass First(unittest.TestCase):\n    def test_first(self):\n        pass\n";
    let files = [UNITTEST[0], UNITTEST[1], ("tests/test_a.py", idle)];
    let rewrite = "import atexit, os\\nfile = \"tests/test_calc.py\"\\nold, times = open(file).read(), os.stat(file)\\n\
         open(file, \"w\").write(old.replace(\"assertEqual\", \"assertNotEqual\"))\\n\
         def back():\\n    open(file, \"w\").write(old)\\n    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))\\n\
         atexit.register(back)\\ndef add(a, b):\\n    return a - b\\n";
    let step = format!("printf '{rewrite}' > calc.py");
    let went = Attempt { files: &files, steps: &[&step], check: RUN_UNITTEST }
        .fails("touched what judges: tests/test_calc.py");
    assert_eq!(went.after.tests.map(|tests| tests.passed), Some(2), "it would have worked");
}

fn what_could_not_be_loaded_may_be_repaired() {
    let files = [("calc.py", "def add(a, b)\n"), UNITTEST[1]];
    Attempt { files: &files, steps: &[FIX], check: RUN_UNITTEST }.proves();
    if has_pytest() {
        Attempt { files: &[("calc.py", "def add(a, b)\n"), PYTEST[1]], steps: &[FIX], check: RUN_PYTEST }.proves();
    }
}

fn ignored_by_git_is_not_invisible() {
    let step = "echo 'tests/' > .gitignore; sed -i s/assertEqual/assertNotEqual/ tests/test_calc.py";
    unittest(&[step]).fails("1 failed");
}

fn a_background_process_that_waits() {
    let step = "(while true; do printf 'def add(a, b):\\n    return 3 if a else 0\\n' > calc.py.new; sleep 1; mv calc.py.new calc.py; done) \
         > /dev/null 2>&1 & echo started";
    let went = unittest(&[step]).make();
    assert!(!went.after.passed && went.applied == Err(Error::NotVerified), "it ends with its step: {:?}", went.after);
}

/// The work is right, but it also breaks the tests: green with the approved ones is not what would be put in place.
fn a_good_change_with_a_cheat_beside_it() {
    let went =
        unittest(&[FIX, "echo 'raise SystemExit(1)' >> tests/test_calc.py"]).fails("as they would be put in place");
    assert!(went.after.reason.contains("tests/test_calc.py"), "{:?}", went.after);
    let went = unittest(&[FIX, "printf '\\n# why\\n' >> tests/test_calc.py"]).proves();
    assert_eq!(went.unseen, ["tests/test_calc.py"], "what the checks did not see is said");
}

fn an_open_check_says_so() {
    let went = unittest(&["sed -i s/assertEqual/assertNotEqual/ tests/test_calc.py"]).make_open();
    assert!(went.after.passed && !went.after.protected, "{:?}", went.after);
    assert_eq!(went.after.basis.as_ref().unwrap().changed, ["tests/test_calc.py"]);
    assert_eq!(went.applied, Err(Error::NotVerified), "the plan said so, and it is the owner who applies it");
    unittest(&[FIX]).make_open().proved();
    assert!(went.unseen.is_empty());
}

/// Code under test that replaces parts of its runner, from inside the runner's own process, is believed. The badge, the
/// proof and SECURITY.md say so; the change is flagged.
fn open_class_forging_inside_the_process() {
    let step = "printf 'import unittest.case\\nunittest.case.TestCase.run = lambda self, result: (result.startTest(self), result.addSuccess(self), result.stopTest(self))\\n\
         def add(a, b):\\n    return a - b\\n' > calc.py";
    let went = unittest(&[step]).make();
    assert!(went.after.passed, "if this has become red, say so in SECURITY.md: {:?}", went.after);
    assert_eq!(went.flags, ["calc.py reaches into unittest"]);
}
