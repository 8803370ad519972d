"""Message lists: every conversation is its own session, and every byte of the file is kept."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import CannotImport
from scopes.importers.formats.base import SNIFF_BYTES, choose_format
from scopes.importers.formats.events import Draft, Ending, Session, SessionRecord, Unparsed
from scopes.importers.formats.openai import OpenAIMessages
from scopes.importers.formats.registry import FORMATS
from tests.importers.damage import draw_damaged
from tests.importers.reading import bytes_source, check, drafts, events_of, real_transcript, source_of, states, unparsed
from tests.support.examples import examples

SYSTEM = {"role": "system", "content": "Be brief"}
HI = {"role": "user", "content": "Hi"}
LOOK = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
}
FOUND = {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "tea"}
YES = {"role": "assistant", "content": "Yes"}
TALK = [SYSTEM, HI, LOOK, FOUND, YES]
RECORD = {"task_id": 3, "reward": 1.0, "info": {"task": {"actions": []}}, "traj": TALK, "trial": 2}
SLOW = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read(value):
    """Read a document, a text or bytes, check the events and return them."""
    data = (
        value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else json.dumps(value).encode()
    )
    return events_of(OpenAIMessages(), data)


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values)


def sessions(events):
    return [event for event in events if isinstance(event, Session)]


def lengths(events):
    """Return how many messages each session has."""
    found = []
    for event in events:
        if isinstance(event, Session):
            found.append(0)
        found[-1] += isinstance(event, Draft)
    return found


@pytest.mark.parametrize(
    "value",
    [
        TALK,
        {"messages": TALK},
        {"model": "m", "messages": TALK, "n": 1},
        [RECORD],
        [{"messages": TALK}],
        [TALK],
        lines(TALK),
        lines({"messages": TALK}),
    ],
)
def test_a_list_is_recognized_at_any_position(value):
    data = value if isinstance(value, str) else json.dumps(value, indent=2)
    assert OpenAIMessages().sniff(data.encode())
    assert OpenAIMessages().sniff(b"\xef\xbb\xbf\n" + data.encode())
    assert lengths(read(data)) == [5]


def test_a_list_longer_than_the_sniffed_head_is_recognized():
    for value in (TALK, {"messages": TALK}, [RECORD]):
        data = json.dumps(value).replace('"Yes"', '"' + "y" * SNIFF_BYTES + '"').encode()
        assert OpenAIMessages().sniff(data[:SNIFF_BYTES])


@pytest.mark.parametrize(
    "value",
    [
        [], {}, [1], "x", 7, HI, [{"n": 1}], {"messages": []}, {"messages": [{"type": "user", "content": "x"}]}, {"history": TALK},
        {"sessionId": "s", "messages": [{"id": "a", "type": "gemini", "content": "x"}]}, {"type": "user", "message": HI},
        {"info": {}, "messages": [{"info": {"role": "user"}, "parts": []}]},
    ],
)  # fmt: skip
def test_other_formats_are_not_taken(value):
    assert not OpenAIMessages().sniff(json.dumps(value).encode())


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"\x00\x00", b"# Notes\n\n```\n", b"SQLite format 3\x00", b"[" * 100_000]
)
def test_invalid_json_is_not_a_list(data):
    assert not OpenAIMessages().sniff(data)
    assert lengths(read(data)) == [0]


def test_roles_give_the_author():
    found = [(draft.kind, draft.author.name, draft.author.kind) for draft in drafts(read(TALK))]
    assert found == [
        ("system", "user", "injected"), ("prompt", "user", "human"), ("answer", "openai-messages", "agent"),
        ("tool-results", "tool", "tool"), ("answer", "openai-messages", "agent"),
    ]  # fmt: skip


def test_a_name_distinguishes_authors_of_one_role():
    found = drafts(read([HI | {"name": "carol"}, YES | {"name": "bob"}, {"role": "developer", "content": "x"}]))
    assert [(draft.author.name, draft.author.kind) for draft in found] == [
        ("carol", "human"),
        ("bob", "agent"),
        ("user", "injected"),
    ]


def test_every_message_follows_the_one_before():
    found = drafts(read(TALK))
    assert [draft.parent for draft in found] == [None, *(draft.key for draft in found[:-1])]
    assert (found[3].reply_to, found[3].tool) == (None, "look")


def test_consecutive_results_are_one_message():
    events = read([LOOK, FOUND, FOUND | {"tool_call_id": "c2"}, YES])
    found = drafts(events)
    assert [draft.kind for draft in found] == ["answer", "tool-results", "answer"]
    assert [part.fields["call_id"] for part in found[1].parts] == ["c1", "c2"]
    assert (found[1].tool, len(found[1].spans)) == ("look", 2)


def test_results_of_several_tools_name_none():
    assert drafts(read([FOUND, FOUND | {"name": "count"}]))[0].tool is None


def test_the_older_form_of_a_result_names_its_tool():
    found = drafts(read([{"role": "function", "name": "look", "content": "tea"}]))[0]
    assert (found.kind, found.tool) == ("tool-results", "look")


def test_answers_have_the_model_of_the_conversation():
    assert [draft.model for draft in drafts(read({"model": "gpt-4o", "messages": [HI, YES]}))] == [None, "gpt-4o"]


def test_the_time_of_a_message_is_read():
    found = drafts(read([HI | {"timestamp": "2026-04-11T10:00:00Z"}, YES | {"timestamp": 1}]))
    assert [(draft.time, draft.precision) for draft in found] == [("2026-04-11T10:00:00Z", "exact"), (None, "none")]


def test_a_message_has_its_own_native_id():
    assert drafts(read([HI | {"id": "m1"}, YES | {"id": 7}]))[0].native_ids == ("m1",)


@pytest.mark.parametrize(
    "value", [[RECORD, RECORD], lines(RECORD, RECORD), lines(TALK, {"messages": TALK}), [TALK, TALK]]
)
def test_every_conversation_is_a_session(value):
    events = read(value)
    assert lengths(events) == [5, 5]
    assert len({session.native_id for session in sessions(events)}) == 2
    assert sum(isinstance(event, Ending) for event in events) == 2


def test_a_conversation_is_named_by_its_bytes():
    data = json.dumps([RECORD]).encode()
    assert sessions(read(data))[0].native_id == sha256(data[1:-1]).hexdigest()
    assert sessions(read([RECORD, YES]))[0].native_id == sessions(read(data))[0].native_id


def test_a_conversation_repeated_in_a_file_has_two_names():
    first, second = sessions(read([RECORD, RECORD]))
    assert second.native_id == f"{first.native_id}#2"


@pytest.mark.parametrize("name", ["id", "conversation_id", "session_id", "thread_id"])
def test_a_conversation_with_its_own_id_keeps_it(name):
    assert sessions(read({name: "chatcmpl-0123456789", "messages": TALK}))[0].native_id == "chatcmpl-0123456789"


@pytest.mark.parametrize("name", ["7", "", 7, None, "conv-001"])
def test_an_id_that_is_not_globally_unique_is_not_used(name):
    """A number in a file is not unique beyond it."""
    assert len(sessions(read({"id": name, "messages": TALK}))[0].native_id) == 64


def test_other_members_of_a_record_are_in_the_details():
    session = sessions(read([RECORD]))[0]
    assert (session.details["task_id"], session.details["trial"], session.details["reward"]) == (3, 2, 1.0)


def test_title_and_time_of_the_conversation_are_read():
    session = sessions(read({"title": "Tea", "created_at": "2026-04-11T10:00:00Z", "messages": TALK}))[0]
    assert (session.title, session.created) == ("Tea", "2026-04-11T10:00:00Z")


def test_bytes_around_the_messages_are_a_state():
    data = json.dumps(RECORD).encode()
    (state,) = [event for event in read(data) if isinstance(event, SessionRecord)]
    assert [data[span.offset : span.offset + span.length] for span in state.spans] == [
        data[: data.index(b'{"role": "system"')],
        b'], "trial": 2}',
    ]


def test_the_bytes_of_a_message_are_its_object_and_the_separator_after_it():
    data = json.dumps([HI, YES], indent=1).encode() + b"\n"
    spans = [draft.spans[0] for draft in drafts(read(data))]
    texts = [data[span.offset : span.offset + span.length].strip() for span in spans]
    assert [json.loads(text.removesuffix(b",")) for text in texts] == [HI, YES]


AMP = {
    "role": "user",
    "messageId": 0,
    "content": [{"type": "text", "text": "fix it"}],
    "meta": {"sentAt": 1789027200123},
}
ROO = {"role": "user", "content": [{"type": "text", "text": "<task>\nadd a test\n</task>"}], "ts": 1789027200123}
CLINE = {
    "role": "user",
    "content": [{"type": "text", "text": "<task>"}, {"type": "text", "text": "<environment_details>\n"}],
}
TOOL_USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "x", "input": {}}]}


@pytest.mark.parametrize("foreign", [AMP, ROO, CLINE, TOOL_USE])
def test_lists_of_other_programs_are_not_taken(foreign):
    """Amp, Roo Code, Cline, and the Anthropic API: a list that is read wrongly is worse than one that is not read."""
    for document in ([HI, foreign], {"id": "T-1", "messages": [foreign, YES]}):
        data = json.dumps(document).encode()
        with pytest.raises(CannotImport, match="unknown format"):
            choose_format(FORMATS, bytes_source(data))


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ({"role": "alien", "content": "x"}, ["a message in the role 'alien'"]),
        (
            {"role": "user", "content": [{"type": "hologram"}]},
            ["unknown part 'hologram', kept raw in its message"],
        ),
        ({"content": "x"}, ["a message in the role none"]),
        ({"role": 7}, ["a message in the role none"]),
        (7, ["not a message"]),
        ([HI], ["not a message"]),
        (None, ["not a message"]),
    ],
)
def test_an_element_that_is_not_a_message_is_kept(element, problem):
    """C-28: wrong shapes, missing role."""
    events = read([HI, element, YES])
    assert (states(events), unparsed(events)) == (["conversation"], problem)
    assert drafts(events)[1].parent == drafts(events)[0].key


def test_reading_continues_after_an_invalid_element():
    data = json.dumps([HI, "BAD", YES]).replace('"BAD"', '{"a":' * 300 + "1" + "}" * 300)
    events = read(data)
    assert (lengths(events), unparsed(events)) == ([2], ["nested too deeply"])


def test_a_truncated_list_is_read_to_its_end():
    """C-21."""
    events = read(json.dumps({"messages": TALK})[:-20])
    assert (lengths(events), unparsed(events)) == ([4], ["truncated or damaged"])


def test_reading_continues_after_an_invalid_conversation():
    data = json.dumps([RECORD, "BAD", RECORD]).replace('"BAD"', '{"traj": [{"role": "user", "content": tea}]}')
    events = read(data)
    assert lengths(events) == [5, 5]
    assert unparsed(events) == ["not a conversation, damaged or too large"]


def test_reading_continues_after_an_invalid_line():
    events = read(lines(RECORD) + '{"messages": [{"role": "us\n' + lines(RECORD))
    assert lengths(events) == [5, 5]


def test_other_documents_are_kept_with_the_conversation_before_them():
    events = read(lines(7, RECORD, "x", RECORD, None))
    assert [type(event).__name__ for event in events if isinstance(event, Session | Unparsed | Ending)] == [
        "Session", "Unparsed", "Unparsed", "Ending", "Session", "Unparsed", "Ending",
    ]  # fmt: skip


def test_an_empty_list_is_a_conversation():
    events = read({"messages": []})
    assert (lengths(events), states(events)) == ([0], ["conversation"])


def test_reading_is_a_function_of_the_bytes():
    assert read([RECORD]) == read([RECORD])


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just("\ud800"),
    lambda items: (
        st.lists(items, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "messages", "traj", "id"]), items)
    ),
    max_leaves=5,
)
MESSAGE = JUNK | st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "function", "system", "new"]) | JUNK},
    optional={
        "content": JUNK, "tool_calls": st.lists(st.just(LOOK["tool_calls"][0]) | JUNK, max_size=2) | JUNK, "function_call": JUNK, "name": JUNK,
        "tool_call_id": JUNK, "refusal": JUNK, "reasoning_content": JUNK, "timestamp": JUNK, "id": JUNK,
    },
)  # fmt: skip
LIST = st.lists(MESSAGE, max_size=4)
DOCUMENT = (
    LIST
    | JUNK
    | st.fixed_dictionaries(
        {}, optional={"messages": LIST, "traj": LIST | JUNK, "id": JUNK, "title": JUNK, "model": JUNK}
    )
)
SAMPLE = (
    json.dumps([RECORD, {"messages": TALK}], indent=1, ensure_ascii=False).replace("tea", "té\u2028🌍") + "\n"
).encode()


@SLOW
@given(st.lists(DOCUMENT, max_size=4), st.booleans())
def test_any_shape_of_list_is_kept(documents, one_array):
    """C-28."""
    read(json.dumps(documents) if one_array else lines(*documents))


@SLOW
@given(st.binary(max_size=100))
def test_any_bytes_are_kept(data):
    read(data)
    read(SAMPLE + data)
    OpenAIMessages().sniff(data)


@SLOW
@given(st.data())
def test_a_list_with_damaged_bytes_is_kept(data):
    read(draw_damaged(data, SAMPLE))


@SLOW
@given(st.integers(0, len(SAMPLE)))
def test_a_list_truncated_anywhere_is_kept(size):
    found, whole = drafts(read(SAMPLE[:size])), drafts(read(SAMPLE))
    assert [draft.parts for draft in found] == [draft.parts for draft in whole[: len(found)]]


def test_the_real_lists_have_their_conversations_and_messages():
    """tau-bench: 200 conversations and 5,308 messages."""
    path = real_transcript("openai-messages", "tau-bench_gpt-4o-airline.json")
    with open(path, encoding="utf-8") as stream:
        records = json.load(stream)
    source = source_of(path)
    events = list(OpenAIMessages().walk_events(source))
    check(events, source.size)
    assert len(sessions(events)) == len(records) == 200
    assert sum(len(draft.spans) for draft in drafts(events)) == sum(len(record["traj"]) for record in records) == 5308
    assert not unparsed(events)
    assert [session.details["task_id"] for session in sessions(events)] == [record["task_id"] for record in records]
    calls = [call for record in records for message in record["traj"] for call in message.get("tool_calls") or []]
    assert sum(part.type == "tool_call" for draft in drafts(events) for part in draft.parts) == len(calls)
