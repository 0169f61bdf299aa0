"""Runs pytest from outside the project and writes down which tests ran.

Started isolated (`python3 -I`), so that nothing in the project can be imported in pytest's place; only then is the project
made importable, as `python -m pytest` would. The key is read and removed before any code of the project runs: a report
without it was written by somebody else. Code under test shares this process all the same, and could forge from within.
"""

import importlib
import importlib.machinery
import json
import os
import sys

# What a runner may load while it works; loaded now, it cannot come from the project.
PARTS = (
    "argparse ast asyncio atexit bdb codecs collections contextlib copy dataclasses datetime difflib dis doctest enum "
    "faulthandler fnmatch functools getpass glob importlib inspect io itertools keyword linecache locale logging math "
    "operator pathlib pdb pickle platform pprint re runpy shlex shutil signal stat string struct subprocess tempfile "
    "textwrap threading traceback types unittest unittest.mock warnings xml.etree.ElementTree"
)

PLACE = "/silas/report"
FIND = importlib.machinery.PathFinder.find_spec


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


def lies_in(roots, module, environment=""):
    file = os.path.realpath(getattr(module, "__file__", None) or "")
    if environment and file.startswith(os.path.realpath(environment) + os.sep):
        return False
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


class Log:
    """A plugin that notes how each test ended, the worst of its set-up, call and tear-down, and where tests came from."""

    def __init__(self, roots, environment):
        self.seen = {}
        self.files = set()
        self.brought = set()
        self.roots = roots
        self.environment = environment
        self.at = os.getcwd()

    def bring(self, names):
        modules = [sys.modules.get(name) for name in names]
        self.brought.update(
            os.path.realpath(module.__file__)
            for module in modules
            if module is not None and lies_in(self.roots, module, self.environment)
        )

    def pytest_load_initial_conftests(self, early_config, parser, args):
        # Plugins that are named or installed are loaded now, and conftest.py is not yet: that imports what it tests.
        self.bring(list(sys.modules))

    def pytest_sessionstart(self, session):
        self.at = str(session.config.rootdir)
        if session.config.inifile:
            self.files.add(os.path.realpath(str(session.config.inifile)))

    def pytest_collectreport(self, report):
        # One that could not be loaded has no tests, and is among what was collected all the same.
        file = os.path.join(self.at, report.nodeid.split("::")[0])
        if report.failed and os.path.isfile(file):
            self.files.add(os.path.realpath(file))

    def pytest_collection_finish(self, session):
        self.files.update(os.path.realpath(str(item.fspath)) for item in session.items)
        for _name, plugin in session.config.pluginmanager.list_name_plugin():
            if plugin is not None and lies_in(self.roots, plugin, self.environment):
                self.files.add(os.path.realpath(plugin.__file__))
                if os.path.basename(plugin.__file__) != "conftest.py":
                    name = getattr(plugin, "__name__", "")
                    self.bring(name[:at] for at, char in enumerate(name) if char == ".")
        self.brought.update(packages_around(os.path.realpath(str(item.fspath)) for item in session.items))
        self.files.update(packages_of_tests(self.files))

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
    roots, importable, environment, *args = sys.argv[1:]
    write = reporter()
    leave = sys.exit
    try:
        import pytest
    except ImportError:
        write(problem="pytest is not installed for this python")
        print("pytest is not installed for " + sys.executable, file=sys.stderr)
        leave(127)
    for part in PARTS.split():
        importlib.import_module(part)
    if lies_in(roots, pytest, environment):
        write(problem="pytest lies in the directory that is being changed, so its word is worth nothing")
        leave(1)
    sys.path[0:0] = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    if importable == "cwd":
        sys.path.insert(0, os.getcwd())
    sys.argv = ["pytest", *args]
    log = Log(roots, environment)
    loaded = Loaded(roots)
    code = int(pytest.main(args, plugins=[log]))
    # Where tests run in processes of their own, what was loaded there is not known here.
    known = {} if "xdist.workermanage" in sys.modules else loaded.report()
    write(exit=code, tests=list(log.seen.items()), files=sorted(log.files), brought=sorted(log.brought), **known)
    leave(code)


if __name__ == "__main__":
    main()
