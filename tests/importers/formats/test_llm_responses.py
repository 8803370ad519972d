"""Conversations of llm until 0.31: a response is a prompt and an answer."""

from __future__ import annotations

import pytest

from scopes.importers.formats.collection import encode_row
from scopes.importers.formats.llm import Llm
from tests.importers.databases import (
    LLM_RESPONSES,
    LLM_THREADS,
    conversations_in,
    lines_of,
    make_database,
    response_row,
    source_at,
    thread_rows,
)
from tests.importers.reading import check, drafts, events_of, real_transcript, states, unparsed
from tests.importers.stores import branch_words
from tests.importers.streams import import_paths
from tests.support.store import make_store

NAMED = ("conversations", {"id": "c1", "name": "About it", "model": "gpt-x"})


def read_all(tmp_path, *rows, schema=LLM_RESPONSES):
    """Return the events of each conversation of a database with these rows."""
    path = tmp_path / "logs.db"
    path.unlink(missing_ok=True)
    sources, skipped = conversations_in(source_at(make_database(path, schema, rows)))
    assert not skipped
    found = []
    for source in sources:
        with source.open() as stream:
            assert Llm().sniff(stream.read(1 << 18))
        events = list(Llm().walk_events(source))
        check(events, source.size)
        found.append(events)
    return found


def read(tmp_path, *rows):
    """Return the events of the only conversation."""
    (events,) = read_all(tmp_path, *rows)
    return events


def texts_of(events):
    """Return kind and text of each message."""
    return [
        (draft.kind, " ".join(part.text for part in draft.parts if part.type == "text")) for draft in drafts(events)
    ]


def test_a_response_is_a_prompt_and_an_answer(tmp_path):
    events = read(tmp_path, NAMED, response_row(1, "why?", "so"), response_row(2, "and?", "that"))
    assert texts_of(events) == [("prompt", "why?"), ("answer", "so"), ("prompt", "and?"), ("answer", "that")]
    assert [draft.author.kind for draft in drafts(events)[:2]] == ["human", "agent"]
    assert (events[0].native_id, events[0].title, states(events)) == ("c1", "About it", ["conversations"])


def test_an_answer_has_its_model_its_time_and_its_tokens(tmp_path):
    row = response_row(1, "why?", "so", input_tokens=9, output_tokens=2, reasoning="hm")
    prompt, answer = drafts(read(tmp_path, row))
    assert (answer.model, answer.usage["input_uncached"], answer.usage["output"]) == ("gpt-x", 9, 2)
    assert prompt.time == answer.time == "2026-03-01T10:00:01.5+00:00"
    assert [part.type for part in answer.parts] == ["reasoning", "text"]


def test_a_system_prompt_was_not_typed(tmp_path):
    events = read(tmp_path, response_row(1, "why?", "so", system="Be short."))
    assert texts_of(events)[0] == ("system", "Be short.")
    assert drafts(events)[0].author.kind == "injected"


def test_tool_calls_and_their_results_are_an_answer_and_a_message(tmp_path):
    call = (
        "tool_calls",
        {"id": 1, "response_id": "r001", "name": "clock", "arguments": '{"a": 1}', "tool_call_id": "t1"},
    )
    result = ("tool_results", {"id": 1, "response_id": "r002", "name": "clock", "output": "ten", "tool_call_id": "t1"})
    events = read(tmp_path, response_row(1, "time?", "Let me look."), call, response_row(2, "", "Ten."), result)
    assert [draft.kind for draft in drafts(events)] == ["prompt", "answer", "tool-results", "answer"]
    answer, results = drafts(events)[1:3]
    assert (answer.parts[1].fields["name"], answer.parts[1].fields["input"]) == ("clock", {"a": 1})
    assert (results.parts[0].fields["output"], results.tool, len(results.spans)) == ("ten", "clock", 2)


def test_fragments_and_attachments_belong_to_the_message_that_they_were_given_with(tmp_path):
    rows = [
        response_row(1, "look", "seen", system="Be short."),
        ("fragments", {"id": 1, "content": "a file"}),
        ("fragments", {"id": 2, "content": "a rule"}),
        ("prompt_fragments", {"response_id": "r001", "fragment_id": 1, "order": 0}),
        ("system_fragments", {"response_id": "r001", "fragment_id": 2, "order": 0}),
        ("attachments", {"id": "a", "type": "image/png", "content": b"\x89"}),
        ("prompt_attachments", {"response_id": "r001", "attachment_id": "a", "order": 0}),
    ]
    events = read(tmp_path, *rows)
    assert texts_of(events)[:2] == [("system", "a rule Be short."), ("prompt", "a file look")]
    assert [part.type for part in drafts(events)[1].parts] == ["text", "text", "image"]


def test_responses_without_a_conversation_are_conversations_of_their_own(tmp_path):
    rows = [NAMED, response_row(1, "a", "b"), response_row(2, "c", "d", None), response_row(3, "e", "f", "lost")]
    found = read_all(tmp_path, *rows)
    assert [events[0].native_id for events in found] == ["c1", "lost", "r002"]
    assert [len(drafts(events)) for events in found] == [2, 2, 2]


def test_a_conversation_without_a_response_has_no_message(tmp_path):
    assert drafts(read(tmp_path, NAMED)) == []


def test_every_cell_of_a_response_is_in_its_lines_once(tmp_path):
    _, row = response_row(1, "why?", "so", system="Be short.", prompt_json='{"a":1}', response_json="{}")
    path = make_database(tmp_path / "logs.db", LLM_RESPONSES, [("responses", row)])
    (source,) = conversations_in(source_at(path))[0]
    cells = [item for line in lines_of(source) for item in line["row"].items()]
    names = {"id", "conversation_id"}  # which every line has
    stored = {**row, "token_details": None, "input_tokens": None, "output_tokens": None, "reasoning": None}
    assert sorted(cell for cell in cells if cell[0] not in names) == sorted(
        cell for cell in stored.items() if cell[0] not in names
    )


@pytest.mark.parametrize("line", [b"7\n", b"{}\n", b'{"table":"other","row":{}}\n', b"{\n"])
def test_a_line_that_is_no_known_row_is_kept_and_counted(line):
    head = encode_row("conversations", NAMED[1])
    rows = encode_row("responses", {"id": "r1", "prompt": "why?"}) + encode_row(
        "responses", {"id": "r1", "response": "so"}
    )
    events = events_of(Llm(), head + line + rows)
    assert (len(unparsed(events)), texts_of(events)) == (1, [("prompt", "why?"), ("answer", "so")])


def test_rows_of_a_prompt_whose_answer_is_missing_are_a_prompt():
    events = events_of(Llm(), encode_row("responses", {"id": "r1", "prompt": "why?"}))
    assert texts_of(events) == [("prompt", "why?")]


def test_text_that_is_not_utf8_is_kept_raw(tmp_path):
    path = make_database(tmp_path / "logs.db", LLM_RESPONSES, [response_row(1, "why?", "so")])
    make_database(path, "UPDATE responses SET response = CAST(x'ff' AS TEXT)")
    (source,) = conversations_in(source_at(path))[0]
    events = list(Llm().walk_events(source))
    assert drafts(events)[1].parts[0].fields["json"] == {"bytes": "ff"}


SCHEMAS = LLM_RESPONSES + LLM_THREADS
ROWS = [
    NAMED,
    response_row(1, "why?", "so", system="Be short."),
    *thread_rows("t1", ("h1", None, "user", "hi"), ("h2", "h1", "assistant", "ho")),
]


def test_real_databases_have_all_their_conversations(tmp_path):
    """An upgraded database has 5 old responses and a new turn: 4 conversations (acceptance 7)."""
    store = make_store(tmp_path / "store.git")
    for name, messages in [
        ("gen_0.26-then-0.36_logs.db", [4, 4, 2, 2]),
        ("gen_v0.13.1_logs.db", [4]),
        ("gen_v0.36_logs.db", [8, 2]),
    ]:
        path = real_transcript("llm", name)
        done = import_paths(store, path)
        assert [row.messages for row in done.conversations] == messages
        assert sum(source.unparsed for source in done.sources) == 0
        assert import_paths(store, path).operation is None
    assert branch_words(store).startswith("first — 日本語")
