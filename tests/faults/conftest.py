"""Fixtures of the fault tests; tests that this machine cannot run are skipped, or fail if they are required."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

from tests.faults.injection import compile_shim
from tests.faults.sandbox import Sandbox
from tests.faults.verbs import build_templates
from tests.support.made_once import made_once

MEMORY = "/dev/shm"  # a file system in memory: the sweeps make ten thousand stores, and the shim sees every call anyway
NEEDS = {
    "needs_gcc": lambda: shutil.which("gcc") is not None,
    "needs_root": lambda: os.geteuid() == 0 and shutil.which("mkfs.ext4") is not None,
}


def pytest_runtest_setup(item):
    """Skip tests that this machine cannot run; SCOPES_TEST_REQUIRES names what it must be able to run."""
    required = os.environ.get("SCOPES_TEST_REQUIRES", "").split()
    for marker, able in NEEDS.items():
        if item.get_closest_marker(marker) and not able():
            assert marker not in required, f"{marker} is required here"
            pytest.skip(marker.replace("_", " "))


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """Compile the fault shim and return its path."""
    return compile_shim(str(tmp_path_factory.mktemp("shim")))


@pytest.fixture(scope="session")
def fast_directory():
    """Make a directory in memory if there is such a file system."""
    directory = tempfile.mkdtemp(prefix="scopes-faults-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def plain_sandbox(fast_directory):
    """Make a sandbox whose commands run unharmed."""
    made = Sandbox(os.path.join(fast_directory, "plain"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def sandbox(fast_directory, shim):
    """Make a sandbox whose commands can be broken."""
    made = Sandbox(os.path.join(fast_directory, "broken"), shim)
    yield made
    made.close()


@pytest.fixture(scope="session")
def templates(request, tmp_path_factory):
    """Make the stores that the commands find, once for all tests of the run: that takes a hundred commands."""

    def make(directory):
        sandbox = request.getfixturevalue("plain_sandbox")
        return build_templates(sandbox, str(directory / "stores"))

    return made_once(request, tmp_path_factory, "fault-templates", make)
