"""The database of a chat of Cursor's command line: the messages that its root names, and everything else kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import CannotImport
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.formats.cursor import Cursor
from scopes.importers.formats.cursor_chat import read_fields
from scopes.importers.formats.cursor_editor import encode_cells
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.model.message import FileTouch, Part
from tests.importers.damage import odd_records
from tests.importers.databases import conversations_in, insert_into, lines_of, source_at
from tests.importers.formats.cursor.databases import (
    CHAT,
    MESSAGES,
    SECRET,
    blob,
    called,
    chat_database,
    chat_lines,
    chat_rows,
    field,
    returned,
    typed,
)
from tests.importers.formats.cursor.events import journal, turn
from tests.importers.formats.test_every_format import drawn
from tests.importers.reading import drafts, events_of, real_transcript, source_of, states, unparsed
from tests.importers.stores import branch_words, count_objects
from tests.importers.streams import import_paths
from tests.support.store import make_store


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


def expand(path):
    (source,) = conversations_in(source_at(path))[0]
    return source


def read(tmp_path, *rows):
    """Return the events of a chat."""
    return events_of(Cursor(), expand(chat_database(tmp_path / "store.db", *rows)).open().read())


def texts(events):
    return [part.text for draft in drafts(events) for part in draft.parts if part.type == "text"]


def test_messages_are_those_of_the_root_in_its_order(tmp_path):
    events = read(tmp_path, *chat_rows(*MESSAGES))
    assert [(draft.kind, draft.author.kind, [part.type for part in draft.parts]) for draft in drafts(events)] == [
        ("system", "injected", ["text"]),
        ("meta", "injected", ["text"]),
        ("prompt", "human", ["text"]),
        ("answer", "agent", ["reasoning", "tool_call"]),
        ("tool-results", "tool", ["tool_result"]),
        ("answer", "agent", ["tool_call"]),
        ("tool-results", "tool", ["tool_result"]),
        ("answer", "agent", ["text"]),
        ("prompt", "human", ["text"]),
        ("answer", "agent", ["reasoning", "text"]),
    ]
    assert (states(events), unparsed(events)) == (["meta", "root"], [])


def test_a_prompt_is_what_was_typed_and_its_context_comes_after_it(tmp_path):
    around = typed("why?")
    around["content"][0]["text"] = "<attached_files>\na.py\n</attached_files>\n<user_query>\nwhy?\n</user_query>"
    events = read(tmp_path, *chat_rows(typed("limit the log-ins"), around, {"role": "user", "content": "plain"}))
    assert texts(events) == ["limit the log-ins", "why?", "<attached_files>\na.py\n</attached_files>", "plain"]
    assert {draft.kind for draft in drafts(events)} == {"prompt"}
    assert "r1" in drafts(events)[0].native_ids


def test_an_answer_names_its_model_and_its_calls_name_files(tmp_path):
    answer, result = drafts(read(tmp_path, *chat_rows(*MESSAGES)))[3:5]
    edit = {"path": "login.py", "old_string": "0", "new_string": "5"}
    assert answer.model == "composer-2.5"
    assert answer.parts == (
        Part("reasoning", {"text": "first the limit", "opaque": "sig"}),
        Part("tool_call", {"call_id": "call_1", "name": "StrReplace", "input": edit}),
    )
    assert result.files == (FileTouch("login.py", "edit"),)


@pytest.mark.parametrize(
    ("result", "fields"),
    [
        (returned(1, "Read", "no", isError=True), {"output": "no", "is_error": True}),
        (returned(1, "Read", "no", output={"isError": True}), {"output": "no", "is_error": True}),
        (returned(1, "Read", {"text": 1}), {"output": {"text": 1}}),
        ({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "call_1", "experimental_content": [{"type": "text", "text": "ok"}]}]}, {"output": "ok"}),
    ],
)  # fmt: skip
def test_a_result_is_kept_as_it_is_and_says_whether_it_failed(tmp_path, result, fields):
    events = read(tmp_path, *chat_rows(typed("x"), called(1, "Read", {"path": "a"}), result))
    assert drafts(events)[-1].parts == (Part("tool_result", {"call_id": "call_1", **fields}),)


def test_blobs_that_are_no_message_of_the_root_are_states(tmp_path):
    lost = blob(b"\x0a\x05hello")
    earlier = blob({"role": "user", "content": "of an older root"})
    rows = [("blobs", {"id": name, "data": content}) for name, content in (lost, earlier)]
    events = read(tmp_path, *chat_rows(typed("x"), others=[field(1, b"hi\xff")]), *rows)
    assert sorted(states(events)) == ["blob", "blob", "message/not-in-root", "meta", "root"]
    assert unparsed(events) == []


def test_a_message_that_the_store_does_not_have_is_counted(tmp_path):
    rows = [row for row in chat_rows(*MESSAGES) if row[1].get("id") != blob(MESSAGES[7])[0]]
    events = read(tmp_path, *rows)
    assert (len(drafts(events)), unparsed(events)) == (9, ["a message that the store does not have"])


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_chat_whose_root_is_cut_or_gone_is_named_with_its_cure(tmp_path, store, is_cut):
    rows = chat_rows(*MESSAGES)
    root = rows[-2][1]
    rows[-2:-1] = [("blobs", {**root, "data": root["data"][:-7]})] if is_cut else []
    paths = [chat_database(tmp_path / "store.db", *rows), chat_database(tmp_path / "good.db", *chat_rows(typed("x")))]
    with pytest.raises(CannotImport, match="the list of its messages is missing or damaged") as refusal:
        import_sources(store, [source_at(paths[0])], FORMATS)
    assert "~/.cursor/projects" in refusal.value.hint
    done = import_sources(store, list(map(source_at, paths)), FORMATS)
    assert [each.path for each in done.skipped] == [f"{paths[0]}#{CHAT}"]
    assert list(conversation_ids(store)) == ["conv-001"]


def test_messages_are_text_in_the_lines_and_the_key_of_encryption_is_left_out(tmp_path):
    source = expand(chat_database(tmp_path / "store.db", *chat_rows(*MESSAGES)))
    data = source.open().read()
    assert SECRET.encode() not in data
    assert SECRET.encode().hex().encode() not in data
    assert b"limit the log-ins" in data
    assert [line["table"] for line in lines_of(source)] == ["meta", *["blobs"] * 11]


@pytest.mark.parametrize("key", ["{}", "not hexadecimal", "ff00"])
def test_a_chat_without_an_id_has_no_message(tmp_path, key):
    rows = [row for row in chat_rows(*MESSAGES) if row[0] == "blobs"]
    source = expand(chat_database(tmp_path / "store.db", *rows, ("meta", {"key": "0", "value": key})))
    assert source.name == "unknown"
    assert not Cursor().sniff(source.open().read(1000))


def test_meta_may_have_a_row_for_each_field(tmp_path):
    rows = chat_rows(typed("x"))
    about = json.loads(bytes.fromhex(rows.pop()[1]["value"]))
    fields = [("meta", {"key": name, "value": str(value)}) for name, value in about.items()]
    events = read(tmp_path, *rows, *fields)
    assert (events[0].native_id, texts(events)) == (CHAT, ["x"])


def test_a_second_import_writes_nothing_and_a_grown_one_only_what_is_new(tmp_path, store):
    path = chat_database(tmp_path / "store.db", *chat_rows(*MESSAGES[:8]), wal=True)
    import_sources(store, [source_at(path)], FORMATS)
    objects = count_objects(store)
    assert import_sources(store, [source_at(path)], FORMATS).operation is None
    assert count_objects(store) == objects
    insert_into(path, chat_rows(*MESSAGES))
    done = import_sources(store, [source_at(path)], FORMATS)
    assert [(row.new_messages, row.branches) for row in done.conversations] == [(2, 1)]


EDIT = {"path": "login.py", "old_string": "LIMIT = 0", "new_string": "LIMIT = 5"}
REPORTED = [  # a turn of which the hooks know
    typed("prompt 1"), called(1, "StrReplace", EDIT), returned(1, "StrReplace", "ok"), called(2, "Shell", {"command": "pytest -q"}),
    returned(2, "Shell", "3 passed"), {"role": "assistant", "content": "answer 1"},
]  # fmt: skip


def hook_journal(tmp_path):
    log = tmp_path / "hooks.jsonl"
    log.write_bytes(journal(*turn(conversation=CHAT)))
    return log


def test_what_the_hooks_recorded_belongs_to_the_conversation_of_the_store(tmp_path, store):
    """Both name it by one id; a turn that both have counts once."""
    import_paths(store, hook_journal(tmp_path))
    import_sources(store, [source_at(chat_database(tmp_path / "store.db", *chat_rows(*REPORTED)))], FORMATS)
    assert conversation_ids(store) == ["conv-001"]
    assert branch_words(store).split() == ["prompt", "1", "answer", "1"]
    assert import_paths(store, tmp_path / "hooks.jsonl").operation is None


def test_what_only_the_hooks_recorded_is_a_branch_of_the_same_conversation(tmp_path, store):
    import_sources(store, [source_at(chat_database(tmp_path / "store.db", *chat_rows(*REPORTED[:3])))], FORMATS)
    import_paths(store, hook_journal(tmp_path))
    assert conversation_ids(store) == ["conv-001"]
    assert len(list_branch_tips(store, "conv-001")) == 2


def test_fields_of_all_widths_are_passed_over():
    data = b"\x08\x96\x01" + b"\x11" + b"\x00" * 8 + b"\x1d" + b"\x00" * 4 + field(300, b"x" * 200)
    assert read_fields(data) == [(300, b"x" * 200)]


def test_the_sample_of_another_reader_has_a_chat_without_a_message(store):
    path = real_transcript("cursor", "test-store.db")
    (source,) = conversations_in(source_of(path))[0]
    events = events_of(Cursor(), source.open().read())
    assert (events[0].title, states(events), unparsed(events)) == ("Test Session", ["meta"], [])
    assert lines_of(source)[0]["row"]["key"] == "0"
    done = import_sources(store, [source_of(path)], FORMATS)
    assert [each.reason for each in done.skipped] == ["contains no message"]


@drawn
@given(data=st.data())
def test_messages_with_odd_values_are_read(data):
    meta, root, *_ = chat_lines(*chat_rows(*MESSAGES))
    values = zip(MESSAGES, data.draw(odd_records(MESSAGES)), strict=False)
    blobs = [encode_cells("blobs", {"id": blob(known)[0], "data": json.dumps(value)}) for known, value in values]
    events_of(Cursor(), b"".join([meta, root, *blobs]))
