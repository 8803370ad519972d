"""`scopes stats`: output and exit codes."""

from __future__ import annotations

import json

import pytest

from scopes.importers.import_sample import import_sample
from scopes.importers.import_sources import import_sources
from tests.cli.running import PRODUCT, scopes
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.support.store import make_store


@pytest.fixture
def store(tmp_path):
    """A store with the sample and an imported session of two messages."""
    repository = make_store(tmp_path / "store.git")
    import_sample(repository)
    import_sources(repository, [write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))], (DemoFormat(),))
    return str(tmp_path / "store.git")


def stats(store, *words):
    """Run the command on a store; returns the document."""
    done = scopes("--store", store, "conv", "stats", *words, "--json", table=PRODUCT)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_conversation_is_counted(store):
    seen = stats(store, "conv-002")
    assert (seen["conversation"], seen["messages"], "conversations" in seen, "tokens" in seen) == (
        "conv-002",
        2,
        False,
        False,
    )
