"""`scopes conv cat`: output and exit codes."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.log import log
from scopes.importers.import_sources import import_sources
from tests.cli.running import PRODUCT, scopes
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.support.store import make_store


@pytest.fixture
def source(tmp_path):
    """A session of two messages."""
    return write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))


@pytest.fixture
def cat(tmp_path, source):
    """Run the command on the first message of the imported session."""
    repository = make_store(tmp_path / "store.git")
    import_sources(repository, [source], (DemoFormat(),))
    first = next(iter(log(repository, "conv-001", oldest_first=True).items)).head.id

    def run(*words):
        return scopes("--store", str(tmp_path / "store.git"), "conv", "cat", first, *words, table=PRODUCT)

    return run


def test_original_prints_a_part_of_the_source(cat, tmp_path):
    done = cat("--original")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert done.stdout in (tmp_path / "a.jsonl").read_text()


def test_raw_prints_the_stored_json(cat):
    assert json.loads(cat("--raw").stdout)["v"] == 1
    done = cat("--raw", "--original")
    assert done.returncode == 2
    assert "leave out one of them" in done.stderr
