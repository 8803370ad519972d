"""Session files of Qwen Code: a chain of records with the parts of the Gemini API."""

from __future__ import annotations

import pytest

from scopes.importers.formats.qwen import Qwen
from tests.importers.formats.qwen.test_qwen import (
    SESSION,
    STREAM,
    USAGE,
    called,
    ended,
    lines,
    parts,
    response,
    session_file,
)
from tests.importers.reading import drafts, events_of, real_transcript, states

PROMPT = ("user", parts("user", {"text": "Go."}))
CALLS = ("assistant", parts("model", called("c1", "make"), called("c2", "df"), model="m"))
DONE = ("assistant", parts("model", {"text": "Done."}, model="m"))


def read(*records):
    return events_of(Qwen(), lines(*session_file(*records)))


def result(name="c1", output="ok", **fields):
    return ("tool_result", parts("user", response(name, output=output), **fields))


def test_the_first_record_gives_session_folder_version_and_start():
    session = read(PROMPT)[0]
    assert (session.native_id, session.cwd, session.details) == (SESSION, "/home/dev/project", {"version": "0.15.10"})
    assert (session.created, session.is_stream) == ("2026-11-22T03:47:10.000Z", False)


@pytest.mark.parametrize(
    ("record", "kind", "author", "types"),
    [
        (PROMPT, "prompt", ("user", "human"), ["text"]),
        (DONE, "answer", ("qwen", "agent"), ["text"]),
        (CALLS, "answer", ("qwen", "agent"), ["tool_call", "tool_call"]),
        (result(), "tool-results", ("tool", "tool"), ["tool_result"]),
        (("assistant", parts("model", {"text": "Why?", "thought": True})), "answer", ("qwen", "agent"), ["reasoning"]),
        (("assistant", parts("model", {"new": 1})), "answer", ("qwen", "agent"), ["raw"]),
        (("assistant", {"message": {"parts": []}}), "answer", ("qwen", "agent"), []),
        (("assistant", {"message": None}), "answer", ("qwen", "agent"), []),
        (("user", {"message": {"parts": "Go."}}), "prompt", ("user", "human"), ["text"]),
    ],
)
def test_the_type_decides_what_a_message_is(record, kind, author, types):
    draft = drafts(read(PROMPT, record))[-1]
    assert (draft.kind, tuple(draft.author), [part.type for part in draft.parts]) == (kind, author, types)


def test_an_answer_has_its_model_tokens_branch_and_time():
    record = ("assistant", parts("model", {"text": "x"}, model="m", usageMetadata=USAGE, gitBranch="fix"))
    draft = drafts(read(PROMPT, record))[-1]
    assert (draft.model, draft.git_branch, draft.time) == ("m", "fix", "2026-11-22T03:47:11.000Z")
    assert {name: draft.usage[name] for name in ("input_uncached", "cache_read", "output")} == {
        "input_uncached": 20,
        "cache_read": 10,
        "output": 4,
    }


@pytest.mark.parametrize(
    ("reported", "failed"),
    [
        ({"callId": "c1", "status": "error"}, True),
        ({"callId": "c1", "status": "cancelled"}, True),
        ({"callId": "c1", "status": "success"}, False),
        ({"callId": "other", "status": "error"}, False),
        ({"status": "error"}, False),
        ({"callId": "c1", "status": ["error"]}, False),
        ({}, False),
        ("error", False),
        (None, False),
    ],
)
def test_a_result_has_the_failure_of_the_record_around_it(reported, failed):
    draft = drafts(read(PROMPT, CALLS, result(toolCallResult=reported)))[-1]
    assert draft.parts[0].fields["is_error"] is failed


def test_results_of_parallel_calls_are_one_message_also_through_telemetry():
    records = [CALLS, result("c1"), ("system", {"subtype": "ui_telemetry"}), result("c2", "Exit Code: 3")]
    found = drafts(read(PROMPT, *records))
    assert [draft.kind for draft in found] == ["prompt", "answer", "tool-results"]
    assert [part.fields["call_id"] for part in found[2].parts] == ["c1", "c2"]
    assert (found[2].native_ids, found[2].tool, len(found[2].spans)) == (("v2", "v4"), "run_shell_command", 2)


@pytest.mark.parametrize("parent", ["unknown", None, "", 7])
def test_a_message_without_a_known_parent_follows_the_one_before_it(parent):
    records = session_file(PROMPT, DONE)
    records.append({**records[1], "uuid": "w", "parentUuid": parent})
    found = drafts(events_of(Qwen(), lines(*records)))
    assert found[2].parent == found[1].key


def test_an_edited_prompt_is_a_second_beginning_of_the_same_chain():
    records = session_file(("system", {"systemPayload": {}}), PROMPT, DONE)
    records.append({**records[1], "uuid": "w"})
    found = drafts(events_of(Qwen(), lines(*records)))
    assert [draft.parent for draft in found] == [None, found[0].key, None]


def test_a_record_that_is_there_twice_is_a_state_and_one_with_the_same_uuid_a_message():
    """Another reader dropped messages whose ids came twice."""
    records = session_file(PROMPT, DONE)
    events = events_of(Qwen(), lines(*records, records[0], {**records[1], "message": {"parts": [{"text": "Other."}]}}))
    found = drafts(events)
    assert ([draft.parts[0].text for draft in found[1:]], states(events)) == (["Done.", "Other."], ["repeated/user"])
    assert [draft.parent for draft in found[1:]] == [found[0].key] * 2


def test_a_compressed_history_is_a_compaction_in_the_chain():
    history = [
        {"role": "user", "parts": [{"text": "So far: tests fail."}]},
        {"role": "model", "parts": [{"text": "OK"}]},
    ]
    payload = {"info": {"compressionStatus": 1}, "compressedHistory": history}
    found = drafts(
        events_of(
            Qwen(),
            lines(*session_file(PROMPT, ("system", {"subtype": "chat_compression", "systemPayload": payload}), DONE)),
        )
    )
    assert [(draft.kind, draft.author.kind, draft.context_root) for draft in found] == [
        ("prompt", "human", False),
        ("compaction", "system", True),
        ("answer", "agent", False),
    ]
    assert (found[1].parts[0].text, found[1].parent, found[2].parent) == (
        "So far: tests fail.",
        found[0].key,
        found[1].key,
    )


def test_the_last_title_that_was_given_is_that_of_the_session():
    titles = [
        ("system", {"subtype": "custom_title", "systemPayload": {"customTitle": name}}) for name in ("One", "Two")
    ]
    assert events_of(Qwen(), lines(*session_file(PROMPT, *titles, DONE)))[-1].title == "Two"
    assert events_of(Qwen(), lines(*session_file(PROMPT, DONE)))[-1].title is None


def test_the_chain_of_a_real_session_runs_through_its_telemetry():
    with open(real_transcript("qwen-code", "gen_v0.15_973ee02d-7ffa-47c0-8b9b-b6380542994e.jsonl"), "rb") as stream:
        events = events_of(Qwen(), stream.read())
    found = drafts(events)
    assert [draft.kind for draft in found] == ["prompt", "answer", "tool-results", "answer"]
    assert [draft.parent for draft in found] == [None, *(draft.key for draft in found[:-1])]
    assert states(events).count("system/ui_telemetry") == 3


def test_a_stream_counts_cached_input_once_and_names_the_denied_calls():
    usage = {"input_tokens": 30, "output_tokens": 4, "cache_read_input_tokens": 40}
    end = ended(
        num_turns=2,
        usage=usage,
        permission_denials=[{"tool_name": "edit", "tool_use_id": "c9"}, {"tool_name": "write"}, 7],
    )
    found = events_of(Qwen(), lines(*STREAM[:-1], end))[-1].run_end
    assert (found.denials, found.turns) == (("c9", "write"), 2)
    assert (found.usage["input_uncached"], found.usage["cache_read"]) == (0, 40)
