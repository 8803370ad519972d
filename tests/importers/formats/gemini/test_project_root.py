"""The directory of a project, the sub-agents and the other files of a session, by where Gemini CLI keeps its files."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.discovery import find_sources
from scopes.importers.formats.base import Source
from scopes.importers.formats.gemini import Gemini
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from tests.importers.formats.gemini.test_gemini import CONTEXT, SESSION, lines, message
from tests.importers.formats.gemini.test_session import HEADER, PROMPT, call
from tests.importers.reading import events_of, real_transcript
from tests.importers.stores import branch_words
from tests.importers.streams import import_paths
from tests.support.store import make_store

AGENT = "0b1c2d3e-0000-4000-8000-000000000001"
ROOT = "/home/dev/shop"
HASH = sha256(ROOT.encode()).hexdigest()


@pytest.fixture
def top(tmp_path):
    """The folder of Gemini CLI with the one of a project."""
    (tmp_path / "tmp/shop/chats").mkdir(parents=True)
    return tmp_path


def directory_of(path):
    """Return the directory that the files beside a session file name."""
    return next(Gemini().walk_events(Source(str(path), path.stat().st_size))).local_directory


def session_in(top, *records, name="chats/session-1.jsonl", project="shop"):
    """Write a session file of a project and return its path."""
    path = top / "tmp" / project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(*records))
    return path


def test_the_marker_of_the_project_names_its_directory(top):
    path = session_in(top, HEADER, PROMPT)
    assert directory_of(path) is None
    (top / "tmp/shop/.project_root").write_text(f"{ROOT}\n")
    assert directory_of(path) == ROOT
    assert directory_of(session_in(top, HEADER, name="chats/parent/agent.jsonl")) == ROOT


@pytest.mark.parametrize("folder", ["shop", HASH])
def test_without_a_marker_the_list_of_projects_has_the_directory_by_name_or_hash(top, folder):
    (top / "projects.json").write_text(json.dumps({"projects": {"/other": "other", "relative": "shop", ROOT: "shop"}}))
    assert directory_of(session_in(top, HEADER, project=folder)) == ROOT
    assert directory_of(session_in(top, HEADER, project="unknown")) is None


@pytest.mark.parametrize("marker", [b"", b"relative", b"/a\n/b", b"\xff\xfe", b"/" + b"x" * 5000])
@pytest.mark.parametrize("listed", [b"", b"{", b"[]", b'{"projects": 7}', b"[" * 100_000])
def test_damaged_files_next_to_a_session_name_no_directory(top, marker, listed):
    (top / "tmp/shop/.project_root").write_bytes(marker)
    (top / "projects.json").write_bytes(listed)
    assert directory_of(session_in(top, HEADER)) is None


def test_the_directory_is_metadata_of_this_machine_and_changes_no_commit(top):
    path = session_in(top, HEADER, PROMPT)
    before, after = make_store(top / "before.git"), make_store(top / "after.git")
    import_paths(before, path)
    (top / "tmp/shop/.project_root").write_text(ROOT)
    import_paths(after, path)
    same = ("refs/heads/", "refs/scopes/sources/", "refs/scopes/tracking/")
    assert before.list_refs(*same) == after.list_refs(*same)
    assert [read_metadata(store, "conv-001").directory for store in (before, after)] == [None, ROOT]
    assert import_paths(after, path).operation is None


def test_the_first_directory_of_the_workspace_is_that_of_a_sub_agent(top):
    header = {**HEADER, "sessionId": AGENT, "kind": "subagent", "directories": [ROOT, "/tmp"]}
    session = events_of(Gemini(), lines(header, PROMPT), str(session_in(top, name=f"chats/{SESSION}/{AGENT}.jsonl")))[0]
    assert (session.native_id, session.base, session.cwd, session.sub_file) == (AGENT, SESSION, ROOT, None)


def test_a_sub_agent_is_a_branch_of_the_session_whose_call_started_it(top):
    work = {
        **call("c", "investigate", result=[{"functionResponse": {"id": "c", "response": {"output": "ok"}}}]),
        "agentId": AGENT,
    }
    session_in(top, HEADER, PROMPT, message("a", "gemini", 2, "", toolCalls=[work]))
    child = {**HEADER, "sessionId": AGENT, "kind": "subagent"}
    session_in(top, child, message("s", "user", 3, "Look."), name=f"chats/{SESSION}/{AGENT}.jsonl")
    store = make_store(top / "store.git")
    import_sources(store, find_sources(str(top / "tmp")), FORMATS)
    assert len(conversation_ids(store)) == 1
    (name,) = set(list_branch_tips(store, "conv-001")) - {"main"}
    assert name.startswith("subagent/")
    assert branch_words(store, name).endswith("Look.")


def test_what_a_rewind_dropped_is_an_abandoned_branch(tmp_path):
    store, path = make_store(tmp_path / "store.git"), tmp_path / "s.jsonl"
    answer, later = message("a", "gemini", 2, "Done."), message("q", "user", 3, "Thanks.")
    path.write_bytes(lines(HEADER, PROMPT, answer, later, {"$rewindTo": "a"}, message("n", "user", 4, "No.")))
    import_paths(store, path)
    (name,) = set(list_branch_tips(store, "conv-001")) - {"main"}
    assert name.startswith("abandoned/")
    assert (branch_words(store), branch_words(store, name)) == ("Run it. No.", "Run it. Done. Thanks.")


STEPS = ("1-first", "2-after-resume", "3-after-list-sessions")


@pytest.mark.parametrize("steps", [STEPS, STEPS[::2], STEPS[1:]])
def test_a_session_that_gemini_destroys_stays_as_it_was(tmp_path, steps):
    """A resumed session has two files of one id, and `--list-sessions` deletes the one with the messages."""
    store = make_store(tmp_path / "store.git")
    before = None
    for step in steps:
        import_sources(store, find_sources(real_transcript("gemini-cli", f"gen_v0.61_{step}")), FORMATS)
        before = before if step == STEPS[2] else branch_words(store)
    assert before == branch_words(store)
    assert "First prompt" in before
    assert len(conversation_ids(store)) == 1
    assert not [name for name in list_branch_tips(store, "conv-001") if name.startswith("abandoned")]


def test_a_second_file_of_a_session_that_begins_anew_is_a_branch_of_its_own(tmp_path):
    """Also if it grows longer than the first file."""
    store, first, second = make_store(tmp_path / "store.git"), tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_bytes(lines(HEADER, message("c", "user", 1, CONTEXT), PROMPT))
    again = {**HEADER, "startTime": "2026-11-23T10:00:00Z"}
    for count in (1, 20):
        second.write_bytes(lines(again, *(message(f"m{number}", "user", 2, f"m{number}") for number in range(count))))
        import_paths(store, first, second)
    assert branch_words(store).endswith("Run it.")
    assert len(list_branch_tips(store, "conv-001")) == 2
