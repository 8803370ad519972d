"""A command that waits for another process that writes the store says so, before it gives up."""

from __future__ import annotations

import os

import pytest

from scopes.store.repository import create_store, open_repository
from scopes.store.transactions import exclusive_write
from tests.cli.running import PRODUCT, scopes


@pytest.mark.parametrize(("words", "lines"), [((), 1), (("--quiet",), 0)])
def test_a_write_that_waits_says_for_whom_and_how_long(sealed_world, words, lines):
    create_store(os.environ["SCOPES_STORE"])
    with exclusive_write(open_repository(os.environ["SCOPES_STORE"])):
        done = scopes(*words, "-c", "scopes.lockTimeout=3", "new", table=PRODUCT)
    assert done.returncode == 6
    notes = [line for line in done.stderr.splitlines() if "; waiting up to 3 s" in line]
    assert len(notes) == lines
    assert all(f"process {os.getpid()} holds it" in line for line in notes)
