"""The imported bytes are exported unchanged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import rename_conversation
from scopes.errors import Ambiguous, Corrupt, NotFound, Refused
from scopes.exporters.atomic_save import save
from scopes.exporters.export import StoredSource, export, name_files
from scopes.history.messages import plain_message
from scopes.history.sources import SOURCES, read_source_record, walk_chunks
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.importers import archive as writing_sources
from scopes.importers.formats.base import Source
from scopes.importers.formats.claude_code import ClaudeCode
from scopes.importers.formats.openai import OpenAIMessages
from scopes.importers.import_sources import import_sources
from scopes.model import canonical_json
from scopes.store.objects import COMMIT, Identity, find_blob, format_commit, read_commit, update_tree
from scopes.store.refs import SOURCE_PATHS
from scopes.store.transactions import exclusive_write
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.importers.formats.claude_code.logs import SESSION, Log
from tests.support.examples import examples
from tests.support.history import history
from tests.support.store import git, make_store


def import_files(repository, *sources):
    """Import with the demo format."""
    return import_sources(repository, sources, (DemoFormat(),))


def original(repository, where="conv-001", **options):
    """Return the bytes of an export."""
    return b"".join(export(repository, where, format_name="original", **options).pieces)


def names(repository, **options):
    """Return the names of the files that an export would write."""
    return [file.name for file in export(repository, "conv-001", format_name="original", **options).files]


@pytest.fixture
def session(repository, tmp_path):
    """A session with two sub-agents, and an unrelated session."""
    sources = [
        write_transcript(tmp_path / "main.jsonl", *session_records("s1", "a b c")),
        write_transcript(tmp_path / "one.jsonl", *session_records("s1", "d e", part="helper-1")),
        write_transcript(tmp_path / "two.jsonl", *session_records("s1", "f", part="helper-2")),
        write_transcript(tmp_path / "other.jsonl", *session_records("s2", "g")),
    ]
    import_files(repository, *sources)
    return {Path(source.path).name: Path(source.path).read_bytes() for source in sources}


def test_a_single_source_is_exported_byte_for_byte(repository, session):
    assert original(repository, "conv-002") == session["other.jsonl"]
    exported = export(repository, "conv-002", format_name="original")
    assert (exported.conversation, exported.messages) == ("conv-002", None)


def test_unreadable_bytes_are_exported_too(repository, tmp_path):
    path = tmp_path / "odd.jsonl"
    data = b'{"session":"s1"}\r\n\n\n{"id":"a","by":"user","say":"x"}\n\xff\xfe not json \x00\n{"id":"b","by":"bot","say":"\\ud800"}{"title":"t"}\n{"cut'
    path.write_bytes(data)
    import_files(repository, Source(str(path), len(data)))
    assert original(repository) == data


@settings(max_examples=examples(10), deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=12))
def test_any_lines_are_exported_unchanged(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("any")
    data = b'{"session":"s1"}\n{"id":"a","by":"user","say":"x"}\n' + b"\n".join(lines)
    (folder / "x").write_bytes(data)
    repository = make_store(folder / "store.git")
    import_files(repository, Source(str(folder / "x"), len(data)))
    assert original(repository) == data


def test_a_large_source_is_exported_in_pieces(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(writing_sources, "CHUNK_BYTES", 64)
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c d e f"))
    import_files(repository, source)
    pieces = list(export(repository, "conv-001", format_name="original").pieces)
    assert len(pieces) > 3
    assert b"".join(pieces) == (tmp_path / "a.jsonl").read_bytes()


def test_a_grown_source_is_exported_as_last_imported(repository, tmp_path):
    path = tmp_path / "a.jsonl"
    import_files(repository, write_transcript(path, *session_records("s1", "a b")))
    import_files(repository, write_transcript(path, *session_records("s1", "a b c")))
    assert original(repository) == path.read_bytes()


def test_a_source_of_several_conversations_is_exported_for_each(repository, tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps([{"role": "user", "content": text}]) + "\n" for text in "abc"))
    import_sources(repository, [Source(str(path), path.stat().st_size)], (OpenAIMessages(),))
    assert [original(repository, f"conv-00{number}") for number in (1, 2, 3)] == [path.read_bytes()] * 3


def test_later_changes_do_not_affect_the_original(repository, tmp_path):
    path = tmp_path / "a.jsonl"
    import_files(repository, write_transcript(path, *session_records("s1", "a b")))
    append(repository, "conv-001", plain_message("carol", "more"))
    rename_conversation(repository, "conv-001", "login-bug")
    path2 = path.read_bytes()
    path.unlink()
    assert original(repository, "login-bug") == original(repository, "login-bug/main~1") == path2


def test_several_sources_are_several_files(repository, session):
    exported = export(repository, "conv-001", format_name="original")
    assert [file.source for file in exported.files] == ["s1", "s1/helper-1", "s1/helper-2"]
    assert [file.name for file in exported.files] == ["s1.jsonl", "s1.helper-1.jsonl", "s1.helper-2.jsonl"]
    assert [b"".join(piece.data for piece in file.pieces) for file in exported.files] == list(session.values())[:3]


def test_several_sources_are_refused_as_one_document(repository, session):
    with pytest.raises(Refused, match="conv-001 was imported from 3 files, and output is one") as refusal:
        original(repository)
    assert refusal.value.hint.endswith("choose with --source: s1, s1/helper-1, s1/helper-2")


@pytest.mark.parametrize(
    ("name", "file"),
    [("s1", "main.jsonl"), ("helper-1", "one.jsonl"), ("s1/helper-2", "two.jsonl"), ("s1/helper-1", "one.jsonl")],
)
def test_a_source_is_chosen_by_its_label_or_part(repository, session, name, file):
    assert original(repository, source=name) == session[file]


def test_an_unknown_or_ambiguous_source_is_refused(repository, session):
    with pytest.raises(NotFound, match="conv-001 has no source 'other'") as refusal:
        original(repository, source="other")
    assert refusal.value.hint == "sources: s1, s1/helper-1, s1/helper-2"
    with pytest.raises(Ambiguous, match="'helper' matches several sources of conv-001"):
        original(repository, source="helper")


def test_a_conversation_that_was_not_imported_has_no_original_bytes(repository):
    history(repository, "main: a")
    with pytest.raises(Refused, match="conv-001 has no original bytes: no source of it was imported") as refusal:
        original(repository)
    assert refusal.value.hint == "its messages: --format jsonl, or everything: --format json"


def falsify(repository, path, data):
    """Change one file of the record of the only source."""
    ref, commit = next(iter(repository.list_refs(SOURCES).items()))
    tree = update_tree(repository, read_commit(repository, Oid(commit)).tree, {path: data})
    new = format_commit(tree=tree, parents=(), author=Identity("x", "x@y"), time=0, subject="x")
    with exclusive_write(repository):
        tx = RefTransaction(repository)
        tx.move_ref(ref, commit, repository.write(COMMIT, new))
        tx.commit("test", "x")


def test_bytes_that_differ_from_the_imported_ones_are_refused(repository, tmp_path):
    import_files(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")))
    falsify(repository, "chunks/000000", b"other bytes\n")
    with pytest.raises(Corrupt, match="the bytes of s1 are not those that were imported"):
        original(repository)


def test_a_damaged_source_record_is_refused(repository, tmp_path):
    import_files(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")))
    falsify(repository, "source.json", b"[]\n")
    with pytest.raises(Corrupt, match="the record of an imported source is damaged"):
        original(repository)


def described(repository, **changes):
    """Return the names of the files after changing the record of the only source."""
    commit = Oid(next(iter(repository.list_refs(SOURCES).values())))
    stored = canonical_json.load(find_blob(repository, read_commit(repository, commit).tree, "source.json"))
    falsify(repository, "source.json", canonical_json.dump({**stored, **changes}))
    git(repository, "update-ref", "-d", SOURCE_PATHS)  # as in a store of an older version, which has paths in sources
    return names(repository)


def test_file_names_differ_on_case_insensitive_file_systems(repository, session):
    files = export(repository, "conv-001", format_name="original").files
    assert len({file.name.casefold() for file in files}) == 3
    records = [read_source_record(repository, Oid(oid)) for oid in repository.list_refs(SOURCES).values()]
    assert {record.native_id for record in records} == {"s1", "s2"}
    twins = [
        StoredSource(replace(record, native_id=name, part=None, path="x.jsonl"), Oid("0" * 40))
        for record, name in zip(records, ("A?", "a*", "A-2"), strict=False)
    ]
    assert [name for name, _ in name_files(twins)] == ["A.jsonl", "a-2.jsonl", "A-2-2.jsonl"]


def test_chunks_are_read_in_order(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(writing_sources, "CHUNK_BYTES", 8)
    import_files(
        repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", " ".join(f"w{n}" for n in range(30))))
    )
    commit = Oid(next(iter(repository.list_refs(SOURCES).values())))
    assert b"".join(walk_chunks(repository, commit)) == (tmp_path / "a.jsonl").read_bytes()


def test_an_exported_session_with_its_sub_agent_is_imported_to_the_same_branches(tmp_path):
    """The importer reads the session of a sub-agent from the path, so the export keeps the directories."""
    first, again = make_store(tmp_path / "first"), make_store(tmp_path / "again")
    log, agent = Log(), Log()
    log.user("Sell tea")
    agent.user("Look around", sessionId=..., isSidechain=True, agentId="a1")
    lie = {f"{SESSION}.jsonl": log, f"{SESSION}/subagents/agent-a1.jsonl": agent}
    for name, written in lie.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(written.data())
    saved = save(export(first, import_folder(first, tmp_path / "in", lie), format_name="original"), f"{tmp_path}/out/")
    assert sorted(saved.files) == sorted(lie)
    import_folder(again, tmp_path / "out", lie)
    assert again.list_refs("refs/heads/") == first.list_refs("refs/heads/")


def import_folder(repository, folder, files):
    """Import files of a directory; return the conversation id."""
    paths = [folder / name for name in files]
    import_sources(repository, [Source(str(path), path.stat().st_size) for path in paths], (ClaudeCode(),))
    return "conv-001"
