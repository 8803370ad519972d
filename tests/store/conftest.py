"""An empty store for every test; libgit2 reads no configuration except that of the sealed home."""

from __future__ import annotations

import os

import pygit2
import pytest
from pygit2.enums import ConfigLevel

AS_A_MERE_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--")


@pytest.fixture(autouse=True)
def sealed_configuration(sealed_world):
    """Point libgit2 at the sealed home; it caches the home directory of the process that loaded it."""
    levels = (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL)
    before = {level: pygit2.settings.search_path[level] for level in levels}
    for level in levels:
        pygit2.settings.search_path[level] = str(sealed_world) if level == ConfigLevel.GLOBAL else ""
    yield
    for level, paths in before.items():
        pygit2.settings.search_path[level] = paths
    pygit2.settings.enable_fsync_gitdir(False)


def pytest_runtest_setup(item):
    """Skip tests that need root."""
    if item.get_closest_marker("needs_root") and os.geteuid() != 0:
        pytest.skip("needs root")
