"""Sessions that `opencode export` writes, also cut off or with bytes that cannot be read."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.opencode.export import find_messages, is_export, read_info
from scopes.importers.formats.opencode.format import OpenCode
from tests.importers.formats.opencode.test_opencode import EXPORT, SESSION, TOKENS, export
from tests.importers.reading import drafts, events_of, states, unparsed

TEXT = {"type": "text", "text": "Hi."}


def one(head, *parts):
    """Read an export of one message."""
    return events_of(OpenCode(), export((head, list(parts))))


@pytest.mark.parametrize(
    ("head", "known"),
    [
        (b'{"info":{"id":"ses_1"}}', True),
        (b'{\n  "info": {\n    "id": "ses_1",', True),
        (b'Exporting session: ses_1\n{\n  "info": {"id": "ses_1"', True),
        (b' \n{"info":{"id":"ses_1"', True),
        (b'{"info":{"id":"msg_1"}}', False),
        (b'{"info":{"title":"x","id":"ses_1"}}', False),
        (b'{"id":"ses_1"}', False),
        (b'[{"info":{"id":"ses_1"}}]', False),
        (b'one\ntwo\n{"info":{"id":"ses_1"}}', False),
        (b"", False),
    ],
)
def test_an_export_begins_with_its_session_after_at_most_one_line(head, known):
    assert is_export(head) is known


@pytest.mark.parametrize(
    ("data", "info"),
    [
        (b'{"info":{"id":"ses_1","title":"x"},"messages":[]}', {"id": "ses_1", "title": "x"}),
        (b'{"info":{"id":"ses_1","tit', {}),
        (b'{"info":7}', {}),
        (b'{"info":' + b"[" * 5000, {}),
        (b"", {}),
    ],
)
def test_the_object_about_the_session_is_empty_if_it_cannot_be_read(data, info):
    assert read_info(data) == info


@pytest.mark.parametrize("space", [None, 2, "\t"])
def test_messages_are_found_at_their_bytes_however_the_export_is_indented(space):
    values = [{"parts": ["é🎉"]}, {"b": 1}, 7, None]
    data = json.dumps({"info": {"id": "ses_1"}, "messages": values}, indent=space, ensure_ascii=False).encode()
    found = list(find_messages(data))
    assert [element.value for element in found] == values
    assert [json.loads(data[each.start : each.end].strip(b", \n\t")) for each in found] == values


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b'{"info":{"id":"ses_1"},"messages":[]}', 0),
        (b'{"info":{"id":"ses_1"},"messages":[{"a":1},{"b":', 1),
        (b'{"info":{"id":"ses_1"},"messages":[{"a":1}', 1),
        (b'{"info":{"id":"ses_1"},"messages":[{"a":1},{"b":"\xff"},{"c":1}]}', 1),
        (b'{"info":{"id":"ses_1"},"messages":{"a":1}}', 0),
        (b'{"info":{"id":"ses_1"},"parts":[{"a":1}]}', 0),
        (b'{"messages":[{"a":1}]}', 0),
        (b'{"info":{"id":"ses_1"},"messages":[{"a":1},' + b"[" * 5000, 1),
    ],
)
def test_messages_end_at_the_first_one_that_cannot_be_read(data, count):
    assert len(list(find_messages(data))) == count


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"title": "Run it", "directory": "/p", "version": "1.2"}, ("Run it", "/p", {"version": "1.2"})),
        ({"title": "", "directory": None, "version": 7}, (None, None, {})),
        ({}, (None, None, {})),
    ],
)
def test_the_session_has_the_title_folder_and_version_that_the_export_tells(info, expected):
    data = json.dumps({"info": {"id": SESSION, **info}, "messages": []}).encode()
    session, *_, ending = events_of(OpenCode(), data)
    assert (session.title, session.cwd, session.details) == expected
    assert (session.native_id, session.is_stream, ending.title) == (SESSION, False, expected[0])


def test_a_message_tells_the_session_where_the_head_was_cut_off():
    data = b'{"info":{"id":"ses_'
    assert events_of(OpenCode(), data)[0].native_id == "unknown"
    assert unparsed(events_of(OpenCode(), data)) == ["incomplete export"]


@pytest.mark.parametrize(
    ("head", "kind", "author", "status"),
    [
        ({"role": "user"}, "prompt", "user", None),
        ({"role": "assistant"}, "answer", "opencode", None),
        ({"role": "assistant", "error": {"name": "APIError"}}, "answer", "opencode", "error"),
        ({"role": "assistant", "error": "no object"}, "answer", "opencode", None),
        ({"role": "user", "error": {"name": "APIError"}}, "prompt", "user", None),
    ],
)
def test_the_role_decides_what_a_message_is(head, kind, author, status):
    (draft,) = drafts(one({"id": "msg_1", **head}, TEXT))
    assert (draft.kind, draft.author.name, draft.status) == (kind, author, status)


def test_an_answer_of_nothing_but_an_error_is_an_error_of_the_program():
    (draft,) = drafts(
        one({"id": "msg_1", "role": "assistant", "error": {"name": "APIError", "data": {"message": "no"}}})
    )
    assert (draft.kind, tuple(draft.author), draft.parts[0].text) == ("error", ("opencode", "system"), "APIError: no")
    assert draft.stop_reason == "error"


def test_an_answer_that_broke_off_keeps_its_parts_before_the_error():
    (draft,) = drafts(one({"id": "msg_1", "role": "assistant", "error": {"name": "MessageAbortedError"}}, TEXT))
    assert [part.text for part in draft.parts] == ["Hi.", "MessageAbortedError"]


@pytest.mark.parametrize("role", [None, "system", 7, "tool"])
def test_a_message_of_an_unknown_role_is_noted_and_the_others_are_read(role):
    messages = [
        ({"id": f"msg_{number}", "role": each}, [TEXT]) for number, each in enumerate(["user", role, "assistant"])
    ]
    events = events_of(OpenCode(), export(*messages))
    assert [draft.kind for draft in drafts(events)] == ["prompt", "answer"]
    assert unparsed(events) == ["a message without a known role"]


@pytest.mark.parametrize("value", [None, 7, "text", [], {}])
def test_a_list_with_something_else_than_a_message_loses_only_that(value):
    data = json.loads(EXPORT)
    data["messages"].insert(1, value)
    events = events_of(OpenCode(), json.dumps(data).encode())
    assert [draft.parts for draft in drafts(events)] == [draft.parts for draft in drafts(events_of(OpenCode(), EXPORT))]
    assert len(unparsed(events)) == 1


@pytest.mark.parametrize("parts", [None, "x", {}, [None, 7, "x"]])
def test_a_message_without_readable_parts_is_an_empty_one(parts):
    data = json.dumps({"info": {"id": SESSION}, "messages": [{"info": {"role": "user", "id": "m"}, "parts": parts}]})
    (draft,) = drafts(events_of(OpenCode(), data.encode()))
    assert (draft.parts, draft.native_ids) == ((), ("m",))


def test_an_answer_has_its_model_tokens_folder_and_reason():
    head = {"id": "m", "role": "assistant", "modelID": "gpt", "tokens": TOKENS, "path": {"cwd": "/w"}, "finish": "stop"}
    (draft,) = drafts(one(head, TEXT))
    assert (draft.model, draft.usage["cache_read"], draft.cwd, draft.stop_reason) == ("gpt", 10, "/w", "stop")


@pytest.mark.parametrize("time", [None, 0, -1, 1.5, "2026", True, 10**18, {}])
def test_a_time_that_is_no_number_of_milliseconds_is_left_out(time):
    (draft,) = drafts(one({"id": "m", "role": "user", "time": {"created": time}}, TEXT))
    assert (draft.time, draft.precision) == (None, "none")


def test_the_bytes_around_the_messages_are_states_and_a_cut_is_noted():
    assert set(states(events_of(OpenCode(), EXPORT))) == {"session"}
    cut = events_of(OpenCode(), EXPORT[: EXPORT.index(b'"msg_2"')])
    assert (len(drafts(cut)), set(states(cut)), unparsed(cut)) == (2, {"session"}, ["incomplete export"])


def test_text_before_the_export_is_archived_with_its_head():
    events = events_of(OpenCode(), b"Exporting session: " + SESSION.encode() + b"\n" + EXPORT)
    assert (len(drafts(events)), events[0].native_id) == (3, SESSION)
