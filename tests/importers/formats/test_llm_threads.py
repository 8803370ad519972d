"""Threads of llm since 0.32: messages that name their parents by hash."""

from __future__ import annotations

import json

import pytest

from scopes.history.names import list_branch_tips
from scopes.importers.formats.collection import encode_row
from scopes.importers.formats.llm import Llm
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import ImportOptions, import_sources
from tests.importers.databases import LLM_RESPONSES, LLM_THREADS, make_database, source_at, thread_rows
from tests.importers.formats.test_llm_responses import read_all, texts_of
from tests.importers.reading import drafts, events_of, states, unparsed
from tests.importers.stores import branch_words
from tests.support.store import make_store

SCHEMA = LLM_RESPONSES + LLM_THREADS
HELLO = (("h1", None, "user", "hello"), ("h2", "h1", "assistant", "hi"))


def read(tmp_path, *rows):
    """Return the events of the only thread."""
    (events,) = read_all(tmp_path, *rows, schema=SCHEMA)
    return events


def import_rows(store, tmp_path, *rows):
    path = tmp_path / "logs.db"
    path.unlink(missing_ok=True)
    return import_sources(store, [source_at(make_database(path, SCHEMA, rows))], FORMATS, ImportOptions())


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


def test_a_thread_has_its_messages_with_the_time_and_the_tokens_of_their_turn(tmp_path):
    events = read(tmp_path, *thread_rows("t1", *HELLO))
    prompt, answer = drafts(events)
    assert texts_of(events) == [("prompt", "hello"), ("answer", "hi")]
    assert prompt.time == answer.time == "2026-03-01T10:00:00.5+00:00"
    assert (answer.model, answer.usage["input_uncached"], answer.native_ids) == ("gpt-x", 100, ("h2", "t1-000"))
    assert (events[0].title, events[0].created) == ("t1", "2026-03-01T10:00:00+00:00")


def test_the_branches_of_a_thread_are_those_of_its_hashes(tmp_path, store):
    more = (
        ("h3", "h2", "user", "left"),
        ("h4", "h3", "assistant", "l"),
        ("h5", "h2", "user", "right"),
        ("h6", "h5", "assistant", "r"),
    )
    import_rows(store, tmp_path, *thread_rows("t1", *HELLO, *more))
    tips = list_branch_tips(store, "conv-001")
    assert branch_words(store) == "hello hi right r"
    assert {branch_words(store, name) for name in tips} == {"hello hi right r", "hello hi left l"}


def test_a_thread_is_where_its_tip_is(tmp_path, store):
    more = (
        ("h3", "h2", "user", "left"),
        ("h4", "h3", "assistant", "l"),
        ("h5", "h2", "user", "right"),
        ("h6", "h5", "assistant", "r"),
    )
    import_rows(store, tmp_path, *thread_rows("t1", *HELLO, *more, tip="h4"))
    assert branch_words(store) == "hello hi left l"


def test_a_forked_thread_shares_the_messages_of_the_thread_it_comes_from(tmp_path, store):
    fork = thread_rows(
        "t2", ("h5", "h2", "user", "otherwise"), ("h6", "h5", "assistant", "ok"), forked_from="t1", start=5
    )
    import_rows(store, tmp_path, *thread_rows("t1", *HELLO, ("h3", "h2", "user", "more")), *fork)
    tips = list_branch_tips(store, "conv-001")
    assert sorted(branch_words(store, name) for name in tips) == ["hello hi more", "hello hi otherwise ok"]


def test_a_thread_that_has_grown_adds_only_what_is_new(tmp_path, store):
    import_rows(store, tmp_path, *thread_rows("t1", *HELLO))
    done = import_rows(
        store, tmp_path, *thread_rows("t1", *HELLO, ("h3", "h2", "user", "more"), ("h4", "h3", "assistant", "ok"))
    )
    assert [(row.messages, row.new_messages, row.branches) for row in done.conversations] == [(4, 2, 1)]


def test_parts_are_calls_results_reasoning_and_attachments(tmp_path):
    rows = thread_rows("t1", *HELLO, ("h3", "h2", "tool", "x"), ("h4", "h3", "assistant", "done"))
    call = {"name": "clock", "arguments": {"a": 1}, "tool_call_id": "c1"}
    result = {"name": "clock", "output": "ten", "tool_call_id": "c1"}
    rows += [
        ("parts", {"id": 50, "message_hash": "h2", "position": 1, "type": "tool_call", "payload": json.dumps(call)}),
        (
            "parts",
            {"id": 51, "message_hash": "h3", "position": 1, "type": "tool_result", "payload": json.dumps(result)},
        ),
        ("parts", {"id": 52, "message_hash": "h4", "position": 1, "type": "reasoning", "text": "hm"}),
        ("parts", {"id": 53, "message_hash": "h1", "position": 1, "type": "attachment"}),
        ("attachments", {"id": "a", "type": "image/png", "path": "/a.png"}),
        ("part_attachments", {"part_id": 53, "attachment_id": "a", "order": 0}),
    ]
    found = drafts(read(tmp_path, *rows))
    kinds = [[part.type for part in draft.parts] for draft in found]
    assert kinds == [["text", "image"], ["text", "tool_call"], ["text", "tool_result"], ["text", "reasoning"]]
    assert (found[2].tool, found[2].kind, found[1].parts[1].fields["input"]) == ("clock", "tool-results", {"a": 1})


def test_the_text_of_a_part_may_be_in_a_fragment(tmp_path):
    rows = [
        *thread_rows("t1", *HELLO),
        ("parts", {"id": 60, "message_hash": "h1", "position": 1, "type": "text"}),
        ("fragments", {"id": 1, "content": "a file"}),
        ("part_fragments", {"part_id": 60, "fragment_id": 1, "order": 0}),
    ]
    assert texts_of(read(tmp_path, *rows))[0] == ("prompt", "hello a file")


def test_an_unknown_part_is_kept_raw_in_its_message_and_counted(tmp_path):
    rows = [
        *thread_rows("t1", *HELLO),
        ("parts", {"id": 9, "message_hash": "h2", "position": 1, "type": "dance", "text": "x"}),
    ]
    events = read(tmp_path, *rows)
    assert drafts(events)[1].parts[1].fields["json"]["type"] == "dance"
    assert unparsed(events) == ["unknown part 'dance', kept raw in its message"]


def test_hashes_that_name_each_other_end(tmp_path):
    events = read(tmp_path, *thread_rows("t1", ("h1", "h2", "user", "a"), ("h2", "h1", "assistant", "b")))
    assert len(drafts(events)) == 2


def test_a_turn_whose_messages_are_known_is_a_state(tmp_path):
    rows = [*thread_rows("t1", *HELLO), ("turns", {"id": "t1-zzz", "thread_id": "t1", "tip_message_hash": "h2"})]
    assert states(read(tmp_path, *rows)) == ["threads", "turns"]


def test_messages_without_a_turn_or_with_an_unknown_role_are_kept():
    head = encode_row("threads", {"id": "t1", "tip_message_hash": "h1"})
    message = encode_row("messages", {"hash": "h1", "parent_hash": "gone", "role": "user"})
    part = encode_row("parts", {"message_hash": "h1", "type": "text", "text": "hello"})
    odd = encode_row("messages", {"hash": "h2", "role": "robot"})
    events = events_of(Llm(), head + message + part + odd)
    assert (texts_of(events), len(unparsed(events))) == ([("prompt", "hello")], 1)
