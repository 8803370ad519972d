"""Fixtures of the fault tests; tests that this machine cannot run are skipped, or fail if they are required."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

from tests.faults.injection import compile_shim

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
