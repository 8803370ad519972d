"""An import: sources become conversations once, branches follow their source, and bytes are archived."""

from __future__ import annotations

import json
import os

import pytest

from scopes.clock import parse_time
from scopes.code_links.known_links import TRACE_FILE
from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import delete
from scopes.conversation.show import show
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import CannotImport, Invalid
from scopes.history.messages import plain_message, read_message, walk_headers_oldest_first
from scopes.history.names import list_branch_tips
from scopes.history.sources import SOURCES, walk_chunks
from scopes.ids import ConversationId, Oid
from scopes.importers import import_sources
from scopes.importers.archive import walk_segments
from scopes.importers.discovery import find_sources
from scopes.store.repository import open_repository
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, count_objects, import_demo, skipped_paths
from tests.support.store import make_store


def test_a_source_becomes_a_conversation(repository, tmp_path):
    done = import_demo(
        repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c"), {"title": "Shop"})
    )
    assert branch_words(repository) == "a b c"
    assert show(repository, "conv-001").title == "Shop"
    assert (done.conversations[0].messages, done.conversations[0].new_messages, done.conversations[0].branches) == (
        3,
        3,
        1,
    )
    assert (done.sources[0].records, done.sources[0].messages, done.sources[0].unparsed) == (5, 3, 0)


def test_a_second_import_writes_nothing(repository, tmp_path):
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c d<b"))
    import_demo(repository, source)
    before, refs = count_objects(repository), repository.list_refs()
    done = import_demo(repository, source)
    assert (count_objects(repository), repository.list_refs()) == (before, refs)
    assert done.operation is None
    assert done.conversations[0].new_messages == 0


def test_a_source_imported_in_steps_equals_one_imported_whole(repository, tmp_path):
    """Transcripts, acceptance 2: same branches, same object ids."""
    records = session_records("s1", "a b c d e f<c g")
    for end in (3, 5, len(records)):
        import_demo(repository, write_transcript(tmp_path / "a.jsonl", *records[:end]))
    other = make_store(tmp_path / "other.git")
    import_demo(other, write_transcript(tmp_path / "a.jsonl", *records))
    assert list_branch_tips(repository, "conv-001") == list_branch_tips(other, "conv-001")
    assert branch_words(repository) == "a b c f g"


def test_a_source_with_a_changed_header_stays_in_its_conversation(repository, tmp_path):
    """The root commit keeps the first header; no second conversation is created."""
    path = tmp_path / "a.jsonl"
    import_demo(repository, write_transcript(path, *session_records("s1", "a b", created="2026-01-01T00:00:00Z")))
    done = import_demo(
        repository, write_transcript(path, *session_records("s1", "a b c", created="2026-02-01T00:00:00Z"))
    )
    assert [(found.id, found.messages, found.new_messages) for found in done.conversations] == [("conv-001", 3, 1)]
    assert (branch_words(repository), [note.text for note in done.notes]) == ("a b c", [])
    other = import_demo(repository, write_transcript(path, *session_records("s2", "a b c")))
    assert [found.id for found in other.conversations] == ["conv-002"]


def test_a_deleted_conversation_with_a_changed_header_stays_deleted(repository, tmp_path):
    path = tmp_path / "a.jsonl"
    import_demo(repository, write_transcript(path, *session_records("s1", "a b", created="2026-01-01T00:00:00Z")))
    delete(repository, "conv-001")
    grown = write_transcript(path, *session_records("s1", "a b c", created="2026-02-01T00:00:00Z"))
    assert "stays deleted" in import_demo(repository, grown).notes[0].text
    assert [found.messages for found in import_demo(repository, grown, again=True).conversations] == [3]


def test_the_last_message_is_open_until_the_source_grows(repository, tmp_path):
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")))
    tip = list_branch_tips(repository, "conv-001")["main"]
    assert read_message(repository, tip).extra["open"] is True
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c")))
    heads = list(walk_headers_oldest_first(repository, [list_branch_tips(repository, "conv-001")["main"]]))
    assert ["open" in read_message(repository, head.oid).extra for head in heads] == [False, False, True]


def test_a_branch_that_the_user_moved_stays_and_new_messages_go_to_an_import_branch(repository, tmp_path):
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")))
    append(repository, "conv-001", plain_message("carol", "mine"))
    done = import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c")))
    assert branch_words(repository) == "a b mine"
    import_branches = [name for name in list_branch_tips(repository, "conv-001") if name.startswith("import/")]
    assert [branch_words(repository, name) for name in import_branches] == ["a b c"]
    assert "was moved here" in done.notes[0].text


def test_several_notes_of_one_kind_are_one_note_with_their_number(repository, tmp_path):
    """D15: only the notes about missing parents were counted; every other note was a line of its own."""
    sources = [write_transcript(tmp_path / f"{name}.jsonl", *session_records(name, "a b")) for name in ("s1", "s2")]
    import_demo(repository, *sources)
    for conversation in ("conv-001", "conv-002"):
        append(repository, conversation, plain_message("carol", "mine"))
    grown = [write_transcript(tmp_path / f"{name}.jsonl", *session_records(name, "a b c")) for name in ("s1", "s2")]
    done = import_demo(repository, *grown)
    [note] = done.notes
    assert note.text.startswith(
        "2 branches were moved or deleted here; new messages of their sources are on other branches; "
    )
    assert "; the first: conv-001/main was moved here; " in note.text
    assert note.hint == "to list them, repeat the command with --report or -v"
    assert [text.partition(";")[0] for text in done.details] == [
        "conv-001/main was moved here",
        "conv-002/main was moved here",
    ]


def test_deleted_conversations_are_one_note_and_a_single_one_has_no_details(repository, tmp_path):
    sources = [write_transcript(tmp_path / f"{name}.jsonl", *session_records(name, "a b")) for name in ("s1", "s2")]
    import_demo(repository, *sources)
    delete(repository, "conv-001")
    assert [note.text for note in import_demo(repository, *sources).notes] == [
        "session s1 was deleted here and stays deleted"
    ]
    delete(repository, "conv-002")
    done = import_demo(repository, *sources)
    assert [note.text for note in done.notes] == [
        "2 sessions were deleted here and stay deleted; the first: session s1 was deleted here and stays deleted"
    ]
    assert (
        done.notes[0].hint
        == "to restore it: scopes import --again FILE, or scopes undo OPERATION, which is in: scopes list --deleted; "
        "to list them, repeat the command with --report or -v"
    )
    assert len(done.details) == 2


def test_a_deleted_conversation_stays_deleted_without_again(repository, tmp_path):
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    import_demo(repository, source)
    delete(repository, "conv-001")
    done = import_demo(repository, source)
    assert done.conversations == ()
    assert "stays deleted" in done.notes[0].text
    again = import_demo(repository, source, again=True)
    assert branch_words(repository, conversation=again.conversations[0].id) == "a b"


def test_the_operation_names_what_an_import_changed_and_not_all_that_it_read(repository, tmp_path):
    sources = [write_transcript(tmp_path / f"{n}.jsonl", *session_records(f"s{n}", f"a{n} b{n}")) for n in range(3)]
    import_demo(repository, *sources)
    assert undo(repository, dry_run=True).target.summary == "import 3 sources into 3 conversations"
    append(repository, "conv-001", plain_message("human", "written meanwhile"))
    more = write_transcript(tmp_path / "2.jsonl", *session_records("s2", "a2 b2 c2 d2"))
    new = write_transcript(tmp_path / "new.jsonl", *session_records("new", "x y"))
    done = import_demo(repository, *sources[:2], more)
    assert undo(repository, dry_run=True).target.summary == "import 1 source into 1 conversation"
    assert [row.source for row in done.conversations] == [None, None, more.path]
    import_demo(repository, *sources[:2], more, new)
    assert undo(repository).target.summary == "import 1 source into 1 conversation"


def test_sources_that_go_into_one_conversation_are_counted_each(repository, tmp_path):
    main = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    part = write_transcript(tmp_path / "part.jsonl", *session_records("s1", "c d", part="p"))
    import_demo(repository, main, part)
    assert undo(repository, dry_run=True).target.summary == "import 2 sources into 1 conversation"


def test_a_deleted_conversation_that_is_imported_again_is_what_the_operation_names(repository, tmp_path):
    sources = [write_transcript(tmp_path / f"{n}.jsonl", *session_records(f"s{n}", f"a{n} b{n}")) for n in range(3)]
    import_demo(repository, *sources)
    delete(repository, "conv-002")
    import_demo(repository, *sources, again=True)
    assert undo(repository, dry_run=True).target.summary == "import 1 source into 1 conversation"


def test_a_title_alone_names_the_source_of_its_conversation(repository, tmp_path):
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    import_demo(repository, source)
    import_demo(repository, source, title="Shop")
    assert undo(repository, dry_run=True).target.summary == "import 1 source into 1 conversation"


def test_undo_reverts_an_import_and_the_next_import_repeats_it(repository, tmp_path):
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    import_demo(repository, source)
    undo(repository)
    assert repository.list_refs("refs/heads/", SOURCES) == {}
    import_demo(repository, source)
    assert branch_words(repository) == "a b"


def test_messages_lost_by_a_rewritten_source_are_kept(repository, tmp_path):
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c d")))
    done = import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b x")))
    assert branch_words(repository) == "a b x"
    assert branch_words(repository, "abandoned/1") == "a b c d"
    assert "abandoned/1" in done.notes[0].text


def test_a_fork_is_named_after_its_first_own_message(repository, tmp_path):
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c d<b e")))
    tips = list_branch_tips(repository, "conv-001")
    fork = next(name for name in tips if name.startswith("fork/"))
    own = list(walk_headers_oldest_first(repository, [tips[fork]]))[2]
    assert (branch_words(repository), branch_words(repository, fork), fork) == (
        "a b d e",
        "a b c",
        f"fork/{own.id[:8]}",
    )


def test_a_part_is_a_branch_from_the_root(repository, tmp_path):
    main = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    part = write_transcript(tmp_path / "b.jsonl", *session_records("s1", "x y", part="helper"))
    import_demo(repository, part, main)
    assert (branch_words(repository), branch_words(repository, "subagent/helper")) == ("a b", "x y")
    assert len(verify(repository).findings) == 0


def test_a_session_follows_the_message_of_its_base_that_it_names(repository, tmp_path):
    base = session_records("s1", "a b c")
    end = sum(len(json.dumps(record)) + 1 for record in base[:3])
    sources = [
        write_transcript(tmp_path / "z.jsonl", *base),
        write_transcript(tmp_path / "a.jsonl", *session_records("s2", "x y", base="s1", end=end)),
    ]
    done = import_demo(repository, *reversed(sources))
    assert len(done.conversations) == 1
    fork = next(name for name in list_branch_tips(repository, "conv-001") if name.startswith("fork/"))
    assert branch_words(repository, fork) == "a b x y"


def test_a_session_without_its_base_is_imported_with_a_note(repository, tmp_path):
    done = import_demo(
        repository, write_transcript(tmp_path / "a.jsonl", *session_records("s2", "x y", base="s1", end=10))
    )
    assert branch_words(repository) == "x y"
    assert "continues s1" in done.notes[0].text


def test_many_sessions_without_their_bases_are_one_note(repository, tmp_path):
    """Issue 10: an import of 373 sessions printed 23 notes about missing parents."""
    files = [
        write_transcript(tmp_path / f"{number}.jsonl", *session_records(f"s{number}", "x y", base=f"p{number}", end=10))
        for number in range(3)
    ]
    done = import_demo(repository, *files)
    (note,) = [note for note in done.notes if "not imported" in note.text]
    assert note.text == "3 sessions continue sessions that are not imported, such as p0, which s0 continues"
    assert done.missing_parents == {"s0": "p0", "s1": "p1", "s2": "p2"}


def test_a_copied_history_has_the_same_commits(repository, tmp_path):
    """A fork that copied its parent's history shares its messages."""
    first = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c d"))
    copied = session_records("s2", "a b x y", base="s1")
    for record in copied[1:3]:
        record["time"] = "2026-03-01T00:00:00Z"
    done = import_demo(repository, first, write_transcript(tmp_path / "b.jsonl", *copied))
    assert done.conversations[0].messages == 6
    tips = list_branch_tips(repository, "conv-001")
    fork = next(name for name in tips if name.startswith("fork/"))
    shared = [head.oid for head in walk_headers_oldest_first(repository, [tips["main"]])][:2]
    assert [head.oid for head in walk_headers_oldest_first(repository, [tips[fork]])][:2] == shared


def test_the_order_of_the_sources_does_not_matter(tmp_path):
    """P11: same set of sources, same object ids."""
    sources = [
        write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c", created="2026-02-03T00:00:00Z")),
        write_transcript(tmp_path / "b.jsonl", *session_records("s2", "x y", created="2026-02-01T00:00:00Z")),
        write_transcript(tmp_path / "c.jsonl", *session_records("s3", "a b x", base="s1")),
    ]
    seen = []
    for number, order in enumerate((sources, sources[::-1])):
        store = make_store(tmp_path / f"{number}.git")
        import_demo(store, *order)
        seen.append(store.list_refs("refs/heads/", "refs/scopes/tracking/"))
    assert seen[0] == seen[1]


def test_every_byte_is_counted_and_archived(repository, tmp_path):
    path = tmp_path / "a.jsonl"
    source = write_transcript(path, *session_records("s1", "a b"), {"title": "x"})
    path.write_bytes(path.read_bytes() + b"{broken\n" + b'{"id": "c", "par')
    source = find_sources(str(path))[0]
    done = import_demo(repository, source)
    account = done.sources[0]
    assert account.message_bytes + account.state_bytes + account.unparsed_bytes == path.stat().st_size
    assert account.unparsed == 2
    record = Oid(next(iter(repository.list_refs(SOURCES).values())))
    assert b"".join(walk_chunks(repository, record)) == path.read_bytes()
    assert sum(segment.span.length for segment in walk_segments(repository, record)) == path.stat().st_size


def test_strict_imports_nothing_if_a_record_cannot_be_read(repository, tmp_path):
    path = tmp_path / "a.jsonl"
    write_transcript(path, *session_records("s1", "a b"))
    path.write_bytes(path.read_bytes() + b"{broken\n")
    with pytest.raises(CannotImport, match="not valid JSON"):
        import_demo(repository, find_sources(str(path))[0], strict=True)
    assert repository.list_refs() == {}


def test_a_dry_run_reports_what_would_be_imported_and_writes_nothing(repository, tmp_path):
    before = count_objects(repository)
    done = import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")), dry_run=True)
    assert (done.conversations[0].new_messages, done.dry_run) == (2, True)
    assert (count_objects(repository), repository.list_refs()) == (before, {})


def test_a_source_of_unknown_format_is_refused_alone_and_skipped_among_others(repository, tmp_path):
    alien = tmp_path / "alien.jsonl"
    alien.write_text("no transcript\n")
    with pytest.raises(CannotImport, match="unknown format"):
        import_demo(repository, find_sources(str(alien))[0])
    done = import_demo(
        repository, find_sources(str(alien))[0], write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a"))
    )
    assert skipped_paths(done) == [str(alien)]
    assert branch_words(repository) == "a"


def alien(path):
    """Write a file that is not a transcript; return it as a named source."""
    path.write_text("no transcript\n")
    return find_sources(str(path))[0]


def test_records_of_agent_trace_are_no_session_and_the_hint_says_where_they_are_read(repository, tmp_path):
    record = {"version": "0.1", "id": "x", "vcs": {"type": "git", "revision": "a" * 40}, "files": []}
    (tmp_path / "traces.jsonl").write_text(f"{json.dumps(record)}\n")
    with pytest.raises(CannotImport, match="records of Agent Trace") as refused:
        import_demo(repository, *find_sources(str(tmp_path / "traces.jsonl")))
    assert TRACE_FILE in refused.value.hint


def test_named_files_of_unknown_format_are_an_error_if_nothing_is_imported(repository, tmp_path):
    aliens = [alien(tmp_path / name) for name in ("x.jsonl", "y.jsonl")]
    with pytest.raises(CannotImport, match=r"2 files are of no known format: \S+x\.jsonl, \S+y\.jsonl$") as refused:
        import_demo(repository, *aliens)
    assert refused.value.hint == "formats: demo"


def test_an_error_names_only_the_first_files_of_unknown_format(repository, tmp_path):
    aliens = [alien(tmp_path / f"{number}.jsonl") for number in range(7)]
    with pytest.raises(CannotImport, match=r"7 files are of no known format: .*4\.jsonl and 2 more$"):
        import_demo(repository, *aliens)


def test_a_folder_with_nothing_but_unknown_formats_is_an_error(repository, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("x.jsonl", "y.jsonl"):
        alien(folder / name)
    with pytest.raises(CannotImport, match="2 files are of no known format"):
        import_demo(repository, *find_sources(str(folder)))
    assert repository.list_refs() == {}


def test_a_folder_with_a_file_of_a_known_format_without_messages_is_no_error(repository, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    alien(folder / "x.jsonl")
    write_transcript(folder / "empty.jsonl", *session_records("s1", ""))
    done = import_demo(repository, *find_sources(str(folder)))
    assert ({found.reason for found in done.skipped}, done.exit_code) == ({"unknown format", "contains no message"}, 0)


def test_a_named_file_of_unknown_format_is_a_note_among_others_and_refused_by_strict(repository, tmp_path):
    sources = [alien(tmp_path / "x.jsonl"), write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a"))]
    with pytest.raises(CannotImport, match=r"x\.jsonl: unknown format"):
        import_demo(repository, *sources, strict=True)
    done = import_demo(repository, *sources)
    assert [note.text for note in done.notes] == [f"{tmp_path / 'x.jsonl'}: unknown format"]
    assert done.skipped[0].reason == "unknown format"


def test_a_file_of_unknown_format_in_a_folder_does_not_stop_strict(repository, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    alien(folder / "x.jsonl")
    write_transcript(folder / "a.jsonl", *session_records("s1", "a"))
    done = import_demo(repository, *find_sources(str(folder)), strict=True)
    (note,) = done.notes
    assert (note.text, skipped_paths(done)) == (f"skipped {folder}/x.jsonl: unknown format", [str(folder / "x.jsonl")])
    assert done.exit_code == 0


def test_a_dry_run_changes_no_file_of_the_store(repository, tmp_path):
    """Not even its lock file."""
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")))
    before = files(repository)
    done = import_demo(
        repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c")), dry_run=True
    )
    assert (done.conversations[0].new_messages, files(repository)) == (1, before)


def test_a_dry_run_lists_only_conversations_that_would_change(repository, tmp_path):
    sources = [write_transcript(tmp_path / f"{name}.jsonl", *session_records(name, "a b")) for name in ("s1", "s2")]
    import_demo(repository, *sources)
    grown = write_transcript(tmp_path / "s2.jsonl", *session_records("s2", "a b c"))
    new = write_transcript(tmp_path / "s3.jsonl", *session_records("s3", "a"))
    done = import_demo(repository, sources[0], grown, new, dry_run=True)
    assert [(row.id, row.new_messages) for row in done.conversations] == [("conv-002", 1), ("conv-003", 1)]
    assert done.unchanged == 1


def test_a_dry_run_lists_no_deleted_conversation_that_stays_deleted(repository, tmp_path):
    source = write_transcript(tmp_path / "s1.jsonl", *session_records("s1", "a b"))
    import_demo(repository, source)
    delete(repository, ConversationId("conv-001"))
    done = import_demo(repository, source, dry_run=True)
    assert (done.conversations, done.unchanged) == ((), 0)
    assert done.notes == import_demo(repository, source).notes != ()
    assert len(import_demo(repository, source, dry_run=True, again=True).conversations) == 1


def files(repository):
    """Return all files of a store with their times."""
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(repository.path) for name in names)
    return sorted((path, os.stat(path).st_mtime_ns) for path in paths)


def test_an_overtaken_import_starts_again(repository, tmp_path, monkeypatch):
    """Two imports of one folder at once: the second finds nothing new and succeeds."""
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    take = import_sources.exclusive_write

    def overtaken(store):
        monkeypatch.setattr(import_sources, "exclusive_write", take)
        import_demo(open_repository(repository.path), source)
        return take(store)

    monkeypatch.setattr(import_sources, "exclusive_write", overtaken)
    done = import_demo(repository, source)
    assert (done.operation, branch_words(repository), done.conversations[0].new_messages) == (None, "a b", 0)


def test_since_goes_by_the_time_of_the_last_message(repository, tmp_path):
    """Not by the time of the file. The parts of a session stay together; sessions without times are imported."""
    sources = [
        write_transcript(tmp_path / "old.jsonl", *dated("s1", "2026-01-01T00:00:00Z")),
        write_transcript(tmp_path / "new.jsonl", *dated("s2", "2026-03-01T00:00:00Z")),
        write_transcript(tmp_path / "part.jsonl", *dated("s2", "2026-01-01T00:00:00Z", part="helper")),
        write_transcript(tmp_path / "undated.jsonl", *dated("s3", "")),
    ]
    os.utime(sources[1].path, (0, 0))
    done = import_demo(repository, *sources, since=parse_time("2026-02-01T00:00:00Z"))
    assert {os.path.basename(found.path) for found in done.sources} == {"new.jsonl", "part.jsonl", "undated.jsonl"}
    assert [note.text[:7] for note in done.notes] == ["1 of 4 "]


def dated(session, time, **fields):
    """Return a session whose messages have a time."""
    first, *messages = session_records(session, "a b", **fields)
    return [first, *({**message, "time": time} for message in messages)]


def test_one_title_for_several_conversations_is_refused(repository, tmp_path):
    sources = [write_transcript(tmp_path / f"{name}.jsonl", *session_records(name, "a b")) for name in ("s1", "s2")]
    with pytest.raises(Invalid, match="one title for 2 conversations"):
        import_demo(repository, *sources, title="Shop")
    assert repository.list_refs() == {}


def test_an_existing_title_stays_with_a_note(repository, tmp_path):
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    import_demo(repository, source, title="Shop")
    done = import_demo(repository, source, title="Other")
    assert show(repository, "conv-001").title == "Shop"
    assert [note.text for note in done.notes] == ["conv-001 already has a title: Shop"]
    assert "scopes rename conv-001 --title" in done.notes[0].hint
    assert import_demo(repository, source, title="Shop").notes == ()
