"""The sealed world: no home, no configuration, no clock and no chance from outside reaches a test."""

from __future__ import annotations

import itertools
import os

import pytest

from scopes import clock

START_NANOSECONDS = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z


@pytest.fixture(autouse=True)
def sealed_world(monkeypatch, tmp_path_factory):
    """Give every test an empty home, a fixed clock (one second a reading) and counted ids."""
    home = tmp_path_factory.mktemp("home")
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
    monkeypatch.setattr(clock, "random_bytes", lambda size: next(numbers).to_bytes(size, "big"))
    return home
