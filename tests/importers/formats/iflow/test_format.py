"""Session files of iFlow: the records of Claude Code, with answers that are written again while they stream."""

from __future__ import annotations

import pytest

from scopes.importers.formats.iflow import Iflow
from tests.importers.damage import lines
from tests.importers.reading import drafts, events_of, real_transcript, unparsed

SESSION = "session-5de701fc-7454-4858-a249-95cac4fd3b51"


def text(words):
    return {"type": "text", "text": words}


def call(name, tool="read_file", **arguments):
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


def result(name, tool="read_file", display="Read all 3 lines", **response):
    function = {"functionResponse": {"id": name, "name": tool, "response": response}}
    content = {"callId": name, "responseParts": function, "resultDisplay": display}
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def record(number, kind, content, **fields):
    """Return a record; `message` has more fields of its message."""
    more = fields.pop("message", {})
    inner = {
        "role": kind,
        "content": content,
        **({"id": f"r{number}", "model": "glm-4.7"} if kind == "assistant" else {}),
    }
    time = f"2026-01-21T05:56:{number:02}.000Z"
    common = {"uuid": f"u{number}", "parentUuid": "u0" if number else None, "sessionId": SESSION, "timestamp": time}
    place = {"cwd": "C:\\exp\\shop", "gitBranch": None, "version": "1.0.0"} if kind == "user" else {}
    return {
        **common,
        "type": kind,
        "isSidechain": False,
        "userType": "external",
        "message": inner | more,
        **place,
        **fields,
    }


def succeeded(**fields):
    return {"toolUseResult": {"status": "success"}, **fields}


FILE = [
    record(0, "user", "启动 the app"),
    record(1, "assistant", [text("I look."), call("c1", absolute_path="C:\\exp\\shop\\a.rs")]),
    record(2, "assistant", [call("c1", absolute_path="C:\\exp\\shop\\a.rs"), call("c2", absolute_path="b.rs")]),
    record(3, "assistant", [call("c2", absolute_path="b.rs")]),
    record(4, "user", [result("c1", output="fn a() {}")], **succeeded()),
    record(5, "user", [result("c2", output="fn b() {}")], **succeeded()),
    record(6, "assistant", [call("c2", absolute_path="b.rs"), text("I change it."), call("c3", "replace", file_path="b.rs", old_string="b", new_string="c")]),
    record(7, "user", [result("c3", "replace", {"fileDiff": "@@"}, output="File modified")], **succeeded()),
    record(8, "assistant", [text("Done.")]),
]  # fmt: skip


def read(*records):
    return events_of(Iflow(), lines(records))


def test_an_answer_that_streams_is_one_message_with_each_call_once():
    found = drafts(read(*FILE))
    assert [draft.kind for draft in found] == ["prompt", "answer", "tool-results", "answer", "tool-results", "answer"]
    calls = [[p.fields["call_id"] for p in d.parts if p.type == "tool_call"] for d in found]
    assert calls == [[], ["c1", "c2"], [], ["c3"], [], []]
    assert [len(draft.spans) for draft in found] == [1, 3, 2, 1, 1, 1]


def test_the_first_record_gives_session_folder_version_and_start():
    session = read(*FILE)[0]
    assert (session.native_id, session.cwd, session.details) == (SESSION, "C:\\exp\\shop", {"version": "1.0.0"})
    assert session.created == "2026-01-21T05:56:00.000Z"


def test_results_have_the_output_of_the_function_and_the_files_of_the_call():
    results = drafts(read(*FILE))[2::2]
    assert [[part.fields["output"] for part in draft.parts] for draft in results] == [
        ["fn a() {}", "fn b() {}"],
        ["File modified"],
    ]
    assert [[(touch.path, touch.op) for touch in draft.files] for draft in results] == [
        [("C:\\exp\\shop\\a.rs", "read"), ("b.rs", "read")],
        [("b.rs", "edit")],
    ]
    assert (results[1].parts[0].fields["structured"], results[1].tool) == ({"fileDiff": "@@"}, "replace")


@pytest.mark.parametrize(
    ("block", "fields", "output", "is_error"),
    [
        (result("c1", output="x"), succeeded(), "x", False),
        (result("c1", output="x"), {"toolUseResult": {"status": "error"}}, "x", True),
        (result("c1", error="no file"), {}, "no file", True),
        (result("c1", "run_shell_command", output="x\nExit Code: 2\n"), {}, "x\nExit Code: 2\n", True),
        ({"type": "tool_result", "tool_use_id": "c1", "content": "plain", "is_error": True}, {}, "plain", True),
        ({"type": "tool_result", "tool_use_id": "c1", "content": {"responseParts": [1]}}, {}, [1], None),
    ],
)
def test_a_result_tells_whether_the_call_failed(block, fields, output, is_error):
    part = drafts(read(FILE[0], FILE[1], record(4, "user", [block], **fields)))[-1].parts[0].fields
    assert (part["call_id"], part["output"], part.get("is_error")) == ("c1", output, is_error)


@pytest.mark.parametrize(
    ("content", "fields", "kind"),
    [
        ("Go.", {}, "human"),
        ([text("Go.")], {}, "human"),
        ("<system-reminder>x</system-reminder>", {}, "injected"),
        ("Go.", {"isMeta": True}, "injected"),
        ("<command-name>/init</command-name>", {}, "injected"),
        (
            [text("See"), {"type": "image", "source": {"type": "base64", "data": "eA==", "media_type": "image/png"}}],
            {},
            "human",
        ),
    ],
)
def test_only_what_was_typed_is_human(content, fields, kind):
    (found,) = drafts(read(record(0, "user", content, **fields)))
    assert (found.kind, found.author.kind) == ("prompt", kind)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"input_tokens": 0, "output_tokens": 0}, None),
        ({"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 9}, {"input_uncached": 5, "output": 2, "cache_read": 9}),
        ({"input_tokens": "5"}, None),
        (None, None),
    ],
)  # fmt: skip
def test_tokens_count_unless_all_are_zero(usage, counts):
    found = drafts(read(FILE[0], record(1, "assistant", [text("x")], message={"usage": usage})))[-1].usage
    assert (None if found is None else {name: found[name] for name in found if name != "raw"}) == counts


def test_reasoning_is_read_and_unknown_blocks_are_kept_and_counted():
    blocks = [{"type": "thinking", "thinking": "Why?"}, {"type": "hologram"}, text("So.")]
    found = read(FILE[0], record(1, "assistant", blocks))
    assert [part.type for part in drafts(found)[-1].parts] == ["reasoning", "raw", "text"]
    assert unparsed(found) == ["unknown part 'hologram', kept raw in its message"]


def test_a_sidechain_is_a_line_of_its_own():
    side = [record(2, "user", "Look", isSidechain=True), record(3, "assistant", [text("Here")], isSidechain=True)]
    found = drafts(read(*FILE[:2], *side, FILE[8]))
    assert [(draft.side, draft.parent) for draft in found[2:]] == [
        ("sidechain", None), ("sidechain", found[2].key), (None, found[1].key),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, True),
        ({"sessionId": "5de701fc-7454-4858-a249-95cac4fd3b51"}, False),
        ({"sessionId": None}, False),
        ({"isSidechain": None}, False),
        ({"type": None}, False),
    ],
)
def test_the_session_id_and_the_sidechain_make_a_file_recognizable(change, known):
    assert Iflow().sniff(lines([{**FILE[0], **change}])) is known


def test_the_file_of_a_session_is_found_by_its_id(tmp_path):
    (tmp_path / "-exp-shop").mkdir()
    (tmp_path / "-exp-shop" / f"{SESSION}.jsonl").touch()
    find = Iflow().standard_folders.find_session
    assert find(str(tmp_path), SESSION) == str(tmp_path / "-exp-shop" / f"{SESSION}.jsonl")
    assert find(str(tmp_path), "session-other") is None


def test_the_real_session_is_read_whole():
    with open(real_transcript("iflow", "session-5de701fc.jsonl"), "rb") as stream:
        found = events_of(Iflow(), stream.read())
    assert [draft.kind for draft in drafts(found)] == [
        "prompt", "answer", "tool-results", "answer", "tool-results", "answer", "tool-results", "answer",
    ]  # fmt: skip
    assert unparsed(found) == []
    assert [len(draft.files) for draft in drafts(found)] == [0, 0, 3, 0, 2, 0, 1, 0]
