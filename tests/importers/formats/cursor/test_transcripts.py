"""Transcripts of Cursor: what is left of a chat whose database is gone, and left out where that is imported."""

from __future__ import annotations

import json

import pytest

from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.discovery import find_sources
from scopes.importers.formats.cursor import Cursor
from scopes.importers.formats.events import Ending, RunEnd
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.model.message import Part
from tests.importers.databases import source_at
from tests.importers.formats.cursor.databases import CHAT, MESSAGES, chat_database, chat_rows
from tests.importers.formats.cursor.events import journal, turn
from tests.importers.reading import drafts, events_of, states, unparsed
from tests.importers.stores import branch_words
from tests.importers.streams import import_paths
from tests.support.store import make_store

SUB = "b1b2c3d4-e5f6-4890-abcd-ef1234567890"


def line(role, *blocks):
    content = [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks]
    return {"role": role, "message": {"content": content}}


EDIT = {"type": "tool_use", "name": "StrReplace", "input": {"path": "login.py", "old_string": "0", "new_string": "5"}}
LINES = [
    line("user", "<user_query>\nlimit the log-ins\n</user_query>"),
    line("assistant", "I edit.", EDIT),
    line("assistant", "Done."),
    {"type": "turn_ended", "status": "success"},
]


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


def data_of(*lines):
    return "".join(json.dumps(each) + "\n" for each in lines).encode()


def transcript(top, *lines, name=CHAT):
    path = top / "projects" / "home-carol-shop" / "agent-transcripts" / name / f"{name.rpartition('/')[2]}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data_of(*lines))
    return path


def read(*lines, path=f"/{CHAT}.jsonl"):
    return events_of(Cursor(), data_of(*lines), path)


def test_lines_become_prompts_answers_and_calls():
    events = read(*LINES)
    assert [(draft.kind, draft.author.kind) for draft in drafts(events)] == [
        ("prompt", "human"), ("answer", "agent"), ("answer", "agent"),
    ]  # fmt: skip
    assert drafts(events)[0].parts[0].text == "limit the log-ins"
    assert drafts(events)[1].parts[1] == Part("tool_call", {"name": "StrReplace", "input": EDIT["input"]})
    assert (states(events), unparsed(events)) == (["turn_ended"], [])


def test_the_end_of_the_last_turn_is_that_of_the_run():
    assert read(*LINES)[-1].run_end == RunEnd("success")
    failed = read(*LINES[:2], {"type": "turn_ended", "status": "error", "error": "no network"})[-1]
    assert isinstance(failed, Ending)
    assert failed.run_end == RunEnd("error", "no network")


def test_other_lines_are_kept_and_counted():
    assert unparsed(read(*LINES, {"type": "news"}, line("tool", "x"))) == [
        "a line of the type 'news'", "a line of the type none",
    ]  # fmt: skip


def test_a_transcript_is_a_conversation_where_the_database_is_gone(tmp_path, store):
    path = transcript(tmp_path, *LINES[:2])
    import_sources(store, find_sources(str(tmp_path / "projects")), FORMATS)
    assert import_paths(store, path).operation is None
    path.write_bytes(data_of(*LINES))
    done = import_paths(store, path)
    assert [row.new_messages for row in done.conversations] == [1]
    assert conversation_ids(store) == ["conv-001"]
    assert branch_words(store) == "limit the log-ins I edit. Done."


def test_transcripts_are_left_out_where_the_databases_are_imported_and_one_note_says_so(tmp_path, store):
    paths = [transcript(tmp_path, *LINES, name=name) for name in (CHAT, SUB)]
    databases = [
        chat_database(tmp_path / f"{name}.db", *chat_rows(*MESSAGES[place:], agentId=name))
        for place, name in enumerate((CHAT, SUB))
    ]
    sources = [*find_sources(str(tmp_path / "projects")), *map(source_at, databases)]
    done = import_sources(store, sources, FORMATS)
    assert [each.path for each in done.skipped] == [str(path) for path in paths]
    (note,) = (note.text for note in done.notes if "skipped" in note.text)
    assert note.endswith("and 1 more: made of a session of cursor, which is imported itself")
    assert [list(list_branch_tips(store, name)) for name in conversation_ids(store)] == [["main"], ["main"]]


@pytest.mark.parametrize("first", ["transcript", "hooks"])
def test_a_database_that_comes_later_belongs_to_the_same_conversation(tmp_path, store, first):
    log = tmp_path / "hooks.jsonl"
    log.write_bytes(journal(*turn(conversation=CHAT)))
    import_paths(store, transcript(tmp_path, *LINES) if first == "transcript" else log)
    import_sources(store, [source_at(chat_database(tmp_path / "store.db", *chat_rows(*MESSAGES)))], FORMATS)
    assert conversation_ids(store) == ["conv-001"]
    assert branch_words(store).split()[-1] == "5."


def test_a_transcript_of_a_sub_agent_is_a_branch_of_the_conversation_above(tmp_path, store):
    look = {"type": "tool_use", "name": "Grep", "input": {"pattern": "LIMIT"}}
    below = transcript(tmp_path, line("user", "look"), line("assistant", look), name=f"{CHAT}/subagents/{SUB}")
    path = below.parent.parent / below.name
    below.rename(path)
    database = chat_database(tmp_path / "store.db", *chat_rows(*MESSAGES))
    done = import_sources(store, [source_at(database), *find_sources(str(path))], FORMATS)
    assert [(row.branches, row.messages) for row in done.conversations] == [(2, 12)]


def test_a_transcript_has_the_times_of_its_prompts_and_no_marks_of_reasoning():
    """kenn-io/agentsview#1627, Dicklesworthstone/coding_agent_session_search#306."""
    asked = "<timestamp>Thursday, Sep 10, 2026, 8:00 AM (UTC+3)</timestamp>\n<user_query>\nspeed up\n</user_query>"
    events = read(line("user", asked), line("assistant", "Done.\n\n[REDACTED]"), line("assistant", "[REDACTED]", EDIT))
    assert [[part.text or part.type for part in draft.parts] for draft in drafts(events)] == [
        ["speed up"], ["Done."], ["tool_call"],
    ]  # fmt: skip
    assert [draft.time for draft in drafts(events)] == ["2026-09-10T05:00:00.000Z", None, None]
    assert events[0].created == "2026-09-10T05:00:00.000Z"


@pytest.mark.parametrize("first", [0, 1])
def test_a_sub_agent_belongs_to_the_call_in_the_transcript_of_its_parent(tmp_path, store, first):
    """kenn-io/agentsview#1662: both files are streams, and they are found in any order."""
    call = {"type": "tool_use", "name": "Subagent", "input": {"description": "profile", "prompt": "profile it"}}
    parent = transcript(tmp_path, LINES[0], line("assistant", "I delegate.", call), LINES[2])
    below = parent.parent / "subagents" / f"{SUB}.jsonl"
    below.parent.mkdir()
    below.write_bytes(data_of(line("user", "<user_query>\nprofile it\n</user_query>"), line("assistant", "Slow.")))
    import_paths(store, *[parent, below][:: -1 if first else 1])
    assert conversation_ids(store) == ["conv-001"]
    tips = list_branch_tips(store, "conv-001")
    (name,) = set(tips) - {"main"}
    head, _ = walk_headers_oldest_first(store, [tips[name]])
    _, answer, _ = walk_headers_oldest_first(store, [tips["main"]])
    assert read_message(store, head.oid).extra["spawned_by"]["message"] == answer.id
