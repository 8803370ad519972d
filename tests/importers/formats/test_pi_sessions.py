"""Records of Pi in both of its files: odd shapes, trees, costs and ends."""

from __future__ import annotations

import json

import pytest

from scopes.history.names import list_branch_tips
from scopes.importers.formats.pi import Pi
from tests.importers.formats.test_pi import (
    FAILED,
    HEADER,
    MESSAGES,
    SESSION,
    USAGE,
    called,
    lines,
    message,
    session_file,
    stream,
    text,
)
from tests.importers.reading import drafts, events_of, real_transcript, states, unparsed
from tests.importers.stores import branch_words
from tests.importers.streams import import_paths
from tests.support.store import make_store

BOTH = pytest.mark.parametrize("written", [stream, session_file])
PROMPT = MESSAGES[0]


def answer(*content, **fields):
    return message("assistant", 1, *content, model="m", usage=USAGE, **fields)


def result(*content, **fields):
    return message("toolResult", 2, *content, **{"toolCallId": "c1", "toolName": "bash", **fields})


def read(data):
    return events_of(Pi(), data)


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (HEADER, True),
        ({**HEADER, "version": None}, True),
        ({"type": "session", "id": "x"}, False),
        ({"type": "session", "version": 3, "id": ""}, False),
        ({"type": "message_end", "message": PROMPT}, True),
        ({"type": "message_start", "message": PROMPT}, True),
        ({"type": "message_start", "message": {}}, False),
        ({"type": "message_update", "message": PROMPT}, False),
        ({"type": "message", "id": "x", "message": PROMPT}, False),
    ],
)
def test_a_file_is_recognized_by_its_header_or_the_messages_of_a_stream(record, known):
    assert Pi().sniff(lines(record)) is known


@BOTH
def test_the_header_gives_session_folder_and_start(written):
    session = read(written(*MESSAGES))[0]
    assert (session.native_id, session.cwd, session.created) == (SESSION, "/home/dev/p", HEADER["timestamp"])
    assert session.is_stream is (written is stream)


def test_a_stream_without_its_header_is_named_by_its_first_record():
    names = {read(stream(*MESSAGES).split(b"\n", count)[-1])[0].native_id for count in (1, 2, 3)}
    assert len(names) == 3
    assert SESSION not in names


@BOTH
@pytest.mark.parametrize(
    ("record", "kind", "author", "status"),
    [
        (message("user", 1, text("Go.")), "prompt", ("user", "human"), None),
        (answer(text("Go.")), "answer", ("pi", "agent"), None),
        (answer(), "answer", ("pi", "agent"), None),
        (answer(stopReason="error", errorMessage="400"), "error", ("pi", "system"), "error"),
        (answer(stopReason="aborted"), "error", ("pi", "system"), "error"),
        (answer(text("Half."), stopReason="aborted"), "answer", ("pi", "agent"), None),
        (result(text("ok")), "tool-results", ("tool", "tool"), None),
        (message("bashExecution", 1, text("ls")), "notice", ("pi", "system"), None),
        (message("new-role", 1), "notice", ("pi", "system"), None),
    ],
)
def test_the_role_decides_what_a_message_is(written, record, kind, author, status):
    (draft,) = drafts(read(written(record)))
    assert (draft.kind, tuple(draft.author), draft.status) == (kind, author, status)


@BOTH
@pytest.mark.parametrize(
    ("content", "types"),
    [
        ("Hi.", ["text"]),
        (["Hi.", text("Ho.")], ["text", "text"]),
        ([{"type": "thinking", "thinking": "Why?"}, text("Hi.")], ["reasoning", "text"]),
        ([called("c1", "bash", command="ls"), called("c2", "read", path="a")], ["tool_call", "tool_call"]),
        ([{"type": "image", "data": "aGk=", "mimeType": "image/png"}], ["image"]),
        ([{"type": "image", "data": "aGk="}], ["raw"]),
        ([{"type": "toolCall", "id": "c1"}], ["raw"]),
        ([{"type": "thinking", "thinking": None}], ["raw"]),
        ([None, 7, []], ["raw", "raw", "raw"]),
        ([{"type": "new"}], ["raw"]),
        ([], []),
        (None, []),
        (7, ["raw"]),
    ],
)
def test_each_block_becomes_a_part_of_its_kind(written, content, types):
    (draft,) = drafts(read(written({**answer(), "content": content})))
    assert [part.type for part in draft.parts] == types


@BOTH
def test_an_unknown_block_is_noted_and_kept_as_it_is(written):
    block = {"type": "new", "value": [1]}
    events = read(written(answer(block)))
    assert unparsed(events) == ["unknown part 'new', kept raw in its message"]
    assert drafts(events)[0].parts[0].fields["json"] == block


@BOTH
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"isError": True}, {"is_error": True}),
        ({"isError": False}, {"is_error": False}),
        ({"isError": "no"}, {}),
        ({"details": {"diff": "@@"}}, {"structured": {"diff": "@@"}}),
        ({"details": None}, {"structured": None}),
    ],
)
def test_a_result_has_its_error_and_its_details(written, fields, expected):
    (draft,) = drafts(read(written(result(text("ok"), **fields))))
    assert draft.parts[0].fields == {"call_id": "c1", "output": "ok", **expected}


@BOTH
@pytest.mark.parametrize(
    ("content", "output"),
    [
        ([text("ok")], "ok"),
        ([text("a"), text("b")], [text("a"), text("b")]),
        ([{"type": "image", "data": "x"}], [{"type": "image", "data": "x"}]),
        ("ok", "ok"),
        ([], []),
        (None, None),
    ],
)
def test_the_only_text_of_a_result_is_its_output(written, content, output):
    (draft,) = drafts(read(written({**result(), "content": content})))
    assert draft.parts[0].fields["output"] == output


@BOTH
def test_results_of_parallel_calls_are_one_message_and_a_text_ends_it(written):
    calls = answer(called("c1", "bash", command="ls"), called("c2", "bash", command="df"))
    two = [result(text("a")), result(text("b"), toolCallId="c2")]
    found = drafts(read(written(PROMPT, calls, *two, answer(text("Done.")))))
    assert [(draft.kind, len(draft.parts)) for draft in found[1:]] == [
        ("answer", 2),
        ("tool-results", 2),
        ("answer", 1),
    ]
    assert (found[2].tool, found[2].parent) == ("bash", found[1].key)


@BOTH
def test_a_result_before_its_call_and_one_without_a_call_are_kept(written):
    found = drafts(
        read(written(result(text("early")), answer(called("c1", "bash")), result(text("b"), toolCallId=None)))
    )
    assert [draft.kind for draft in found] == ["tool-results", "answer", "tool-results"]
    assert ([draft.tool for draft in found], "call_id" in found[2].parts[0].fields) == ([None] * 3, False)


@BOTH
@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (USAGE, {"input_uncached": 20, "cache_read": 10, "cache_write": 0, "output": 4}),
        ({"input": 20}, {"input_uncached": 20}),
        ({"input": "20", "output": 4, "cacheRead": None, "cacheWrite": True}, {"output": 4}),
        ({"input": -20, "output": 4}, {"output": 4}),
        ({"input": 0, "output": 0}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_tokens_are_counted_as_the_agent_reports_them(written, usage, counts):
    (draft,) = drafts(read(written({**answer(text("x")), "usage": usage})))
    known = None if draft.usage is None else {name: count for name, count in draft.usage.items() if name != "raw"}
    assert known == counts


@pytest.mark.parametrize(
    ("costs", "total"),
    [([0.25, 0.5], 0.75), ([0], 0.0), ([None, 0.5], 0.5), (["1", True], None), ([], None), ([{}, [1]], None)],
)
def test_the_costs_of_all_answers_add_up(costs, total):
    answers = [{**answer(text(f"{number}")), "usage": {"cost": {"total": cost}}} for number, cost in enumerate(costs)]
    assert read(stream(PROMPT, *answers))[-1].run_end.cost_usd == total


@pytest.mark.parametrize(
    ("records", "end"),
    [
        ([PROMPT, answer(text("Done."), stopReason="stop")], ("success", "")),
        ([PROMPT, FAILED], ("error", "error: 400 no")),
        ([PROMPT, answer(stopReason="aborted")], ("error", "aborted")),
        ([PROMPT, FAILED, answer(text("Done."), stopReason="stop")], ("success", "")),  # it was tried again
        ([PROMPT, answer(text("Half."), stopReason="length")], ("success", "")),
        ([PROMPT], ("success", "")),
    ],
)
def test_the_last_answer_decides_how_a_run_ended(records, end):
    assert read(stream(*records))[-1].run_end[:2] == end


@pytest.mark.parametrize(
    ("after", "ended"),
    [([], True), ([{"type": "auto_retry_end"}], True), ([{"type": "agent_start"}], False), ([{"type": "turn_start"}], False),
     ([{"type": "agent_start"}, {"type": "agent_end"}], True)],
)  # fmt: skip
def test_a_run_that_began_again_has_not_ended(after, ended):
    assert (read(stream(*MESSAGES) + lines(*after))[-1].run_end is not None) is ended


def test_a_session_file_has_no_end_record():
    assert read(session_file(*MESSAGES))[-1].run_end is None


@pytest.mark.parametrize(
    "kind",
    ["model_change", "thinking_level_change", "label", "session_info", "custom", "custom_message", "branch_summary", "compaction"],
)  # fmt: skip
def test_the_chain_of_parents_goes_through_a_record_that_is_no_message(kind):
    data = session_file(PROMPT)
    more = [
        {"type": kind, "id": "k", "parentId": "m1"},
        {"type": "message", "id": "n", "parentId": "k", "message": answer(text("Next."))},
        {"type": "message", "id": "o", "parentId": "k", "message": answer(text("Other."))},
    ]
    found = drafts(read(data + lines(*more)))
    assert [draft.parent for draft in found] == [None, found[0].key, found[0].key]
    assert states(read(data + lines(*more)))[-1] == kind


def tree_with(record):
    """Return the messages of a session in which a record follows the prompt, and an answer the record."""
    last = {"type": "message", "id": "n", "parentId": "k", "message": answer(text("Next."))}
    return drafts(read(session_file(PROMPT) + lines({"id": "k", "parentId": "m1", **record}, last)))


@pytest.mark.parametrize(
    ("record", "kind", "author"),
    [
        ({"type": "compaction", "summary": "So far.", "firstKeptEntryId": "m1", "tokensBefore": 9}, "compaction", "system"),
        ({"type": "branch_summary", "summary": "So far.", "fromId": "m1"}, "summary", "injected"),
        ({"type": "custom_message", "customType": "x", "content": "So far.", "display": True}, "meta", "injected"),
        ({"type": "custom_message", "content": [{"type": "text", "text": "So far."}]}, "meta", "injected"),
    ],
)  # fmt: skip
def test_what_the_model_sees_and_no_one_typed_is_a_message_in_the_tree(record, kind, author):
    found = tree_with({**record, "timestamp": "2026-11-21T06:52:25.599Z"})
    assert [draft.kind for draft in found] == ["prompt", kind, "answer"]
    assert (found[1].author.kind, found[1].parts[0].text, found[1].native_ids) == (author, "So far.", ("k",))
    assert [draft.parent for draft in found] == [None, found[0].key, found[1].key]
    assert [draft.context_root for draft in found] == [False, kind == "compaction", False]


@pytest.mark.parametrize(("names", "title"), [(["A"], "A"), (["A", "B"], "B"), (["A", ""], None), ([], None)])
def test_the_last_name_of_a_session_is_its_title_and_an_empty_one_takes_it_away(names, title):
    records = [{"type": "session_info", "id": f"k{name}", "parentId": "m1", "name": name} for name in names]
    assert read(session_file(PROMPT) + lines(*records))[-1].title == title


def test_branches_of_a_real_tree_stay_apart(tmp_path):
    """The session of a real program, continued from an earlier message, as `/tree` does."""
    with open(
        real_transcript("pi", "gen_v0.73_2026-11-21T06-52-25-585Z_01a1fce0-ae71-7260-a965-679ce323983b.jsonl"), "rb"
    ) as stream:
        data = stream.read()
    prompt = {
        "type": "message",
        "id": "f0f0f0f0",
        "parentId": "84686de2",
        "message": {"role": "user", "content": "Else?"},
    }
    path, store = tmp_path / "a.jsonl", make_store(tmp_path / "store.git")
    path.write_bytes(data)
    import_paths(store, path)
    path.write_bytes(data + lines(prompt))
    done = import_paths(store, path)
    assert [(row.new_messages, row.branches) for row in done.conversations] == [(1, 2)]
    (other,) = set(list_branch_tips(store, "conv-001")) - {"main"}
    assert branch_words(store).endswith("Done (34). The directory was listed. ✅ Else?")
    assert branch_words(store, other).endswith("Done (36). The directory was listed. ✅")


@pytest.mark.parametrize("parent", [None, "unknown", "", 7])
def test_a_message_without_a_known_parent_follows_the_one_before_it(parent):
    more = {"type": "message", "id": "n", "parentId": parent, "message": answer(text("Next."))}
    found = drafts(read(session_file(PROMPT, MESSAGES[1]) + lines(more)))
    assert found[-1].parent == found[-2].key


@pytest.mark.parametrize(
    "record",
    [
        {"type": "message", "id": "x"},
        {"type": "message", "id": "x", "message": {}},
        {"type": "message", "id": "x", "message": "text"},
        {"type": "new", "id": "x"},
        {"type": None},
        {},
    ],
)
def test_a_record_of_unknown_shape_is_noted_and_its_neighbours_are_read(record):
    before, after = session_file(PROMPT), {"type": "message", "id": "z", "message": answer(text("Done."))}
    events = read(before + lines(record, after))
    assert ([draft.kind for draft in drafts(events)], len(unparsed(events))) == (["prompt", "answer"], 1)


@BOTH
def test_equal_messages_at_different_times_are_two_and_at_one_time_one(written):
    found = read(written(PROMPT, PROMPT, {**PROMPT, "timestamp": PROMPT["timestamp"] + 1}))
    assert len(drafts(found)) == 2
    assert states(found).count("repeated/message") == 1


@BOTH
@pytest.mark.parametrize("time", [None, "2026", -1, 0, 1.5, 10**18, {}])
def test_a_message_without_a_time_of_its_own_has_that_of_its_record(written, time):
    (draft,) = drafts(read(written({**PROMPT, "timestamp": time})))
    assert draft.time == (None if written is stream else "2026-11-22T03:47:21.000Z")


def test_an_array_of_the_records_is_the_same_run():
    records = [json.loads(line) for line in stream(*MESSAGES).splitlines()]
    array, plain = read(json.dumps(records, indent=1).encode()), read(stream(*MESSAGES))
    assert [draft.parts for draft in drafts(array)] == [draft.parts for draft in drafts(plain)]
    assert array[-1].run_end == plain[-1].run_end
