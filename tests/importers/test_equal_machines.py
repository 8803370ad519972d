"""Two machines that import the same sources have the same objects: messages, metadata and stored sources.

Here they differ in home directory, path and order of the files, time zone, language, clock, number of workers, and in
the conversations that they had before. What is only about a machine is in refs that never leave it.
"""

from __future__ import annotations

import json
import os
import shutil

import pytest

from scopes.exporters.export import StoredSource, name_files
from scopes.history.metadata import read_metadata
from scopes.history.names import find_root_commit, list_branch_tips
from scopes.history.sources import SOURCES, read_source_record, with_last_path
from scopes.ids import ConversationId, Oid
from scopes.importers.archive import StoredCopy
from scopes.importers.discovery import find_sources
from scopes.importers.formats.base import read_session
from scopes.importers.formats.registry import FORMATS
from scopes.store import refs
from tests.importers.formats import test_opencode as opencode
from tests.importers.formats import test_pi as pi
from tests.importers.formats.cursor import databases as cursor_databases
from tests.importers.formats.cursor import events as cursor
from tests.importers.formats.gemini import test_gemini as gemini
from tests.importers.formats.qwen import test_qwen as qwen
from tests.importers.reading import real_transcript
from tests.importers.test_robustness import claude_records, codex_records, openai_records
from tests.support.fork_server import run_program
from tests.support.store import git, open_store

THREAD = "01a1fcda-2677-7012-89ed-1646c54137a0"
PAGE = "01a1fcde-be4a-74d1-806c-34a44f6727bc"
AGENT = {"isSidechain": True, "agentId": "x7", "sessionId": "main-session", "uuid": "s1"}
MACHINE = """
import sys
from scopes import clock
from scopes.conversation.new_rename_delete import new
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.store.config import Setting
from tests.support.store import FAST, make_store
store, folder, others, seconds, workers = sys.argv[1:]
moment = int(seconds)
clock.read_clock = lambda: moment * 1_000_000_000
overrides = {**FAST, "scopes.importworkers": Setting("scopes.importWorkers", workers, "flag")}
repository = make_store(store, overrides)
for number in range(int(others)):
    new(repository, title=f"a conversation of this machine {number}")
sources = find_sources(folder)
import_sources(repository, sources if others == "0" else sources[::-1], FORMATS)
"""
OTHER = "a conversation of this machine"
FIRST = {"TZ": "UTC", "LC_ALL": "C"}, ("0", "1790000000", "1")
SECOND = {"TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}, ("12", "1600000000", "2")


def write_files(folder):
    """Write a session of every format, with a sub-agent, a page of a thread and an event stream."""
    claude = "".join(json.dumps(record) + "\n" for record in claude_records())
    message = {"type": "user", "message": {"role": "user", "content": "Look"}, "timestamp": "2026-01-02T03:04:05Z"}
    files = {
        "claude/main.jsonl": claude,
        "claude/main-session/subagents/agent-x7.jsonl": json.dumps({**message, **AGENT}) + "\n",
        f"codex/rollout-2026-11-21T06-47-41-{THREAD}.jsonl": "".join(json.dumps(r) + "\n" for r in codex_records()),
        "cursor/journal.jsonl": cursor.journal(*cursor.turn(1)),
        "gemini/session.jsonl": gemini.lines(*gemini.FILE),
        "gemini/stream.jsonl": gemini.lines(*gemini.STREAM),
        "opencode/export.json": opencode.EXPORT,
        "pi/session.jsonl": pi.session_file(*pi.MESSAGES),
        "qwen/session.jsonl": qwen.lines(*qwen.FILE),
        "openai/lists.jsonl": "".join(json.dumps(record) + "\n" for record in openai_records()),
    }
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    cursor_databases.editor_database(
        folder / "cursor" / "state.vscdb", *cursor_databases.editor_rows(*cursor_databases.BUBBLES)
    )
    cursor_databases.chat_database(
        folder / "cursor" / "store.db", *cursor_databases.chat_rows(*cursor_databases.MESSAGES)
    )


def import_on(tmp_path, name, machine, copy_to):
    """Import on a machine of its own; return its store."""
    environment, arguments = machine
    home = tmp_path / name / "home of a user"
    home.mkdir(parents=True)
    folder = home / ("deep/er" if arguments[0] != "0" else "x")
    copy_to(folder)
    store = str(tmp_path / name / "store.git")
    variables = {**os.environ, **environment, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    done = run_program(MACHINE, [store, str(folder), *arguments], variables)
    assert done.returncode == 0, done.stderr
    return open_store(store)


def imported_here(repository):
    """Return what goes to other machines of the imported conversations, by their roots and not by local numbers."""
    found = dict(repository.list_refs(SOURCES))
    for ref, metadata in repository.list_refs(refs.META).items():
        conversation = ConversationId(ref.removeprefix(refs.META))
        if (read_metadata(repository, conversation).title or "").startswith(OTHER):
            continue
        tips = list_branch_tips(repository, conversation)
        root = find_root_commit(repository, conversation)
        found |= {f"{root} {name}": tip for name, tip in tips.items()}
        found[f"{root}"] = metadata
    return found


def test_two_machines_have_the_same_messages_metadata_and_sources(tmp_path):
    """P11: home, path, order, time zone, language, clock, workers and other conversations make no difference."""
    first = import_on(tmp_path, "first", FIRST, write_files)
    second = import_on(tmp_path, "second", SECOND, write_files)
    expected = imported_here(first)
    assert len(expected) > 25
    assert imported_here(second) == expected


@pytest.mark.parametrize("folder", ["claude-code", "codex", "gemini-cli", "opencode", "pi", "qwen-code"])
@pytest.mark.slow
def test_real_transcripts_are_the_same_on_two_machines(tmp_path, folder):
    original = real_transcript(folder)

    def link(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        for source in find_sources(original):
            if source.size < 300_000:
                copy = place / os.path.relpath(source.path, original)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source.path, copy)

    first = import_on(tmp_path, "first", FIRST, link)
    second = import_on(tmp_path, "second", SECOND, link)
    assert imported_here(second) == imported_here(first)


def test_the_path_of_a_source_is_in_no_object_that_leaves(tmp_path):
    """P13: it tells the name of the user; `scopes resume` and exports still know it here."""
    store = import_on(tmp_path, "first", FIRST, write_files)
    leaving = [*store.list_refs(SOURCES).values(), *store.list_refs(refs.HEADS, refs.META).values()]
    listing = git(store, "rev-list", "--objects", "--no-object-names", *leaving)
    content = "".join(git(store, "cat-file", "-p", oid) for oid in listing.split())
    assert "home of a user" not in content
    records = [read_source_record(store, Oid(oid)) for oid in store.list_refs(SOURCES).values()]
    assert {record.path for record in records} == {""}
    assert all(os.path.isfile(with_last_path(store, record).path.partition("#")[0]) for record in records)


def test_a_source_without_a_path_is_read_as_the_same_session(tmp_path):
    """Another machine that gets it has no path: the format must find session and sub file without one."""
    store = import_on(tmp_path, "first", FIRST, write_files)
    formats = {each.name: each for each in FORMATS}
    for value in store.list_refs(SOURCES).values():
        record = read_source_record(store, Oid(value))
        copy = StoredCopy(record.file_name, record.size, store, Oid(value))
        session = read_session(formats[record.format], copy)
        assert session.native_id == record.native_id
        assert session.is_stream or session.sub_file == record.part


def test_an_export_without_paths_has_names_that_import_as_the_same_sources(tmp_path):
    store = import_on(tmp_path, "first", FIRST, write_files)
    records = [read_source_record(store, Oid(oid)) for oid in store.list_refs(SOURCES).values()]
    names = [name for name, _ in name_files([StoredSource(record, Oid("0" * 40)) for record in records])]
    assert "main-session/subagents/agent-x7.jsonl" in names
    assert len(set(names)) == len(records)
