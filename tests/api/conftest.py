"""Fixtures of the tests of the Python API: a store that the command line made, opened by a program."""

from __future__ import annotations

import shutil
import sys
from contextlib import redirect_stdout
from io import StringIO

import pytest

import scopes
from scopes import clock
from tests.cli.conftest import conversation
from tests.render.rendering import document
from tests.support.random_ids import hashed_counter

__all__ = ["conversation"]
NOON = 1_780_315_200_000_000_000  # 2026-06-01T12:00:00Z
FAST = {"scopes.durability": "fast"}


@pytest.fixture
def open_again(conversation):
    """Open the store of the command line's conversation; a program with the same author as the command line."""
    opened = []

    def open_it(**options):
        store = scopes.open_store(conversation.store, settings=FAST, **options)
        opened.append(store)
        return store

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_again):
    return open_again()


@pytest.fixture
def talk(conversation, store):
    """The conversation of the command line, as a program sees it."""
    return store.conversation(conversation.id)


@pytest.fixture
def same(conversation, tmp_path, monkeypatch):
    """Assert that a method returns the document that a command prints, on two copies of one store.

    Both run at the same time of the clock and draw the same ids, so that what they write is equal too.
    """

    def freeze():
        monkeypatch.setattr(clock, "random_bytes", hashed_counter())
        monkeypatch.setattr(clock, "read_clock", lambda: NOON)

    def compare(words, method, *, code=0):
        before = conversation.store
        shutil.copytree(before, tmp_path / "program.git")
        freeze()
        printed = conversation.run("--json", *words, code=code)
        freeze()
        written = StringIO()
        with redirect_stdout(written), scopes.open_store(tmp_path / "program.git", settings=FAST) as store:
            result = method(store.conversation(conversation.id))
        assert (document(result), written.getvalue()) == (printed, "")
        assert result.exit_code == code
        shutil.rmtree(tmp_path / "program.git")
        return result

    return compare


@pytest.fixture(autouse=True)
def program(monkeypatch):
    """Pretend that a program runs, not the command line."""
    monkeypatch.setattr(sys, "argv", ["report.py"])
