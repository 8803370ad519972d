"""What was purged does not come back with another import of the same transcript."""

from __future__ import annotations

import json

import pytest

from scopes.errors import CannotImport, NotFound, Refused
from scopes.exporters.export import list_sources, walk_bytes
from scopes.history.names import conversation_ids, list_branch_tips, resolve_revision
from scopes.history.sources import SOURCES, read_purged, walk_chunks, write_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.importers.archive import walk_segments
from scopes.importers.formats.base import Source
from scopes.importers.purged_texts import Span, blank_records
from scopes.purge.purge import plan_purge, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.refs import PURGED
from scopes.store.transactions import exclusive_write
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo, skipped_paths
from tests.support.every_byte import find_word
from tests.support.history import texts
from tests.support.store import make_store

WORD = "Xylophone-Quarantine-4711"


def write_session(path, words, session="s1"):
    """Write a transcript in which the message `secret` says the word."""
    records = session_records(session, words)
    for record in records:
        if record.get("id") == "secret":
            record["say"] = f"say {WORD}"
    return write_transcript(path, *records)


def imported(repository, tmp_path, words="a secret b", **options):
    return import_demo(repository, write_session(tmp_path / "s1.jsonl", words), **options)


def purge_word(repository, places):
    return purge(repository, PurgeRequest(query=WORD), places)


def test_a_second_import_changes_nothing(repository, places, tmp_path):
    imported(repository, tmp_path)
    done = purge_word(repository, places)
    before = repository.list_refs()
    assert find_word(WORD, repository.path) == []
    assert done.files_kept == (str(tmp_path / "s1.jsonl"),)
    imported(repository, tmp_path)
    assert repository.list_refs() == before


def test_a_session_that_has_grown_goes_on_without_the_word(repository, places, tmp_path):
    imported(repository, tmp_path)
    purge_word(repository, places)
    before = list_branch_tips(repository, "conv-001")
    imported(repository, tmp_path, "a secret b c d")
    assert branch_words(repository) == "a [purged] b c d"
    assert find_word(WORD, repository.path) == []
    assert list_branch_tips(repository, "conv-001").keys() == before.keys()


def test_other_records_that_quote_the_message_go_too_and_stay_away(repository, places, tmp_path):
    """Agents write some messages twice: as the message, and as an event or a title."""

    def grow(words):
        path = tmp_path / "s1.jsonl"
        write_session(path, words)
        path.write_text(
            path.read_text() + json.dumps({"event": f"user: say {WORD}"}) + "\n" + json.dumps({"event": "x"}) + "\n"
        )
        return import_demo(repository, Source(str(path), path.stat().st_size))

    grow("a secret b")
    done = purge_word(repository, places)
    assert (done.left, find_word(WORD, repository.path)) == ((), [])
    grow("a secret b c")
    assert find_word(WORD, repository.path) == []
    (after,) = repository.list_refs(SOURCES).values()
    assert b'{"event": "x"}' in b"".join(walk_chunks(repository, Oid(after)))


def test_a_store_with_the_list_imports_the_same_commits_as_the_one_that_purged(repository, places, tmp_path):
    imported(repository, tmp_path)
    purge_word(repository, places)
    other = make_store(tmp_path / "other.git")
    with exclusive_write(other):
        tx = RefTransaction(other)
        tx.move_ref(PURGED, None, write_purged(other, read_purged(repository)))
        tx.commit("test", "the list of another store")
    imported(other, tmp_path)
    assert list_branch_tips(other, "conv-001") == list_branch_tips(repository, "conv-001")
    assert list(other.list_refs(SOURCES)) == list(repository.list_refs(SOURCES))
    assert find_word(WORD, other.path) == []


@pytest.mark.parametrize("again", [False, True])
def test_a_purged_conversation_is_not_imported_again(repository, places, tmp_path, again):
    imported(repository, tmp_path)
    purge(repository, PurgeRequest(("conv-001",)), places)
    assert repository.list_refs(SOURCES) == {}
    with pytest.raises(CannotImport, match="its conversation was purged"):
        import_demo(repository, write_session(tmp_path / "s1.jsonl", "a secret b"), again=again)
    other = write_transcript(tmp_path / "s2.jsonl", *session_records("s2", "x y"))
    done = import_demo(repository, write_session(tmp_path / "s1.jsonl", "a secret b"), other)
    assert skipped_paths(done) == [str(tmp_path / "s1.jsonl")]
    assert [branch_words(repository, conversation=name) for name in conversation_ids(repository)] == ["x y"]
    assert find_word(WORD, repository.path) == []


def test_the_stored_transcript_keeps_its_other_bytes_and_its_size(repository, places, tmp_path):
    imported(repository, tmp_path)
    (before,) = repository.list_refs(SOURCES).values()
    spans = [segment.span for segment in walk_segments(repository, Oid(before))]
    original = (tmp_path / "s1.jsonl").read_bytes()
    purge_word(repository, places)
    (after,) = repository.list_refs(SOURCES).values()
    stored = b"".join(walk_chunks(repository, Oid(after)))
    assert len(stored) == len(original)
    same = [stored[s.offset : s.offset + s.length] == original[s.offset : s.offset + s.length] for s in spans]
    assert same.count(False) == 1


def test_what_was_purged_in_part_is_not_given_out_as_the_original(repository, places, tmp_path):
    imported(repository, tmp_path)
    purge_word(repository, places)
    with pytest.raises(Refused, match="were purged"):
        list(walk_bytes(repository, *list_sources(repository, resolve_revision(repository, "conv-001"))))


def test_a_shorter_file_is_not_taken_for_the_session(repository, places, tmp_path):
    imported(repository, tmp_path)
    purge_word(repository, places)
    with pytest.raises(CannotImport, match="of which messages were purged"):
        imported(repository, tmp_path, "a secret")


@pytest.mark.parametrize("cut", [1, 7, 30, 1000])
def test_a_record_is_overwritten_wherever_chunks_are_cut(cut):
    data = b'{"a":1}\n{"secret":"hush hush hush"}\n{"b":2}\n'
    chunks = [data[start : start + cut] for start in range(0, len(data), cut)]
    blank = b"".join(blank_records(chunks, [Span(8, 28)]))
    assert len(blank) == len(data)
    assert blank[:8] == data[:8]
    assert blank[36:] == data[36:]
    assert b"hush" not in blank
    assert blank[35:36] == b"\n"


@pytest.mark.parametrize("named", ["s1.jsonl", "the whole path", "./s1.jsonl"])
def test_all_messages_of_a_transcript_go_with_their_records_and_others_stay(repository, places, tmp_path, named):
    imported(repository, tmp_path)
    import_demo(repository, write_transcript(tmp_path / "s2.jsonl", *session_records("s2", "x y")))
    path = str(tmp_path / "s1.jsonl") if named == "the whole path" else named
    done = purge(repository, PurgeRequest(source=path), places)
    assert (done.messages, done.left, done.files_kept) == (3, (), (str(tmp_path / "s1.jsonl"),))
    assert branch_words(repository) == "[purged] [purged] [purged]"
    assert texts(repository, "conv-002") == ["say x", "say y"]
    assert find_word(WORD, repository.path) == []
    stored = [b"".join(walk_chunks(repository, Oid(value))) for value in repository.list_refs(SOURCES).values()]
    assert sorted(b'"say"' in each for each in stored) == [False, True]


@pytest.mark.parametrize("path", ["1.jsonl", "s1", "other/s1.jsonl", "", "/"])
def test_a_transcript_is_named_by_its_path_or_the_end_of_it(repository, places, tmp_path, path):
    imported(repository, tmp_path)
    with pytest.raises(NotFound, match="no message was imported"):
        purge(repository, PurgeRequest(source=path), places)
    assert branch_words(repository) == f"a {WORD} b"


def test_a_purged_transcript_that_has_grown_brings_its_new_messages_only(repository, places, tmp_path):
    imported(repository, tmp_path)
    purge(repository, PurgeRequest(source="s1.jsonl"), places)
    imported(repository, tmp_path, "a secret b c")
    assert branch_words(repository) == "[purged] [purged] [purged] c"
    assert find_word(WORD, repository.path) == []


def test_a_note_names_five_files_that_are_kept_and_counts_the_others(repository, places, tmp_path):
    files = [tmp_path / f"s{number}.jsonl" for number in range(7)]
    for file in files:
        import_demo(repository, write_session(file, "a secret b", file.stem))
    request = PurgeRequest(query=WORD)
    plan = plan_purge(repository, request, places)
    done = purge(repository, request, places)
    for result in (plan, done):
        assert sorted(result.files_kept) == sorted(map(str, files))
        [note] = [note for note in result.notes if "outside of the store" in note.text]
        assert (note.text.count(".jsonl"), note.text.endswith(" and 2 more")) == (5, True)
        assert note.hint.endswith("the same command with --json")
