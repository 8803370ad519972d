"""The result that an import foretells of the next one is the result of the next one."""

from __future__ import annotations

import pytest

from scopes.importers.import_sources import import_sources
from scopes.importers.repeated_import import read_store_state
from tests.importers.demo_format import DemoFormat, session_records, write_transcript


def foretell(store, sources, formats):
    """Import sources; return the foretold result of the next import, and the state of the refs; None if it is open."""
    found = []
    import_sources(store, sources, formats, remember=lambda *foretold: found.append(foretold))
    assert len(found) <= 1
    return found[0] if found else None


def write(tmp_path, name, words, **session):
    return write_transcript(tmp_path / f"{name}.jsonl", *session_records(name, words, **session))


def copies(tmp_path):
    shorter = write_transcript(tmp_path / "copy.jsonl", *session_records("s1", "a b c")[:-1])
    return [write(tmp_path, "s1", "a b c"), shorter]


CERTAIN = {
    "one session": lambda tmp_path: [write(tmp_path, "s1", "a b c")],
    "two sessions": lambda tmp_path: [write(tmp_path, name, name) for name in ("s1", "s2")],
    "a copy": copies,
    "a fork and its base": lambda tmp_path: [write(tmp_path, "s1", "a b"), write(tmp_path, "s2", "x", base="s1")],
    "a fork before its base": lambda tmp_path: [write(tmp_path, "s2", "x", base="s1"), write(tmp_path, "s1", "a b")],
    "a fork without its base": lambda tmp_path: [write(tmp_path, "s2", "x y", base="s1")],
}


@pytest.mark.parametrize("case", CERTAIN)
def test_the_next_import_has_the_foretold_result(repository, tmp_path, case):
    sources = CERTAIN[case](tmp_path)
    foretold, state = foretell(repository, sources, [DemoFormat()])
    assert state == read_store_state(repository)
    assert import_sources(repository, sources, [DemoFormat()]) == foretold
    assert state == read_store_state(repository)


def test_nothing_is_foretold_of_sessions_that_continue_each_other(repository, tmp_path):
    sources = [write(tmp_path, "s1", "a", base="s2"), write(tmp_path, "s2", "b", base="s1")]
    assert foretell(repository, sources, [DemoFormat()]) is None


def test_nothing_is_foretold_of_a_session_that_has_grown(repository, tmp_path):
    foretell(repository, [write(tmp_path, "s1", "a")], [DemoFormat()])
    assert foretell(repository, [write(tmp_path, "s1", "a b")], [DemoFormat()]) is None


def test_nothing_is_foretold_if_nothing_was_new(repository, tmp_path):
    sources = [write(tmp_path, "s1", "a")]
    foretell(repository, sources, [DemoFormat()])
    assert foretell(repository, sources, [DemoFormat()]) is None
