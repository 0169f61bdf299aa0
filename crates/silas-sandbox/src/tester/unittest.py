"""Runs unittest from outside the project and writes down which tests ran. See pytest.py beside it for how and why."""

import importlib
import importlib.machinery
import json
import os
import re
import sys
import unittest
import unittest.async_case
import unittest.mock

# What a runner may load while it works; loaded now, it cannot come from the project.
PARTS = (
    "argparse ast asyncio codecs collections contextlib copy datetime difflib doctest enum fnmatch functools getpass glob "
    "inspect io linecache locale logging math pathlib pprint re shlex shutil signal stat string struct subprocess tempfile "
    "textwrap threading traceback types warnings"
)

# What a value in the name of a sub-test is called differently each time: an address, or a temporary file.
UNSTABLE = re.compile(r"\b0x[0-9a-f]{6,}|(?<=/tmp)[a-z0-9_]{8}\b")
SubTest = unittest.case._SubTest

PLACE = "/silas/report"
FIND = importlib.machinery.PathFinder.find_spec


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


def provided_elsewhere(name, roots):
    """Whether a module of this name would be found outside the directories: then one of theirs stands in for it."""
    places = [path for path in sys.path if path and not within(roots, path)]
    first, *rest = name.split(".")
    if first in sys.builtin_module_names or first in getattr(sys, "stdlib_module_names", ()):
        return True
    spec = FIND(first, places)
    for at in range(len(rest)):
        if spec is None or spec.submodule_search_locations is None:
            return False
        spec = FIND(".".join([first, *rest[: at + 1]]), list(spec.submodule_search_locations))
    # A directory without `__init__.py` is nothing that anybody would miss.
    return spec is not None and spec.loader is not None


def within(roots, path):
    path = os.path.realpath(path) + os.sep
    return any(path.startswith(os.path.realpath(root) + os.sep) for root in roots.split("\n"))


class Loaded:
    """Which files of the directories were loaded as code: by an import, whether or not it went well, and not by being read."""

    def __init__(self, roots):
        self.roots = roots
        self.paths = set()
        frame_of, note = sys._getframe, self.paths.add

        def hook(event, args):
            if event == "exec":
                file = getattr(args[0], "co_filename", None)
            elif event == "compile":
                file = args[1]
            else:
                return
            by = frame_of(1).f_code.co_filename
            if isinstance(file, str) and (by.startswith("<frozen importlib") or by.endswith("/_pytest/assertion/rewrite.py")):
                note(file)

        sys.addaudithook(hook)

    def report(self):
        modules = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
        modules = [(name, os.path.realpath(file)) for name, file in modules if isinstance(file, str)]
        ours = [(name, file) for name, file in modules if within(self.roots, os.path.dirname(file))]
        imported = {os.path.realpath(path) for path in self.paths if path.endswith(".py")}
        loaded = {file for file in imported if within(self.roots, os.path.dirname(file))} | {file for _, file in ours}
        return {
            "loaded": sorted(loaded),
            "shadows": sorted({file for name, file in ours if name != "__main__" and provided_elsewhere(name, self.roots)}),
        }


def packages_of_tests(files):
    """The `__init__.py` of packages that hold nothing but tests: it runs before them, and is about nothing else."""
    found = set()
    for directory in {os.path.dirname(file) for file in files}:
        init = os.path.join(directory, "__init__.py")
        modules = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".py")]
        others = [file for file in modules if os.path.basename(file) not in ("__init__.py", "conftest.py")]
        if init in modules and others and all(os.path.realpath(file) in files for file in others):
            found.add(init)
    return found


def packages_around(files):
    """The `__init__.py` beside tests, whatever else it is about: it runs before them."""
    beside = {os.path.join(os.path.dirname(file), "__init__.py") for file in files if file.endswith(".py")}
    return {os.path.realpath(file) for file in beside if os.path.isfile(file)}


class Loader(unittest.TestLoader):
    """Notes which files were taken for tests, whether or not they could be loaded, and which say what the tests are."""

    def __init__(self):
        super().__init__()
        self.files = set()

    def loadTestsFromModule(self, module, *args, **kwargs):
        if hasattr(module, "load_tests") and getattr(module, "__file__", None):
            self.files.add(os.path.realpath(module.__file__))
        return super().loadTestsFromModule(module, *args, **kwargs)

    def _match_path(self, path, full_path, pattern):
        is_match = super()._match_path(path, full_path, pattern)
        if is_match:
            self.files.add(os.path.realpath(full_path))
        return is_match


class Result(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = {}
        self.parts = []
        self.modules = set()

    def note(self, test, verdict):
        rank = {"skipped": 0, "passed": 1, "failed": 2}
        if isinstance(test, SubTest):
            # Two of one name are two, unlike a test whose cleanup fails after it.
            self.parts.append((UNSTABLE.sub("…", test.id()), verdict))
            return
        self.modules.add(type(test).__module__)
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
        self.note(subtest, "passed" if err is None else "failed")
        if err is not None:
            self.note(test, "failed")


class Runner(unittest.TextTestRunner):
    resultclass = Result


def main():
    roots, _importable, _environment, *args = sys.argv[1:]
    write = reporter()
    leave = sys.exit
    for part in PARTS.split():
        importlib.import_module(part)
    if lies_in(roots, unittest):
        write(problem="unittest lies in the directory that is being changed, so its word is worth nothing")
        leave(1)
    sys.path[0:0] = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    sys.path.insert(0, os.getcwd())
    sys.argv = ["python -m unittest", *args]
    loader = Loader()
    loaded = Loaded(roots)
    program = unittest.main(module=None, argv=sys.argv, testRunner=Runner, testLoader=loader, exit=False)
    code = 0 if program.result.wasSuccessful() else 1
    modules = [sys.modules.get(name) for name in program.result.modules]
    loader.files.update(os.path.realpath(module.__file__) for module in modules if lies_in(roots, module))
    around = sorted(packages_around(loader.files))
    loader.files.update(packages_of_tests(loader.files))
    tests = list(program.result.seen.items()) + program.result.parts
    write(exit=code, tests=tests, files=sorted(loader.files), brought=around, **loaded.report())
    leave(code)


if __name__ == "__main__":
    main()
