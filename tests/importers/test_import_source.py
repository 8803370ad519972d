"""Unchanged sources are not read again, and the result reports them as before."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scopes.conversation.new_rename_delete import delete
from scopes.errors import CannotImport
from scopes.history.names import list_branch_tips
from scopes.history.sources import SOURCES, read_source_record
from scopes.ids import Oid
from scopes.importers import import_source
from scopes.importers.discovery import find_sources
from scopes.importers.formats.base import Source
from scopes.importers.formats.events import ByteRange, Ending, SessionRecord
from scopes.importers.import_sources import ImportOptions, import_sources
from tests.importers.demo_format import DemoFormat, draft_of, session_of, session_records, write_transcript
from tests.importers.stores import branch_words, count_objects, import_demo


class Counting(DemoFormat):
    """The demo format; records which sources were read to the end."""

    def __init__(self):
        self.read = []

    def walk_events(self, source):
        yield from super().walk_events(source)
        self.read.append(source.path.rpartition("/")[2])


def import_and_list_read(repository, *sources, **options):
    """Import, and return the result and the names of the files that were read."""
    form = Counting()
    done = import_sources(repository, sources, (form,), ImportOptions(**options))
    return done, sorted(form.read)


def group(tmp_path, words="a b c"):
    """Draw a session, one of its parts, and another session."""
    path = tmp_path / "a.jsonl"
    write_transcript(path, *session_records("s1", words), {"title": "Shop"})
    path.write_bytes(path.read_bytes() + b"{broken\n")
    part = write_transcript(tmp_path / "b.jsonl", *session_records("s1", "x y", part="helper"))
    return [find_sources(str(path))[0], part, write_transcript(tmp_path / "c.jsonl", *session_records("s2", "p q"))]


def account(done):
    """Return a result without its counts of new messages."""
    return (
        [replace(source, new=False) for source in done.sources],
        [replace(conversation, new_messages=0) for conversation in done.conversations],
    )


def test_unchanged_sources_are_not_read(repository, tmp_path):
    """C-30."""
    sources = group(tmp_path)
    assert import_and_list_read(repository, *sources)[1] == ["a.jsonl", "b.jsonl", "c.jsonl"]
    assert import_and_list_read(repository, *sources)[1] == []


def test_unchanged_sources_have_the_same_byte_counts(repository, tmp_path):
    sources = group(tmp_path)
    first = import_demo(repository, *sources)
    second = import_demo(repository, *sources)
    third = import_demo(repository, *sources, dry_run=True)
    assert (account(second)[0], len(second.conversations)) == (account(third)[0], third.unchanged)
    assert third.conversations == ()
    assert account(second)[0] == account(first)[0]
    described = [replace(conversation, new_messages=0, source=None) for conversation in first.conversations]
    assert list(second.conversations) == described
    assert [source.new for source in second.sources] == [False] * 3


def test_only_changed_sources_and_their_continuations_are_read(repository, tmp_path):
    import_demo(repository, *group(tmp_path))
    assert import_and_list_read(repository, *group(tmp_path, "a b c d"))[1] == ["a.jsonl", "b.jsonl"]


def test_a_changed_part_does_not_cause_its_session_to_be_read(repository, tmp_path):
    sources = group(tmp_path)
    import_demo(repository, *sources)
    sources[1] = write_transcript(tmp_path / "b.jsonl", *session_records("s1", "x y z", part="helper"))
    done, read = import_and_list_read(repository, *sources)
    assert (read, branch_words(repository, "subagent/helper")) == (["b.jsonl"], "x y z")
    assert [conversation.new_messages for conversation in done.conversations] == [1, 0]


def test_a_new_parser_version_reads_all_sources_again(repository, tmp_path, monkeypatch):
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    import_demo(repository, source)
    tips = list_branch_tips(repository, "conv-001")
    monkeypatch.setattr(import_source, "PARSER_VERSION", import_source.PARSER_VERSION + 1)
    assert import_and_list_read(repository, source)[1] == ["a.jsonl"]
    assert import_and_list_read(repository, source)[1] == []
    assert list_branch_tips(repository, "conv-001") == tips


def test_a_deleted_conversation_is_read_only_with_again(repository, tmp_path):
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    import_demo(repository, source)
    delete(repository, "conv-001")
    assert import_and_list_read(repository, source)[1] == []
    assert import_and_list_read(repository, source, again=True)[1] == ["a.jsonl"]


def test_a_session_without_messages_makes_no_conversation(repository, tmp_path):
    """D6: it made one of 0 messages and 0 branches. It is imported when it has a message."""
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", ""))
    for _ in range(2):
        done = import_demo(repository, source)
        assert (done.conversations, done.operation, done.exit_code) == ((), None, 0)
        assert done.notes[0].text == f"skipped {source.path}: contains no message"
    done = import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a")))
    assert [row.messages for row in done.conversations] == [1]


def test_strict_refuses_unchanged_sources_with_problems(repository, tmp_path):
    sources = group(tmp_path)
    import_demo(repository, *sources)
    with pytest.raises(CannotImport, match="not valid JSON"):
        import_demo(repository, *sources, strict=True)


def test_the_sessions_of_one_source_are_kept_apart(repository, tmp_path):
    source = write_several(tmp_path, "a b", "c d e")
    first = import_sources(repository, [source], (Several(),))
    second = import_sources(repository, [source], (Several(),))
    assert [conversation.messages for conversation in second.conversations] == [2, 3]
    assert [c.branches for c in second.conversations] == [c.branches for c in first.conversations] == [1, 1]
    record = read_source_record(repository, Oid(next(iter(repository.list_refs(SOURCES).values()))))
    assert len(record.more_roots) == 1


def test_a_source_of_several_sessions_grows(repository, tmp_path):
    import_sources(repository, [write_several(tmp_path, "a b", "c d e")], (Several(),))
    done = import_sources(repository, [write_several(tmp_path, "a b", "c d e", "f")], (Several(),))
    assert [conversation.new_messages for conversation in done.conversations] == [0, 0, 1]


def test_a_session_in_unrelated_sources_is_one_conversation(repository, tmp_path):
    """State that was freed after the first source is read again for the second."""
    first = write_several(tmp_path, "a b", "c d e")
    (tmp_path / "other.jsonl").write_text(
        "".join(json.dumps(session_records(*session)) + "\n" for session in (("s5", "x"), ("s1", "c d f")))
    )
    other = Source(str(tmp_path / "other.jsonl"), (tmp_path / "other.jsonl").stat().st_size)
    done = import_sources(repository, [first, other], (Several(),))
    assert [(found.messages, found.new_messages) for found in done.conversations] == [(2, 2), (4, 4), (1, 1)]
    assert import_sources(repository, [first, other], (Several(),)).operation is None


class Several(DemoFormat):
    """The demo format with any number of sessions in a file, each in a line."""

    def walk_events(self, source):
        ahead = 0
        with source.open() as stream:
            for text in stream:
                records = json.loads(text)
                yield from shifted(records, ahead, len(text))
                ahead += len(text)

    def sniff(self, head):
        return head.startswith(b'[{"session"')


def shifted(records, ahead, length):
    """Yield a session whose records are in one line; each message has a byte of its own in it."""
    yield session_of(records[0])
    for number, record in enumerate(records[1:]):
        yield draft_of(record, ByteRange(ahead + number, 1))
    done = len(records) - 1
    yield SessionRecord(key="rest", spans=(ByteRange(ahead + done, length - done),))
    yield Ending(active=records[-1]["id"], open=records[-1]["id"])


def write_several(tmp_path, *sessions):
    path = tmp_path / "several.jsonl"
    lines = (json.dumps(session_records(f"s{number}", words)) + "\n" for number, words in enumerate(sessions))
    path.write_text("".join(lines))
    return Source(str(path), path.stat().st_size)


def test_bytes_added_during_the_run_are_not_read(repository, tmp_path):
    """It may grow while it is read."""
    records = session_records("s1", "a b c")
    source = write_transcript(tmp_path / "a.jsonl", *records[:3])
    write_transcript(tmp_path / "a.jsonl", *records)
    done = import_demo(repository, source)
    assert (branch_words(repository), done.sources[0].size) == ("a b", source.size)
    assert import_demo(repository, source).operation is None


def test_a_source_that_changes_while_it_is_read_is_refused(repository, tmp_path):
    class Rewriting(DemoFormat):
        def walk_events(self, source):
            yield from super().walk_events(source)
            write_transcript(tmp_path / "a.jsonl", *session_records("s9", "p q"))

    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    with pytest.raises(CannotImport, match="changed while it was read"):
        import_sources(repository, [source], (Rewriting(),))
    assert (repository.list_refs(), count_objects(repository)) == ({}, 0)
