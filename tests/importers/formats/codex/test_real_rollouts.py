"""Real rollouts of Codex 0.36 to 0.169, compared with an independent count."""

from __future__ import annotations

import json
import os
import re
from collections import Counter

import pytest

from scopes.importers.formats.codex import Codex
from scopes.importers.formats.events import SessionRecord, Unparsed
from tests.importers.reading import TRANSCRIPTS, check, drafts, real_transcript, source_of

FOLDER = os.path.join(TRANSCRIPTS, "codex")
NAMES = sorted(name for name in (os.listdir(FOLDER) if os.path.isdir(FOLDER) else []) if "session_index" not in name)
FORK = "v0.118_subagent-fork_2-session_meta.jsonl"
BIG = "v0.118_big_compacted_aborted_concat.jsonl"
CALLS = {"function_call", "custom_tool_call", "web_search_call"}
OUTPUTS = {"function_call_output", "custom_tool_call_output"}
real = pytest.mark.parametrize("name", NAMES or ["none"])


def records_of(name):
    """Decode the records of a file, also two on one line."""
    with open(real_transcript("codex", name), encoding="utf-8") as stream:
        text = "[" + re.sub(r"\}\s*\{(?=\"timestamp\")", "},{", stream.read()) + "]"
    return json.loads(text)


def events_of(name):
    source = source_of(real_transcript("codex", name))
    events = list(Codex().walk_events(source))
    check(events, source.size)
    return events


def outline(records):
    """Write a letter for each record that matters: Answer, Output, Message, Compaction, Break between answers."""
    letters, seen = [], None
    for record in records:
        payload = record["payload"]
        kind = payload.get("type", record["type"])
        if record["type"] == "response_item" and kind != "ghost_snapshot":
            spoken = kind == "message" and payload["role"] != "assistant"
            letters.append("O" if kind in OUTPUTS else "M" if spoken else "A")
        elif record["type"] == "compacted":
            letters.append("C")
        elif kind == "token_count" and payload["info"]:
            letters.append("" if payload["info"]["total_token_usage"] == seen else "B")
            seen = payload["info"]["total_token_usage"]
        elif kind in {"task_started", "turn_context", "token_usage_record"}:
            letters.append("B")
    return "".join(letters)


def totals(records):
    """Return the running totals of the records, without repetitions."""
    infos = [record["payload"]["info"] for record in records if record["payload"].get("type") == "token_count"]
    found = [info["total_token_usage"] for info in infos if info]
    return [total for total, before in zip(found, [None, *found], strict=False) if total != before]


def used(name):
    """Return the sum that a thread itself used: the last total before each restart of the count, less the inherited total."""
    records = records_of(name)
    found = totals(records)
    last = [
        total
        for total, after in zip(found, [*found[1:], None], strict=False)
        if after is None or after["total_tokens"] < total["total_tokens"]
    ]
    sums = Counter()
    for total in last:
        sums.update(total)
    if name == FORK:
        sums.subtract(totals(records[:746])[-1])
    if "T06-50-18" in name:
        sums.subtract(totals(records_of(next(other for other in NAMES if "T06-47-41" in other)))[-1])
    return sums["input_tokens"], sums["cached_input_tokens"], sums["output_tokens"], sums["reasoning_output_tokens"]


@real
def test_every_record_of_a_real_file_is_in_one_event(name):
    """Transcripts acceptance 11: nothing is lost, and everything is read."""
    events = events_of(name)
    assert not [event for event in events if isinstance(event, Unparsed)]
    spans = [
        span for event in events if isinstance(event, SessionRecord) or event in drafts(events) for span in event.spans
    ]
    assert len(spans) == len(records_of(name))


@real
def test_a_real_file_has_the_messages_that_an_outline_has(name):
    records = records_of(name)
    kinds = Counter(draft.kind for draft in drafts(events_of(name)))
    letters = outline(records)
    assert kinds["answer"] + kinds["summary"] == len(re.findall("A+", letters))
    assert kinds["tool-results"] == len(re.findall("O+", letters.replace("B", "")))
    assert kinds["compaction"] == letters.count("C")
    spoken = ("prompt", "system", "meta", "notice", "interrupt")
    assert sum(kinds[kind] for kind in spoken) == letters.count("M")


@real
def test_a_real_file_has_the_parts_that_its_items_are(name):
    items = Counter(record["payload"].get("type") for record in records_of(name) if record["type"] == "response_item")
    parts = Counter(part.type for draft in drafts(events_of(name)) for part in draft.parts)
    assert parts["reasoning"] == items["reasoning"]
    assert parts["tool_call"] == sum(items[kind] for kind in CALLS)
    assert parts["tool_result"] == sum(items[kind] for kind in OUTPUTS)


@real
def test_tokens_of_a_real_file_are_counted_once(name):
    sums = Counter()
    for draft in drafts(events_of(name)):
        sums.update({count: value for count, value in (draft.usage or {}).items() if count != "raw"})
    found = (sums["input_uncached"] + sums["cache_read"], sums["cache_read"], sums["output"], sums["reasoning"])
    assert found == used(name)


@real
def test_calls_and_results_of_a_real_file_find_each_other(name):
    found = drafts(events_of(name))
    places = {
        part.fields.get("call_id"): draft.key for draft in found for part in draft.parts if part.type == "tool_call"
    }
    for draft in found:
        if draft.kind == "tool-results":
            assert {places[part.fields["call_id"]] for part in draft.parts} == {draft.reply_to}


def test_the_copies_of_the_real_fork_end_at_its_first_own_record():
    """Transcripts acceptance 4: records 1 to 744 are copies, the first own turn context is record 747."""
    events = events_of(FORK)
    records = records_of(FORK)
    ends = {}
    for draft in drafts(events):
        for span in draft.spans:
            ends[span.offset] = draft.precision
    states = {span.offset: None for event in events if isinstance(event, SessionRecord) for span in event.spans}
    order = [(ends | states)[offset] for offset in sorted(ends | states)]
    assert len(order) == len(records) == 818
    assert set(order[:745]) == {"restamped", None}
    assert set(order[745:]) == {"exact", None}
    assert [place for place, record in enumerate(records) if record["type"] == "turn_context"][-1] == 747


def test_the_real_fork_names_its_parent():
    records = records_of(FORK)
    meta, call = records[0]["payload"], records[744]["payload"]
    events = events_of(FORK)
    assert (events[0].native_id, events[0].base) == (meta["id"], meta["forked_from_id"])
    own = [draft for draft in drafts(events) if draft.precision == "exact"]
    assert own[0].spawned_by["call_id"] == call["call_id"]
    assert {draft.author.name for draft in own if draft.kind == "answer"} == {meta["agent_nickname"]}


def test_the_big_real_file_has_its_compaction_and_interruptions():
    kinds = Counter(draft.kind for draft in drafts(events_of(BIG)))
    assert (kinds["compaction"], kinds["interrupt"], kinds["answer"]) == (1, 2, 291)


def test_the_real_calls_without_a_result_are_kept():
    found = drafts(events_of("v0.126a8_orphan-call.jsonl"))
    parts = Counter(part.type for draft in found for part in draft.parts)
    assert (parts["tool_call"], parts["tool_result"]) == (68, 67)


def test_the_real_changes_have_their_files():
    touches = Counter(touch.op for draft in drafts(events_of(BIG)) for touch in draft.files)
    changes = [
        change["type"]
        for record in records_of(BIG)
        if record["payload"].get("type") == "patch_apply_end" and record["payload"]["success"]
        for change in record["payload"]["changes"].values()
    ]
    assert (touches["create"], touches["edit"]) == (changes.count("add"), changes.count("update"))
