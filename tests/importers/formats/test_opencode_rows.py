"""Sessions as OpenCode keeps them: rows of its database, or files of its older folder."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from scopes.history.names import list_branch_tips
from scopes.importers.discovery import find_sources
from scopes.importers.formats.collection import encode_file, encode_row
from scopes.importers.formats.opencode import OpenCode
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import ImportOptions, import_sources
from tests.importers.databases import (
    OPENCODE,
    SESSION,
    STARTED,
    dialog,
    insert,
    make_database,
    message_rows,
    opencode_database,
    opencode_folder,
    session_row,
    source_at,
)
from tests.importers.formats.test_opencode import TOKENS
from tests.importers.reading import drafts, events_of, real_transcript, states, unparsed
from tests.importers.stores import branch_words, skipped_paths
from tests.importers.streams import import_paths
from tests.support.store import make_store

CALL = {
    "type": "tool",
    "tool": "edit",
    "callID": "call_1",
    "state": {
        "status": "completed",
        "input": {"filePath": "/a.py", "oldString": "x", "newString": "y"},
        "output": "ok",
    },
}
CHILD = "ses_e0310000000000000000000009"


def data_of(*rows):
    """Return the lines of a session."""
    return b"".join(encode_row(table, row) for table, row in rows)


def read(*rows):
    """Read the rows of a session."""
    return events_of(OpenCode(), data_of(*rows))


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


def import_rows(store, tmp_path, *rows, name="a.db"):
    path = tmp_path / name
    path.unlink(missing_ok=True)
    source = source_at(opencode_database(path, *rows))
    return import_sources(store, [source], FORMATS, ImportOptions())


def test_a_session_has_its_directory_its_title_and_its_time():
    events = read(*dialog("hello"))
    session = events[0]
    assert (session.native_id, session.cwd, session.title) == (SESSION, "/home/carol/shop", "About the shop")
    assert (session.created, session.details) == ("2026-11-21T06:48:20.000Z", {"version": "1.18.33"})
    assert OpenCode().sniff(data_of(*dialog("hello")))


def test_an_answer_has_its_model_its_tokens_and_its_files():
    info = {"modelID": "m1", "tokens": TOKENS, "finish": "stop", "path": {"cwd": "/home/carol"}}
    (answer,) = drafts(read(session_row(), *message_rows(0, "assistant", "Done.", CALL, **info)))
    assert (answer.kind, answer.model, answer.stop_reason, answer.cwd) == ("answer", "m1", "stop", "/home/carol")
    assert [part.type for part in answer.parts] == ["text", "tool_call", "tool_result"]
    assert [(touch.path, touch.op) for touch in answer.files] == [("/a.py", "edit")]
    assert answer.usage["raw"] == TOKENS


def test_a_message_has_the_bytes_of_its_row_and_of_its_parts():
    rows = [session_row(), *message_rows(0, "user", "one", "two"), *message_rows(1, "user", "three")]
    first, second = drafts(read(*rows))
    assert [len(first.spans), len(second.spans), first.native_ids] == [3, 2, ("msg_1fcd0000",)]


def test_an_error_without_an_answer_is_a_message_of_the_program():
    info = {"error": {"name": "APIError", "data": {"message": "no network"}}}
    (found,) = drafts(read(session_row(), *message_rows(0, "assistant", **info)))
    assert (found.kind, found.author.kind, found.status) == ("error", "system", "error")
    assert found.parts[0].text == "APIError: no network"


def test_a_compaction_is_a_summary_where_a_context_begins_and_its_request_is_not_a_prompt():
    rows = [*dialog("hello", "hi"), *message_rows(2, "user", {"type": "compaction", "auto": True})]
    rows += message_rows(3, "assistant", "So far: hello.", summary=True, mode="compaction")
    request, summary = drafts(read(*rows))[2:]
    assert (request.author.kind, request.kind) == ("injected", "meta")
    assert (summary.kind, summary.context_root) == ("compaction", True)


def test_text_that_only_the_program_wrote_is_injected():
    typed, added = {"type": "text", "text": "a"}, {"type": "text", "text": "b", "synthetic": True}
    rows = [session_row(), *message_rows(0, "user", typed, added), *message_rows(1, "user", added)]
    assert [draft.author.kind for draft in drafts(read(*rows))] == ["human", "injected"]


def test_messages_that_were_taken_back_are_on_a_branch_of_their_own(store, tmp_path):
    rows = dialog("hello", "hi", "wrong", "sure")
    rows[0] = session_row(revert=json.dumps({"messageID": "msg_1fcd0002"}))
    import_rows(store, tmp_path, *rows)
    assert branch_words(store) == "hello hi"
    (other,) = [name for name in list_branch_tips(store, "conv-001") if name != "main"]
    assert (other.startswith("abandoned/"), branch_words(store, other)) == (True, "hello hi wrong sure")


def test_messages_that_were_taken_back_stay_when_the_next_prompt_deletes_them(store, tmp_path):
    rows = dialog("hello", "hi", "wrong", "sure")
    import_rows(store, tmp_path, session_row(revert='{"messageID": "msg_1fcd0002"}'), *rows[1:])
    import_rows(store, tmp_path, *dialog("hello", "hi"), *message_rows(4, "user", "right"))
    tips = list_branch_tips(store, "conv-001")
    assert (branch_words(store), len(tips)) == ("hello hi right", 2)
    assert {branch_words(store, name) for name in tips} == {"hello hi right", "hello hi wrong sure"}


def test_a_part_of_a_message_that_was_taken_back_leaves_the_message(store, tmp_path):
    rows = dialog("hello", "hi")
    rows[0] = session_row(revert='{"messageID": "msg_1fcd0001", "partID": "prt_1"}')
    import_rows(store, tmp_path, *rows)
    assert (branch_words(store), list(list_branch_tips(store, "conv-001"))) == ("hello hi", ["main"])


def test_a_fork_shares_the_messages_that_it_copied(store, tmp_path):
    answer = {"modelID": "m1", "time": {"created": 1_795_243_701_123}}
    first = [session_row(), *message_rows(0, "user", "hello"), *message_rows(1, "assistant", "hi", **answer)]
    copied = {"session": CHILD, "prefix": "msg_2fcd"}
    fork = [
        session_row(CHILD, title="About the shop (fork #1)", time_created=1_795_243_900_000),
        *message_rows(0, "user", "hello", **copied),
        *message_rows(1, "assistant", "hi", **copied, **answer),
        *message_rows(2, "user", "otherwise", **copied),
    ]
    import_rows(store, tmp_path, *first, *message_rows(2, "user", "more"), *fork)
    tips = list_branch_tips(store, "conv-001")
    assert sorted(branch_words(store, name) for name in tips) == ["hello hi more", "hello hi otherwise"]


def test_a_sub_agent_is_a_branch_that_the_call_of_its_parent_started(store, tmp_path):
    state = {"status": "completed", "input": {}, "output": "found", "metadata": {"sessionId": CHILD}}
    task = {"type": "tool", "tool": "task", "callID": "call_7", "state": state}
    child = [
        session_row(CHILD, parent_id=SESSION, agent="explore"),
        *message_rows(0, "user", "search", session=CHILD, prefix="msg_3fcd"),
    ]
    import_rows(
        store, tmp_path, session_row(), *message_rows(0, "user", "go"), *message_rows(1, "assistant", task), *child
    )
    tips = list_branch_tips(store, "conv-001")
    assert sorted(tips) == ["main", "subagent/explore"]
    assert branch_words(store, "subagent/explore") == "search"


def test_other_rows_of_a_session_are_states():
    rows = [*dialog("hello"), ("todo", {"content": "x"}), ("event", {"seq": 1, "data": "{}"})]
    assert states(read(*rows)) == ["session", "todo", "event"]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (("message", {"id": "m", "data": "{"}), "not a row that can be read"),
        (("message", {"id": "m", "data": '{"role":"robot"}'}), "a row of message that belongs to no message"),
        (("part", {"id": "p", "data": '{"type":"text","text":"x"}'}), "a row of part that belongs to no message"),
        (("other", {"id": "p"}), "a row of other that belongs to no message"),
    ],
)
def test_a_row_that_cannot_be_read_is_kept_and_counted(row, why):
    events = read(session_row(), row, *dialog("hello")[1:])
    assert unparsed(events) == [why]
    assert [draft.parts[0].text for draft in drafts(events)] == ["hello"]


def test_a_session_whose_file_is_damaged_still_has_its_messages():
    events = events_of(OpenCode(), encode_file("session/p/s.json", b'{"id') + data_of(*dialog("hello")[1:]))
    assert (events[0].native_id, len(drafts(events)), len(unparsed(events))) == ("unknown", 1, 1)


def test_files_of_the_older_folder_give_the_same_messages_as_rows(tmp_path, store):
    rows = [
        session_row(),
        *message_rows(0, "user", "hello"),
        *message_rows(1, "assistant", "Done.", CALL, tokens=TOKENS),
    ]
    import_rows(store, tmp_path, *rows)
    other = make_store(tmp_path / "other.git")
    import_paths_of(other, opencode_folder(tmp_path / "storage", rows))
    assert list_branch_tips(store, "conv-001") == list_branch_tips(other, "conv-001")


def import_paths_of(store, folder):
    return import_sources(store, find_sources(str(folder)), FORMATS, ImportOptions())


LINES = data_of(
    *dialog("hello", "hi"), *message_rows(2, "assistant", "Done.", CALL, tokens=TOKENS), ("todo", {"content": "x"})
).splitlines(keepends=True)


def test_a_real_database_has_its_fork_its_revert_and_its_error(tmp_path, store):
    """What OpenCode 1.18 wrote: an error, a session with a compaction that was taken back, and a fork of it."""
    path = real_transcript("opencode", "gen_v1.18.33_opencode.db")
    done = import_paths(store, path)
    assert [source.unparsed for source in done.sources] == [0, 0, 0]
    assert [(row.messages, row.branches) for row in done.conversations] == [(2, 1), (11, 3)]
    assert [joined.equal_messages for joined in done.joined] == [6]
    assert import_paths(store, path).operation is None


def test_a_real_folder_has_its_fork(tmp_path, store):
    """What OpenCode 1.1 wrote: a session and a fork that shares its six messages."""
    sources = find_sources(real_transcript("opencode", "gen_v1.1.65_storage"))
    done = import_sources(store, sources, FORMATS, ImportOptions())
    assert ([(row.messages, row.branches) for row in done.conversations], skipped_paths(done)) == ([(9, 2)], [])
    assert [joined.equal_messages for joined in done.joined] == [6]


NEW_SCHEMA = """
CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, fork_session_id text, slug text, directory text,
  title text, version text, revert text, agent text, time_created integer, time_updated integer);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, data text);
"""


def new_session(name, *messages, **fields):
    """Return the rows of a session of OpenCode 2; a message is a type, a text or a list of parts, and tokens."""
    row = {
        "id": name,
        "slug": "s",
        "directory": "/home/dev/shop",
        "title": "Parser",
        "version": "2.0.8",
        "time_created": STARTED,
    }
    rows = [("session_v2", {**row, **fields})]
    for number, (kind, content, given) in enumerate(messages):
        data = {"text": content, "time": {"created": STARTED + 1000 * number}}
        if kind == "assistant":
            tokens = {"input": given, "output": given // 10, "reasoning": 0, "cache": {"read": given // 2, "write": 0}}
            data |= {"content": content, "model": {"providerID": "p", "id": "m-1"}, "tokens": tokens, "finish": "stop"}
        message = {"id": f"{name}_{number}", "session_id": name, "type": kind, "seq": number, "data": json.dumps(data)}
        rows.append(("session_message", message))
    return rows


TOOL = {
    "type": "tool",
    "id": "c1",
    "name": "bash",
    "state": {"status": "completed", "input": {"command": "ls"}, "content": [{"type": "text", "text": "a.py"}]},
}
ONE = [("user", "review", 0), ("assistant", [TOOL], 1000), ("assistant", [{"type": "text", "text": "Two bugs."}], 2000)]
MORE = [("user", "fix it", 0), ("assistant", [{"type": "text", "text": "Fixed."}], 4000)]


@pytest.mark.parametrize("with_older", [False, True])
def test_sessions_of_opencode_2_are_read_also_next_to_older_ones(store, tmp_path, with_older):
    """A fork names its session and copies the messages, whose tokens count once (deja-vu#3924, codeburn#1293)."""
    rows = [*new_session("ses_one", *ONE), *new_session("ses_two", *ONE, *MORE, fork_session_id="ses_one")]
    path = make_database(
        tmp_path / "opencode.db", OPENCODE if with_older else "", dialog("hello", "hi") if with_older else ()
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(NEW_SCHEMA)
        insert(connection, rows)
    done = import_sources(store, [source_at(path)], FORMATS, ImportOptions())
    assert (len(done.conversations), done.notes) == (2 if with_older else 1, ())
    forked = next(each.id for each in done.conversations if each.title == "Parser")
    assert sorted(branch_words(store, name, forked) for name in list_branch_tips(store, forked)) == [
        "review  Two bugs.", "review  Two bugs. fix it Fixed.",
    ]  # fmt: skip
    found = drafts(events_of(OpenCode(), data_of(*rows[:4])))
    assert [draft.usage and draft.usage["input_uncached"] for draft in found] == [None, 1000, 2000]
    assert [part.type for part in found[1].parts] == ["tool_call", "tool_result"]
    assert (found[1].model, found[1].parts[1].fields["output"], found[2].stop_reason) == ("m-1", "a.py", "stop")


def test_tables_of_a_later_version_that_are_not_read_are_named(store, tmp_path):
    """A database of which only a part was read says so."""
    path = opencode_database(tmp_path / "opencode.db", *dialog("hello", "hi"))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE session_v3 (id text); INSERT INTO session_v3 VALUES ('s'); CREATE TABLE part_v2 (id text)"
        )
    done = import_sources(store, [source_at(path)], FORMATS, ImportOptions())
    assert len(done.conversations) == 1
    assert [each.reason for each in done.skipped] == ["tables that no format reads: session_v3"]
