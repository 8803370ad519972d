"""Laws of every format: of a call that is not in a file any more, the result is shown, and the import says so once."""

from __future__ import annotations

import copy
import json
from functools import reduce
from operator import getitem

import pytest

from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.formats.collection import encode_row
from scopes.importers.formats.registry import FORMATS
from tests.importers.databases import response_row
from tests.importers.format_samples import DOCUMENTS, RECORDS, RESPONSES, lines, records_of, written
from tests.importers.formats import test_claude_ai
from tests.importers.formats.claude_code.logs import Log, call
from tests.importers.reading import drafts, events_of
from tests.importers.streams import import_paths

BY_NAME = {known.name: known for known in FORMATS}
WHOLE = {"cursor", "opencode", "gemini document"}  # a call and its result are one record


def claude_code():
    """Return a session with two calls of one answer, and their results."""
    log = Log()
    log.user("look")
    log.answer("m1", call("t1"), call("t2", command="pwd"))
    log.result("t1", "a.py")
    log.result("t2", "/home/carol")
    log.answer("m2", {"type": "text", "text": "Two."})
    return records_of(log.data())


def llm_rows():
    """Return the rows of two responses of llm, with a call and its result."""
    asked = {"id": 1, "response_id": "r001", "name": "clock", "arguments": "{}", "tool_call_id": "t1"}
    answered = {"id": 1, "response_id": "r002", "name": "clock", "output": "ten", "tool_call_id": "t1"}
    rows = (
        response_row(1, "time?", "Let me look."),
        ("tool_calls", asked),
        response_row(2, "", "Ten."),
        ("tool_results", answered),
    )
    return [RESPONSES[0], *(records_of(encode_row(*row))[0] for row in rows)]


def claude_ai():
    """Return an export of Claude.ai with a call and its result in one message."""
    blocks = [
        {"type": "tool_use", "id": "t1", "name": "search", "input": {}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "found it"}]},
    ]
    tree = [test_claude_ai.message("m1", "human", "look"), test_claude_ai.message("m2", "assistant", *blocks, "Done.")]
    return [test_claude_ai.conversation("c", *tree)]


SAMPLES = {
    **{name: (name, list(records), lines) for name, (records, _) in RECORDS.items()},
    **{f"{name} document": (name, make(count), written) for name, (make, count) in DOCUMENTS.items()},
    "claude-code": ("claude-code", claude_code(), lines),
    "llm": ("llm", llm_rows(), lines),
    "claude-ai document": ("claude-ai", claude_ai(), written),
}
del SAMPLES["chatgpt document"]  # its calls and results have no ids: each is a message of its own
each_sample = pytest.mark.parametrize("name", SAMPLES)
each_with_results = pytest.mark.parametrize("name", [name for name in SAMPLES if name not in WHOLE])


def places(value, path=()):
    """Yield the path of each element of each list in a document."""
    if isinstance(value, list | dict):
        for key in range(len(value)) if isinstance(value, list) else value:
            if isinstance(value, list):
                yield (*path, key)
            yield from places(value[key], (*path, key))


def without(value, path):
    """Return a document without one element of a list."""
    changed = at = copy.deepcopy(value)
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return changed


def parts_of(events, kind):
    return [part for draft in drafts(events) for part in draft.parts if part.type == kind]


def unmatched(events):
    """Return the ids of results whose call is missing."""
    calls = {part.call_id for part in parts_of(events, "tool_call")}
    return {part.call_id for part in parts_of(events, "tool_result")} - calls - {None}


def outputs_of(events):
    return [json.dumps(part.fields.get("output"), sort_keys=True) for part in parts_of(events, "tool_result")]


def files_without_calls(name):
    """Yield the file of a sample without one call whose result is there, its events, and the text of what is missing."""
    form, document, write = SAMPLES[name]
    for path in places(document):
        data = write(without(document, path))
        if BY_NAME[form].sniff(data) and unmatched(events := events_of(BY_NAME[form], data)):
            yield data, events, json.dumps(reduce(getitem, path, document), sort_keys=True)


@each_sample
def test_every_sample_has_a_call_and_all_of_its_results(name):
    form, document, write = SAMPLES[name]
    events = events_of(BY_NAME[form], write(document))
    assert parts_of(events, "tool_call")
    assert unmatched(events) == set()


@each_with_results
def test_a_result_whose_call_is_missing_is_shown_as_it_is(name):
    form, document, write = SAMPLES[name]
    known = outputs_of(events_of(BY_NAME[form], write(document)))
    found = list(files_without_calls(name))
    assert found
    for _, events, missing in found:
        assert set(outputs_of(events)) >= {output for output in known if output not in missing}


@each_with_results
def test_an_import_says_in_one_line_how_many_results_have_no_call(repository, tmp_path, name):
    data, events, _ = next(files_without_calls(name))
    (tmp_path / "session").write_bytes(data)
    done = import_paths(repository, tmp_path / "session")
    count = len(unmatched(events))
    expected = "1 tool result has no call" if count == 1 else f"{count} tool results have no calls"
    assert [note.text.partition(": ")[2] for note in done.notes if "tool result" in note.text] == [expected]
    stored = [part.fields.get("output") for part in stored_parts(repository) if part.type == "tool_result"]
    assert sorted(json.dumps(each, sort_keys=True) for each in stored) == sorted(outputs_of(events))


def stored_parts(repository):
    """Return the parts of all messages of a store."""
    for name in conversation_ids(repository):
        tips = list_branch_tips(repository, name).values()
        for head in walk_headers_oldest_first(repository, list(tips)):
            yield from read_message(repository, head.oid).parts


def test_a_file_with_all_calls_has_no_note(repository, tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(claude_code()))
    assert import_paths(repository, path).notes == ()


def test_a_call_after_its_result_is_its_call(repository, tmp_path):
    records = list(RECORDS["codex"][0])
    call_at, result_at = [number for number, record in enumerate(records) if '"c1"' in json.dumps(record)]
    records[call_at], records[result_at] = records[result_at], records[call_at]
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(records))
    assert import_paths(repository, path).notes == ()
    assert {part.call_id for part in stored_parts(repository)} == {None, "c1"}


def test_several_sessions_are_one_line_and_the_report_has_each(repository, tmp_path):
    for number in range(3):
        records = [{**record, "sessionId": f"s{number}"} for record in claude_code()]
        (tmp_path / f"s{number}.jsonl").write_bytes(lines([records[0], *records[2:]]))
    done = import_paths(repository, *sorted(tmp_path.glob("*.jsonl")))
    (note,) = [note.text for note in done.notes if "tool result" in note.text]
    assert note.startswith("3 sessions have tool results without calls; the first: session s0: 2 tool results")
    assert [text for text in done.details if "tool results" in text] == [
        f"session s{number}: 2 tool results have no calls" for number in range(3)
    ]
