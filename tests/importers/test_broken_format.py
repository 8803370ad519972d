"""A format that breaks the rules of its interface: its source is skipped and named, and other sources are imported."""

from __future__ import annotations

import pytest

from scopes.errors import CannotImport, Invalid
from scopes.importers.formats.events import Draft
from scopes.importers.import_sources import ImportOptions, import_sources
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
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


class FailingFormat(DemoFormat):
    """Fails at the message `b` of the session `bad`, as a value that cannot be stored does."""

    def __init__(self, error):
        self.error = error

    def walk_events(self, source):
        for event in super().walk_events(source):
            if source.path.endswith("bad.jsonl") and isinstance(event, Draft) and event.key == "b":
                raise self.error
            yield event


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            Invalid("a value is nested deeper than 200 levels", hint="store it"),
            "a value is nested deeper than 200 levels",
        ),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
    ],
)
@pytest.mark.parametrize("first", ["a", "b"])  # the first message, which opens the source, or one behind it
def test_a_source_with_what_cannot_be_stored_is_skipped_and_others_are_imported(
    repository, tmp_path, error, reason, first
):
    bad = write_transcript(tmp_path / "bad.jsonl", *session_records("bad", "a b" if first == "a" else "b c"))
    good = write_transcript(tmp_path / "good.jsonl", *session_records("s1", "a b"))
    done = import_sources(repository, [bad, good], [FailingFormat(error)])
    assert branch_words(repository) == "a b"
    assert [(found.path, found.reason) for found in done.skipped] == [(bad.path, reason)]
    with pytest.raises(CannotImport, match=rf"bad\.jsonl: {reason}"):
        import_sources(repository, [bad], [FailingFormat(error)])


@pytest.mark.parametrize("error", [Invalid("not storable"), RecursionError()])
def test_the_age_of_a_source_that_cannot_be_read_on_is_that_of_its_first_messages(repository, tmp_path, error):
    bad = write_transcript(tmp_path / "bad.jsonl", *session_records("bad", "a b"))
    good = write_transcript(tmp_path / "good.jsonl", *session_records("s1", "a b"))
    done = import_sources(repository, [bad, good], [FailingFormat(error)], ImportOptions(since=1))
    assert skipped_paths(done) == [bad.path]
    assert branch_words(repository) == "a b"
