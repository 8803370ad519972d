"""Session files of Gemini CLI: messages that are written again, replaced and rewound."""

from __future__ import annotations

import pytest

from tests.importers.formats.gemini.test_gemini import (
    CONTEXT,
    FILE,
    RESPONSE,
    TOKENS,
    message,
    read,
)
from tests.importers.reading import drafts, states

HEADER = FILE[0]
PROMPT, ANSWER = message("p", "user", 1, "Run it."), message("a", "gemini", 2, "Done.")


def tree(events):
    """Return the text of each message with that of its parent."""
    texts = {draft.key: "".join(part.text for part in draft.parts) for draft in drafts(events)}
    return [(texts[draft.key], texts.get(draft.parent)) for draft in drafts(events)]


def active_text(events):
    return next(
        ("".join(p.text for p in draft.parts) for draft in drafts(events) if draft.key == events[-1].active), None
    )


def response(name="c1", tool="write_file", **content):
    return {"functionResponse": {"id": name, "name": tool, "response": content}}


def call(name="c1", tool="write_file", **fields):
    return {"id": name, "name": tool, "args": {"file_path": "a.py", "content": "x"}, "status": "success", **fields}


@pytest.mark.parametrize(
    ("record", "kind", "author", "status"),
    [
        (message("x", "user", 1, "Go."), "prompt", ("user", "human"), None),
        (message("x", "user", 1, CONTEXT), "meta", ("user", "injected"), None),
        (message("x", "user", 1, [{"text": "\n  " + CONTEXT}]), "meta", ("user", "injected"), None),
        (message("x", "gemini", 1, "Go."), "answer", ("gemini", "agent"), None),
        (message("x", "info", 1, "Update available."), "notice", ("gemini", "system"), None),
        (message("x", "warning", 1, "Slow."), "notice", ("gemini", "system"), None),
        (message("x", "error", 1, "[API Error: 400]"), "error", ("gemini", "system"), "error"),
        (message("x", "user", 1, [response(output="ok")]), "tool-results", ("tool", "tool"), None),
    ],
)
def test_the_type_of_a_message_decides_its_kind_and_author(record, kind, author, status):
    (draft,) = drafts(read(HEADER, record))
    assert (draft.kind, tuple(draft.author), draft.status) == (kind, author, status)
    assert draft.native_ids == ("x",)


def test_the_last_writing_of_a_message_counts_and_all_of_them_are_its_bytes():
    pieces = [message("a", "gemini", 2, "Do"), PROMPT, message("a", "gemini", 2, "Done.", model="m", tokens=TOKENS)]
    first, second = drafts(read(HEADER, *pieces))
    assert (first.parts[0].text, first.model, first.usage["output"], len(first.spans)) == ("Done.", "m", 5, 2)
    assert second.parent == first.key


def test_thoughts_come_before_the_text_and_calls_after_it():
    thoughts = [{"subject": "Plan", "description": "Look first."}, {"subject": "Go"}, {}, "no object"]
    (draft,) = drafts(read(HEADER, message("a", "gemini", 1, "Now.", thoughts=thoughts, toolCalls=[call(), None])))
    assert [(part.type, part.text) for part in draft.parts] == [
        ("reasoning", "Plan\n\nLook first."), ("reasoning", "Go"), ("reasoning", ""), ("text", "Now."), ("tool_call", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("value", [None, "none", {}, 7, [[]], [7]])
@pytest.mark.parametrize("name", ["thoughts", "toolCalls", "tokens", "model"])
def test_a_field_of_the_wrong_type_counts_as_absent(name, value):
    (draft,) = drafts(read(HEADER, message("a", "gemini", 1, "Now.", **{name: value})))
    assert [part.type for part in draft.parts] == ["text"]
    assert draft.usage is None
    assert draft.model == (value if (name, value) == ("model", "none") else None)


@pytest.mark.parametrize(
    ("tool", "given", "touched"),
    [
        ("write_file", {"file_path": "a.py", "content": "x"}, [("a.py", "edit")]),
        ("replace", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, [("a.py", "edit")]),
        ("read_file", {"file_path": "a.py"}, [("a.py", "read")]),
        ("run_shell_command", {"command": "rm a.py"}, []),
    ],
)
def test_the_results_name_the_files_that_their_calls_touched(tool, given, touched):
    answer = message("a", "gemini", 1, "", toolCalls=[{**call(tool=tool), "args": given}])
    result = drafts(read(HEADER, answer, message("r", "user", 2, [response(tool=tool, output="ok")])))[-1]
    assert [(touch.path, touch.op) for touch in result.files] == touched
    assert (result.tool, result.reply_to) == (tool, None)  # the parent is the message of the call


def test_results_that_come_after_another_message_refer_to_their_answer():
    answer = message("a", "gemini", 1, "", toolCalls=[call()])
    found = drafts(
        read(HEADER, answer, message("n", "info", 2, "Wait."), message("r", "user", 3, [response(output="k")]))
    )
    assert (found[2].parent, found[2].reply_to) == (found[1].key, found[0].key)


def test_results_of_two_tools_name_no_tool_and_results_before_their_call_no_answer():
    two = message("r", "user", 2, [response("c1", output="ok"), response("c2", "replace", output="ok")])
    answer = message("a", "gemini", 1, "", toolCalls=[call("c1"), call("c2", "replace")])
    assert drafts(read(HEADER, answer, two))[-1].tool is None
    early = drafts(read(HEADER, two, answer))
    assert [(draft.kind, draft.tool, draft.reply_to) for draft in early] == [
        ("tool-results", None, None),
        ("answer", None, None),
    ]
    assert [part.type for part in early[1].parts] == ["tool_call", "tool_call"]


@pytest.mark.parametrize("result", ["done", [None], [{}], [{"functionResponse": 7}], {"output": "x"}])
def test_a_result_of_unknown_shape_is_still_the_result_of_its_call(result):
    (draft,) = drafts(read(HEADER, message("a", "gemini", 1, "", toolCalls=[call(result=result, status="error")])))
    assert [part.type for part in draft.parts] == ["tool_call", "tool_result"]
    assert (draft.parts[1].fields["call_id"], draft.parts[1].fields["is_error"]) == ("c1", True)


@pytest.mark.parametrize(
    ("name", "parent", "active"),
    [
        ("p", None, "New."),  # everything is dropped
        ("a", "Run it.", "New."),
        ("b", "Done.", "New."),
        ("unknown", None, "New."),
    ],
)
def test_a_rewind_goes_back_to_before_the_message_it_names(name, parent, active):
    last = message("b", "user", 3, "Thanks.")
    events = read(HEADER, PROMPT, ANSWER, last, {"$rewindTo": name}, message("n", "user", 4, "New."))
    assert (tree(events)[-1], active_text(events)) == (("New.", parent), active)
    assert len(drafts(events)) == 4
    assert states(events) == ["header", "$rewindTo"]


def test_a_rewind_at_the_end_leaves_the_message_before_it_active_unless_others_continue_it():
    events = read(HEADER, PROMPT, ANSWER, {"$rewindTo": "a"})
    assert active_text(events) == "Done."  # a branch cannot end at a message that has one after it
    assert active_text(read(HEADER, PROMPT, {"$rewindTo": "p"})) == "Run it."


def test_a_message_that_was_dropped_and_is_written_again_is_where_it_was():
    events = read(HEADER, PROMPT, ANSWER, {"$rewindTo": "a"}, ANSWER, message("n", "user", 4, "New."))
    assert tree(events) == [("Run it.", None), ("Done.", "Run it."), ("New.", "Done.")]


@pytest.mark.parametrize(
    ("listed", "line"),
    [
        ([PROMPT, ANSWER], [("Run it.", None), ("Done.", "Run it.")]),
        ([PROMPT], [("Run it.", None), ("Done.", "Run it.")]),
        ([], [("Run it.", None), ("Done.", "Run it.")]),
        ([ANSWER, message("s", "user", 3, "Short.")], [("Run it.", None), ("Done.", "Run it."), ("Short.", "Done.")]),
        ([message("s", "user", 3, "Short.")], [("Run it.", None), ("Done.", "Run it."), ("Short.", None)]),
    ],
)
def test_messages_missing_from_a_later_list_stay_on_a_line_of_their_own(listed, line):
    assert tree(read(HEADER, PROMPT, ANSWER, {"$set": {"messages": listed}})) == line


@pytest.mark.parametrize(
    ("records", "opened"),
    [
        ([], None),
        ([PROMPT], "p"),
        ([PROMPT, ANSWER], "a"),
        ([PROMPT, ANSWER, message("r", "user", 3, RESPONSE)], "a"),
        ([PROMPT, ANSWER, message("q", "user", 3, "Then?"), message("r", "user", 3, "And?")], "r"),
    ],
)
def test_the_last_answer_is_open_while_its_results_may_come(records, opened):
    events = read(HEADER, *records)
    names = {draft.key: draft.native_ids[0] for draft in drafts(events)}
    assert names.get(events[-1].open) == opened
