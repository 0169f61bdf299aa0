"""Runs unittest from outside the project and writes down which tests ran. See pytest.py beside it for how and why."""

import json
import os
import sys
import unittest
import unittest.async_case
import unittest.mock

PLACE = "/silas/report"


def take_key():
    path = os.path.join(PLACE, "key")
    with open(path) as file:
        key = file.read()
    os.unlink(path)
    return key


def reporter():
    dumps, join, key = json.dumps, os.path.join, take_key()

    def write(**report):
        with open(join(PLACE, "report.json"), "x") as file:
            file.write(dumps({"key": key, **report}))

    return write


def lies_in(roots, module):
    file = os.path.realpath(getattr(module, "__file__", None) or "")
    return any(file.startswith(os.path.realpath(root) + os.sep) for root in roots.split("\n"))


class Result(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = {}

    def note(self, test, verdict):
        rank = {"skipped": 0, "passed": 1, "failed": 2}
        name = test.id()
        # What stands for a module or class that could not be loaded is no test, and gone when it can be.
        if not isinstance(test, unittest.TestCase) or name.startswith("unittest.loader."):
            name = "!" + name
        known = self.seen.get(name)
        if known is None or rank[verdict] > rank[known]:
            self.seen[name] = verdict

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "passed")

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "failed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.note(test, "passed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "failed")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(test, "failed")


class Runner(unittest.TextTestRunner):
    resultclass = Result


def main():
    roots, _importable, *args = sys.argv[1:]
    write = reporter()
    leave = sys.exit
    if lies_in(roots, unittest):
        write(problem="unittest lies in the directory that is being changed, so its word is worth nothing")
        leave(1)
    sys.path[0:0] = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    sys.path.insert(0, os.getcwd())
    sys.argv = ["python -m unittest", *args]
    program = unittest.main(module=None, argv=sys.argv, testRunner=Runner, exit=False)
    code = 0 if program.result.wasSuccessful() else 1
    write(exit=code, tests=list(program.result.seen.items()))
    leave(code)


if __name__ == "__main__":
    main()
