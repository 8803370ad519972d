"""The sealed world: no home, no configuration, no clock and no chance from outside reaches a test."""

from __future__ import annotations

import faulthandler
import gc
import itertools
import os
import re
import signal
import sys
import tempfile
import time
from hashlib import sha256

import pygit2
import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from _pytest.runner import runtestprotocol
from hypothesis import settings
from pygit2.enums import ConfigLevel

from scopes import clock
from tests.support.cases import is_ordinary, is_sampled, limit_cases
from tests.support.examples import examples, is_thorough
from tests.support.snapshot import remove_tree
from tests.support.store import make_store

MEMORY_DISK = "/dev/shm"
LEAST_FREE_BYTES = 2 << 30
START_NANOSECONDS = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z
STUCK_SECONDS = 100  # until the stacks are printed; at 120 seconds the test fails
WATCH_SECONDS = 20  # for which the watch over one test is enough for those that follow
FAILED = pytest.StashKey[bool]()
WATCHED_UNTIL = pytest.StashKey[float]()
_DIRECTORY_NUMBERS = itertools.count()


# How long an example takes depends on the machine. A thorough run draws new examples; an ordinary one, which accepts or
# refuses a change, has the same ones every time, so that what it says depends on the change alone.
settings.register_profile("suite", deadline=None, max_examples=examples(), derandomize=not is_thorough())
settings.load_profile("suite")


def pytest_configure(config):
    """Handle SIGINT, SIGQUIT and SIGHUP even if the parent ignored them.

    A background job or a service starts the suite with them ignored. Child processes would inherit that, and a command
    that ignores SIGINT never ends at Ctrl-C.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # Without byte code every one of the hundreds of child processes compiles the program.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    gc.disable()  # thousands of tests are collected, and none of them is garbage
    if "PYTEST_DEBUG_TEMPROOT" not in os.environ and "TMPDIR" not in os.environ and _is_usable(MEMORY_DISK):
        os.environ["PYTEST_DEBUG_TEMPROOT"] = MEMORY_DISK


def _is_usable(directory):
    """Return True if temporary directories may lie there: six thousand stores on a disk take longer than their tests."""
    if not os.access(directory, os.W_OK | os.X_OK):
        return False
    system = os.statvfs(directory)
    return system.f_bavail * system.f_frsize >= LEAST_FREE_BYTES and not system.f_flag & os.ST_NOEXEC


def pytest_addoption(parser):
    parser.addoption("--part", default="1/1", help="run the K-th of N parts of the suite, chosen by test name: K/N")
    parser.addoption("--files", default="1/1", help="collect the K-th of N parts of the files, chosen by name: K/N")


def pytest_ignore_collect(collection_path, config):
    """Leave out the files of other parts before they are read: to collect a file takes longer than most of its tests."""
    if collection_path.name.startswith("test_") and not _is_in_part(collection_path.name, config.getoption("--files")):
        return True
    return None


def _is_in_part(name, part_of_parts):
    """Return True if a name belongs to this part; every name belongs to exactly one of the parts."""
    part, parts = map(int, part_of_parts.split("/"))
    return int(sha256(name.encode()).hexdigest(), 16) % parts == part - 1


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, name, obj):
    """Make no items of sweeps and of most slow tests in an ordinary run: they would be made to be deselected."""
    if not is_ordinary(collector.config) or not collector.istestfunction(obj, name):
        return None
    marks = {mark.name for mark in getattr(obj, "pytestmark", ())}
    is_left_out = "sweep" in marks or ("slow" in marks and not is_sampled(f"{collector.nodeid}::{name}"))
    return [] if is_left_out else None


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc):
    """Make items of some cases in an ordinary run, when all other hooks have given the cases."""
    if is_ordinary(metafunc.config):
        limit_cases(metafunc)


def pytest_collection_modifyitems(config, items):
    """Keep one part of the tests, whatever the order of collection."""
    if config.getoption("--part") == "1/1":
        return
    kept, left_out = [], []
    for item in items:
        (kept if _is_in_part(item.nodeid, config.getoption("--part")) else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_collection_finish(session):
    """Take the collected tests out of later garbage collections."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000)  # as the program does


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Watch over a test; in a worker, report its call, and of the rest only what failed.

    To send five messages about each test to the process that prints a dot takes as long as all that pytest does else.
    """
    watch(item)
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def watch(item):
    """Have the stacks printed if this test is stuck, even in a library that lets no Python code run.

    pytest's own `faulthandler_timeout` starts and ends a thread for each test: a third of the time of a short one.
    """
    now, stash = time.monotonic(), item.config.stash
    if now >= stash.get(WATCHED_UNTIL, 0):
        stash[WATCHED_UNTIL] = now + WATCH_SECONDS
        faulthandler.dump_traceback_later(STUCK_SECONDS, file=stash[fault_handler_stderr_fd_key])


def pytest_sessionfinish():
    """End the watch over the last test."""
    faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Remember that a phase of the test failed, for `tmp_path`."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture
def tmp_path(request, tmp_path_factory):
    """Create a directory, and remove it unless the test fails.

    pytest's own fixture lists all directories that earlier tests left, to number the next one: that is quadratic.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = tmp_path_factory.getbasetemp() / f"{name}{next(_DIRECTORY_NUMBERS)}"
    path.mkdir(mode=0o700)
    yield path
    if not request.node.stash.get(FAILED, False):
        remove_tree(str(path))


@pytest.fixture(scope="session", autouse=True)
def temporary_directory(tmp_path_factory):
    """Keep the temporary files of commands in pytest's own directory, which is deleted if a command is killed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.getbasetemp()))
        patch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_configuration_of_git():
    """Keep the name and the settings of whoever runs the tests from libgit2, which does not ask for HOME again."""
    for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""


@pytest.fixture(autouse=True)
def sealed_world(monkeypatch, tmp_path_factory):
    """Give every test an empty home, a fixed clock (one second a reading), counted ids and a working Ctrl-C."""
    interrupt = signal.getsignal(signal.SIGINT)  # a command that fails ignores it until its process ends
    home = tmp_path_factory.getbasetemp() / f"home{next(_DIRECTORY_NUMBERS)}"
    home.mkdir(mode=0o700)
    for name in list(os.environ):
        if name.startswith(("GIT_", "XDG_", "SCOPES_", "LC_")) or name in {
            "PAGER",
            "NO_COLOR",
            "FORCE_COLOR",
            "CLICOLOR",
        }:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("SCOPES_STORE", str(home / "store.git"))
    seconds = itertools.count(START_NANOSECONDS, 1_000_000_000)
    numbers = itertools.count(1)
    monkeypatch.setattr(clock, "read_clock", lambda: next(seconds))
    monkeypatch.setattr(clock, "random_bytes", lambda size: (next(numbers) % (1 << 8 * size)).to_bytes(size, "big"))
    yield home
    signal.signal(signal.SIGINT, interrupt)
    remove_tree(str(home))


@pytest.fixture
def user_configuration(sealed_world):
    """Point libgit2 at the sealed home; it caches the home directory of the process that loaded it."""
    levels = (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL)
    before = {level: pygit2.settings.search_path[level] for level in levels}
    for level in levels:
        pygit2.settings.search_path[level] = str(sealed_world) if level == ConfigLevel.GLOBAL else ""
    yield
    for level, paths in before.items():
        pygit2.settings.search_path[level] = paths
    pygit2.settings.enable_fsync_gitdir(False)


@pytest.fixture
def repository(tmp_path):
    """Create an empty store that does not wait for the disk."""
    return make_store(tmp_path / "store.git")


@pytest.fixture
def golden(request):
    """Return a function that compares a text with a file below the nearest `golden` directory.

    If UPDATE_GOLDEN is set, it writes the file.
    """
    folder = next(parent / "golden" for parent in request.path.parents if (parent / "golden").is_dir())

    def compare(name, text):
        path = folder / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text)
        assert text == path.read_text(), f"to accept it: UPDATE_GOLDEN=1 pytest {request.path}"

    return compare
