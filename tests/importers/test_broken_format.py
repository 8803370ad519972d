"""A format that breaks the rules of its interface: its source is skipped and named, and other sources are imported."""

from __future__ import annotations

import pytest

from scopes.errors import CannotImport
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, count_objects, import_demo, skipped_paths

REPEATED = [*session_records("bad", "a b"), {"id": "a", "parent": "b", "by": "user", "say": "again"}]
UNKNOWN = session_records("bad", "a b<nobody")


@pytest.mark.parametrize(
    ("records", "problem"),
    [(REPEATED, "two messages have the key 'a'"), (UNKNOWN, "message 'b' has the unknown parent 'nobody'")],
)
def test_a_source_with_impossible_keys_is_skipped_and_others_are_imported(repository, tmp_path, records, problem):
    bad = write_transcript(tmp_path / "bad.jsonl", *records)
    sources = [write_transcript(tmp_path / "good.jsonl", *session_records("s1", "a b")), bad]
    progress = []
    done = import_demo(repository, *sources, on_progress=progress.append)
    assert branch_words(repository) == "a b"
    assert (skipped_paths(done), done.skipped[0].reason) == ([bad.path], problem)
    assert [note.text for note in done.notes] == [f"{bad.path}: {problem}"]
    assert [source.path for source in done.sources] == [sources[0].path]
    assert sum(progress) == sum(source.size for source in sources)


def test_messages_of_a_broken_source_are_not_stored(repository, tmp_path):
    good = write_transcript(tmp_path / "good.jsonl", *session_records("bad", "a b"))
    import_demo(repository, good)
    before = count_objects(repository)
    with pytest.raises(CannotImport, match=r"bad\.jsonl: two messages have the key 'a'"):
        import_demo(repository, write_transcript(tmp_path / "bad.jsonl", *REPEATED))
    assert (count_objects(repository), branch_words(repository)) == (before, "a b")


def test_a_strict_import_refuses_a_broken_source(repository, tmp_path):
    good = write_transcript(tmp_path / "good.jsonl", *session_records("s1", "a b"))
    bad = write_transcript(tmp_path / "bad.jsonl", *REPEATED)
    with pytest.raises(CannotImport, match="two messages have the key"):
        import_demo(repository, good, bad, strict=True)
    assert count_objects(repository) == 0


def test_a_dry_run_skips_a_broken_source(repository, tmp_path):
    good = write_transcript(tmp_path / "good.jsonl", *session_records("s1", "a b"))
    bad = write_transcript(tmp_path / "bad.jsonl", *REPEATED)
    done = import_demo(repository, good, bad, dry_run=True)
    assert (skipped_paths(done), done.conversations[0].messages) == ([bad.path], 2)
