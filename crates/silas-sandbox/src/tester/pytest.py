"""Runs pytest from outside the project and writes down which tests ran.

Started isolated (`python3 -I`), so that nothing in the project can be imported in pytest's place; only then is the project
made importable, as `python -m pytest` would. The key is read and removed before any code of the project runs: a report
without it was written by somebody else. Code under test shares this process all the same, and could forge from within.
"""

import json
import os
import sys

PLACE = "/silas/report"


def take_key():
    path = os.path.join(PLACE, "key")
    with open(path) as file:
        key = file.read()
    os.unlink(path)
    return key


def reporter():
    # Kept in this frame: what the project replaces later is not what is called here.
    dumps, join, key = json.dumps, os.path.join, take_key()

    def write(**report):
        with open(join(PLACE, "report.json"), "x") as file:
            file.write(dumps({"key": key, **report}))

    return write


def lies_in(roots, module):
    file = os.path.realpath(getattr(module, "__file__", None) or "")
    return any(file.startswith(os.path.realpath(root) + os.sep) for root in roots.split("\n"))


class Log:
    """A plugin that notes how each test ended: the worst of its set-up, call and tear-down."""

    def __init__(self):
        self.seen = {}

    def note(self, name, verdict):
        rank = {"skipped": 0, "passed": 1, "failed": 2}
        known = self.seen.get(name)
        # Skipped in the call counts although the set-up passed; nothing is noted for a set-up that passed.
        if known is None or rank[verdict] > rank[known]:
            self.seen[name] = verdict

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.note(report.nodeid, "failed")
        elif report.skipped:
            self.note(report.nodeid, "skipped")
        elif report.when == "call":
            self.note(report.nodeid, "passed")


def main():
    roots, importable, *args = sys.argv[1:]
    write = reporter()
    leave = sys.exit
    try:
        import pytest
    except ImportError:
        write(problem="pytest is not installed for this python")
        print("pytest is not installed for " + sys.executable, file=sys.stderr)
        leave(127)
    if lies_in(roots, pytest):
        write(problem="pytest lies in the directory that is being changed, so its word is worth nothing")
        leave(1)
    sys.path[0:0] = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    if importable == "cwd":
        sys.path.insert(0, os.getcwd())
    sys.argv = ["pytest", *args]
    log = Log()
    code = int(pytest.main(args, plugins=[log]))
    write(exit=code, tests=list(log.seen.items()))
    leave(code)


if __name__ == "__main__":
    main()
