"""The database of Cursor's editor: bubbles become messages, old and new layouts alike, and secrets stay where they are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.discovery import find_sources
from scopes.importers.formats.cursor import Cursor
from scopes.importers.formats.cursor_editor import encode_cells
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.model.message import FileTouch, Part
from tests.importers.damage import odd_records
from tests.importers.databases import conversations_in, insert_into, lines_of, make_database, source_at
from tests.importers.formats.cursor.databases import (
    BUBBLES,
    CHAT,
    COMPOSER,
    MESSAGES,
    SECRET,
    bubble,
    chat_database,
    chat_rows,
    composer,
    editor_database,
    editor_rows,
    tool,
    value_row,
)
from tests.importers.formats.test_every_format import drawn
from tests.importers.reading import drafts, events_of, states, unparsed
from tests.importers.stores import branch_words, count_objects
from tests.support.store import make_store

WORDS = "limit the log-ins I read it. Now the tests. One is red. why? The limit is 5."


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


def read(path):
    """Return the events of the conversations in a database."""
    found, skipped = conversations_in(source_at(path))
    assert skipped == []
    return [events_of(Cursor(), source.open().read()) for source in found]


def read_one(tmp_path, *rows):
    (events,) = read(editor_database(tmp_path / "state.vscdb", *rows))
    return events


def read_bubbles(tmp_path, *bubbles, **fields):
    return read_one(tmp_path, *editor_rows(*bubbles, **fields))


def texts(events):
    return " ".join(part.text for draft in drafts(events) for part in draft.parts if part.type == "text")


def test_bubbles_become_prompts_and_answers(tmp_path):
    events = read_bubbles(tmp_path, *BUBBLES)
    assert [(draft.kind, draft.author.kind, [part.type for part in draft.parts]) for draft in drafts(events)] == [
        ("prompt", "human", ["text"]),
        ("answer", "agent", ["reasoning", "text", "tool_call", "tool_result", "tool_call", "tool_result"]),
        ("answer", "agent", ["text", "tool_call", "tool_result"]),
        ("answer", "agent", ["text"]),
        ("prompt", "human", ["text"]),
        ("answer", "agent", ["text"]),
    ]
    assert texts(events) == WORDS
    assert unparsed(events) == []


def test_the_session_is_what_the_conversation_says_of_itself(tmp_path):
    session = read_bubbles(tmp_path, *BUBBLES)[0]
    assert (session.native_id, session.title, session.cwd) == (COMPOSER, "Limit the log-ins", "/home/carol/shop")
    assert (session.created, session.is_stream) == ("2026-11-21T06:48:20.000Z", False)


def test_an_answer_has_the_time_the_model_and_the_counts_of_its_bubbles(tmp_path):
    first = drafts(read_bubbles(tmp_path, *BUBBLES))[1]
    assert (first.time, first.model) == ("2026-11-21T10:00:02.000Z", "claude-4.5-opus")
    assert (first.usage["input_uncached"], first.usage["output"]) == (900, 40)
    assert first.native_ids == ("b2", "b3", "b4", "b5")


def test_a_call_and_its_result_are_read_from_json_in_strings(tmp_path):
    answers = drafts(read_bubbles(tmp_path, *BUBBLES))
    edit = {"file_path": "login.py", "old_string": "0", "new_string": "5"}
    assert answers[1].parts[4] == Part("tool_call", {"call_id": "toolu_5", "name": "search_replace", "input": edit})
    assert answers[1].parts[3].fields["output"] == "LIMIT = 0"
    assert answers[1].files == (FileTouch("login.py", "read"), FileTouch("login.py", "edit"))
    run = answers[2].parts[2].fields
    assert (run["output"], run["exit_code"], run["is_error"]) == ("1 failed", 1, True)


@pytest.mark.parametrize(
    ("call", "fields"),
    [
        (tool(2, "grep", {}, "not JSON"), {"output": "not JSON"}),
        (
            tool(2, "grep", {}, "", status="error", error={"message": "no"}),
            {"output": {"message": "no"}, "is_error": True},
        ),
        (tool(2, "grep", {}, "", userDecision="rejected"), {"output": "", "is_error": True}),
        (
            tool(2, "grep", {}, "{}", additionalData={"status": "error"}),
            {"output": "{}", "structured": {}, "is_error": True},
        ),
    ],
)
def test_a_result_is_kept_as_it_is_and_says_whether_it_failed(tmp_path, call, fields):
    result = drafts(read_bubbles(tmp_path, BUBBLES[0], call))[1].parts[1]
    assert result == Part("tool_result", {"call_id": "toolu_2", **fields})


def test_the_order_is_that_of_the_list_and_bubbles_that_are_not_listed_stay_states(tmp_path):
    first, second = bubble(1, 1, "one"), bubble(2, 1, "two")
    events = read_one(tmp_path, *editor_rows(first, second, bubble(3, 1, "taken back"), listed=["b2", "b1", "gone"]))
    assert texts(events) == "two one"
    assert states(events) == ["conversation", "bubble/not-listed"]


def test_bubbles_without_a_conversation_are_one_in_the_order_of_their_times(tmp_path):
    rows = [
        value_row(f"bubbleId:{COMPOSER}:{name}", bubble(number, 1, f"at {number}"))
        for number, name in ((5, "a"), (3, "b"))
    ]
    events = read_one(tmp_path, *rows)
    assert (events[0].native_id, events[0].title, texts(events)) == (COMPOSER, None, "at 3 at 5")


@pytest.mark.parametrize("first", [0, 1])
def test_a_conversation_that_the_editor_and_the_command_line_have_is_one(tmp_path, store, first):
    """They are separate files of it, whichever comes first, and neither replaces the other."""
    paths = [
        editor_database(tmp_path / "state.vscdb", *editor_rows(*BUBBLES, name=CHAT)),
        chat_database(tmp_path / "store.db", *chat_rows(*MESSAGES)),
    ]
    import_sources(store, [source_at(paths[first])], FORMATS)
    import_sources(store, [source_at(paths[1 - first])], FORMATS)
    for sources in (paths, paths[::-1], paths[:1], paths[1:]):
        assert import_sources(store, [source_at(path) for path in sources], FORMATS).operation is None
    assert conversation_ids(store) == ["conv-001"]
    assert not [name for name in list_branch_tips(store, "conv-001") if name.startswith("abandoned")]


def test_a_conversation_in_the_layout_before_2025_is_named_as_not_read(tmp_path, store):
    old = composer(name="old", conversation=BUBBLES, listed=[])
    path = editor_database(tmp_path / "state.vscdb", value_row("composerData:old", old), *editor_rows(*BUBBLES))
    done = import_sources(store, [source_at(path)], FORMATS)
    assert [(each.path.partition("#")[2], each.reason) for each in done.skipped] == [("old", "contains no message")]
    assert conversation_ids(store) == ["conv-001"]


def test_a_newer_version_has_what_a_conversation_is_in_a_table_of_its_own(tmp_path):
    about = {
        "name": "From the table",
        "subagentInfo": {"parentComposerId": "p1", "toolCallId": "t1", "subagentTypeName": "explore"},
    }
    path = editor_database(tmp_path / "state.vscdb", *editor_rows(BUBBLES[0], name="c1"))
    value = {"_v": 16, "fullConversationHeadersOnly": [{"bubbleId": "b1"}]}
    schema = "CREATE TABLE composerHeaders (composerId TEXT, createdAt INTEGER, value TEXT)"
    row = ("composerHeaders", {"composerId": "c1", "createdAt": 1, "value": json.dumps(about)})
    make_database(path, schema, [row, value_row("composerData:c1", value)])
    (events,) = read(path)
    assert (events[0].title, events[0].base) == ("From the table", "p1")
    assert (events[0].spawned_by, events[0].details["agent"]) == ({"session": "p1", "call_id": "t1"}, "explore")


def test_a_sub_agent_is_a_branch_of_the_conversation_that_called_it(tmp_path, store):
    call = tool(2, "task_v2", {"prompt": "look"}, {"agentId": "sub"})
    below = {"parentComposerId": "top", "toolCallId": "toolu_2"}
    rows = editor_rows(BUBBLES[0], call, name="top") + editor_rows(bubble(1, 1, "look"), name="sub", subagentInfo=below)
    done = import_sources(store, [source_at(editor_database(tmp_path / "state.vscdb", *rows))], FORMATS)
    assert [(row.branches, row.messages) for row in done.conversations] == [(2, 3)]


def test_keys_of_encryption_and_other_items_are_left_out(tmp_path):
    rows = [
        *editor_rows(*BUBBLES),
        value_row("cursorAuth/accessToken", SECRET, "ItemTable"),
        value_row("agentKv:blob:1", SECRET),
    ]
    (source,) = conversations_in(source_at(editor_database(tmp_path / "state.vscdb", *rows)))[0]
    data = source.open().read()
    assert SECRET.encode() not in data
    assert b'\\"blobEncryptionKey\\":\\"\\"' in data


def test_texts_before_and_after_an_edit_belong_to_the_message_with_the_call(tmp_path):
    call = tool(
        2,
        "edit_file_v2",
        {"path": "a.py"},
        {"beforeContentId": "composer.content.aa", "afterContentId": "composer.content.bb"},
    )
    contents = [
        value_row("composer.content.aa", "LIMIT = 0"),
        value_row("composer.content.bb", "LIMIT = 5"),
        value_row("composer.content.cc", "x"),
    ]
    others = [value_row(f"messageRequestContext:{COMPOSER}:b1", {}), value_row("messageRequestContext:other:b1", {})]
    path = editor_database(tmp_path / "state.vscdb", *editor_rows(BUBBLES[0], call), *contents, *others)
    (source,) = conversations_in(source_at(path))[0]
    assert [line["row"]["key"].partition(":")[0] for line in lines_of(source)] == [
        "composerData", "bubbleId", "bubbleId", "composer.content.aa", "composer.content.bb", "messageRequestContext",
    ]  # fmt: skip
    assert len(drafts(events_of(Cursor(), source.open().read()))[1].spans) == 3


def test_bubbles_that_cannot_be_read_are_kept_and_counted(tmp_path):
    odd = [bubble(2, 9, "x"), bubble(3, 2), bubble(4, 1)]
    rows = [*editor_rows(BUBBLES[0], *odd, listed=["b1", "b2", "b3", "b4", "b5", "b6"])]
    rows += [value_row(f"bubbleId:{COMPOSER}:b5", "{cut off"), value_row(f"bubbleId:{COMPOSER}:b6", "null")]
    events = read_one(tmp_path, *rows)
    assert unparsed(events) == ["a bubble of the type none", "a bubble that is no JSON object"]
    assert states(events) == ["conversation", "bubble/empty", "bubble/empty", "bubble/empty"]


def test_a_conversation_that_cannot_be_read_keeps_its_bubbles(tmp_path):
    rows = [value_row(f"composerData:{COMPOSER}", "{cut"), value_row(f"bubbleId:{COMPOSER}:b1", BUBBLES[0])]
    events = read_one(tmp_path, *rows)
    assert (texts(events), unparsed(events)) == ("limit the log-ins", ["a conversation that cannot be read"])


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///home/carol/my%20shop", "/home/carol/my shop"),
        ("file:///c%3A/shop", "c:/shop"),
        ("shop", None),
        (7, None),
    ],
)
def test_the_directory_may_only_be_in_a_bubble(tmp_path, uri, path):
    session = read_bubbles(tmp_path, bubble(1, 1, "x", workspaceUris=[uri]), workspaceIdentifier={})[0]
    assert session.cwd == path


def test_a_second_import_writes_nothing_and_a_grown_one_only_what_is_new(tmp_path, store):
    path = editor_database(tmp_path / "state.vscdb", *editor_rows(*BUBBLES[:8]))
    import_sources(store, [source_at(path)], FORMATS)
    objects = count_objects(store)
    assert import_sources(store, [source_at(path)], FORMATS).operation is None
    assert count_objects(store) == objects
    insert_into(path, editor_rows(*BUBBLES, status="generating", lastUpdatedAt=STARTED_LATER))
    done = import_sources(store, [source_at(path)], FORMATS)
    assert [(row.new_messages, row.branches) for row in done.conversations] == [(2, 1)]
    assert branch_words(store) == WORDS


STARTED_LATER = 1_795_243_999_000


def test_databases_below_a_folder_are_found(tmp_path):
    folder = tmp_path / "User" / "globalStorage"
    folder.mkdir(parents=True)
    path = editor_database(folder / "state.vscdb", *editor_rows(*BUBBLES))
    assert [source.path for source in find_sources(str(tmp_path))] == [str(path)]


@drawn
@given(data=st.data())
def test_bubbles_with_odd_values_are_read(data):
    values = data.draw(odd_records([composer(*BUBBLES), *BUBBLES]))
    keys = [f"composerData:{COMPOSER}", *(f"bubbleId:{COMPOSER}:{each['bubbleId']}" for each in BUBBLES)]
    rows = zip(keys, values, strict=False)
    events_of(Cursor(), b"".join(encode_cells(*value_row(key, json.dumps(value))) for key, value in rows))
