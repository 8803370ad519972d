"""An empty store for every test; libgit2 reads no configuration except that of the sealed home."""

from __future__ import annotations

import os

import pytest

AS_A_MERE_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--")


@pytest.fixture(autouse=True)
def sealed_configuration(user_configuration):
    """Let every test of the store read its own user configuration."""


def pytest_runtest_setup(item):
    """Skip tests that need root."""
    if item.get_closest_marker("needs_root") and os.geteuid() != 0:
        pytest.skip("needs root")
