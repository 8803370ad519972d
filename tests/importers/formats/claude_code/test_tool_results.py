"""Tool results: outputs, additional fields of the record, files, exit codes."""

from __future__ import annotations

from hashlib import sha256

import pytest

from scopes.model.message import FileTouch
from tests.importers.formats.claude_code.logs import Log, call, drafts, text

PATCH = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-tea", "+coffee"]}]
EDIT = {
    "filePath": "/shop/a.txt",
    "oldString": "tea",
    "newString": "coffee",
    "originalFile": "tea\n",
    "structuredPatch": PATCH,
}


def seen(**changes):
    file = {"filePath": "/shop/a.txt", "content": "tea\n", "numLines": 2, "startLine": 1, "totalLines": 2} | changes
    return {"type": "text", "file": file}


def digest(content):
    return "sha256:" + sha256(content.encode()).hexdigest()


def results(tool="Bash", asked=None, output="done", **fields):
    log = Log()
    log.answer("m1", call("c1", tool, **(asked or {"command": "ls"})))
    log.result("c1", output, **fields)
    return drafts(log)[1]


def only(draft):
    [part] = draft.parts
    return dict(part.fields)


def test_a_result_has_the_tool_as_author_and_names_its_call():
    draft = results(output="a.txt\n")
    assert (draft.kind, draft.author.name, draft.author.kind, draft.tool) == ("tool-results", "tool", "tool", "Bash")
    assert only(draft) == {"call_id": "c1", "output": "a.txt\n"}
    assert draft.status is None


def test_a_failed_command_has_its_exit_code():
    draft = results(
        output="Exit code 127\nsh: tea: not found",
        failed=True,
        toolUseResult="Error: Exit code 127\nsh: tea: not found",
    )
    assert only(draft) == {
        "call_id": "c1",
        "output": "Exit code 127\nsh: tea: not found",
        "is_error": True,
        "exit_code": 127,
    }
    assert draft.status == "error"


def test_an_interrupted_command_is_marked():
    assert (
        results(toolUseResult={"stdout": "done", "stderr": "", "interrupted": True, "isImage": False}).status
        == "interrupted"
    )


@pytest.mark.parametrize(
    ("tool_use_result", "structured"),
    [
        ({"stdout": "done", "stderr": "", "interrupted": False, "isImage": False}, None),
        ({"stdout": "done", "stderr": "no tea", "interrupted": False}, {"stderr": "no tea"}),
        ({"result": "done", "code": 200}, {"code": 200}),
        (EDIT, {"filePath": "/shop/a.txt", "structuredPatch": PATCH}),
        (
            {"agentId": "a1", "prompt": "Look", "content": [text("x")], "totalTokens": 9},
            {"agentId": "a1", "totalTokens": 9},
        ),
        ("Error: done", None),
        ("User rejected tool use", "User rejected tool use"),
        ([text("more")], [text("more")]),
        (None, None),
        ({}, None),
    ],
)
def test_additional_fields_of_a_structured_result_are_kept(tool_use_result, structured):
    assert only(results(toolUseResult=tool_use_result)).get("structured") == structured


def test_a_file_that_was_read_keeps_its_lines_but_not_its_text_twice():
    assert only(results("Read", toolUseResult=seen()))["structured"] == {
        "type": "text", "file": {"filePath": "/shop/a.txt", "numLines": 2, "startLine": 1, "totalLines": 2},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tool_use_result", "touch"),
    [
        (seen(), FileTouch("/shop/a.txt", "read", digest("tea\n"))),
        (seen(startLine=2), FileTouch("/shop/a.txt", "read")),
        (seen(numLines=1), FileTouch("/shop/a.txt", "read")),
        (seen(content="\ud800"), FileTouch("/shop/a.txt", "read")),
        (EDIT, FileTouch("/shop/a.txt", "edit")),
        (EDIT | {"oldString": "", "originalFile": None}, FileTouch("/shop/a.txt", "create")),
        (
            {**EDIT, "type": "create", "content": "tea\n", "originalFile": None},
            FileTouch("/shop/a.txt", "create", digest("tea\n")),
        ),
        ({**EDIT, "type": "update", "content": "tea\n"}, FileTouch("/shop/a.txt", "edit", digest("tea\n"))),
        ({"notebook_path": "/shop/b.ipynb", "updated_file": "{}"}, FileTouch("/shop/b.ipynb", "edit", digest("{}"))),
    ],
)
def test_files_are_taken_from_structured_results(tool_use_result, touch):
    assert results("Edit", toolUseResult=tool_use_result).files == (touch,)


@pytest.mark.parametrize(
    ("tool", "asked", "output", "touch"),
    [
        ("Read", {"file_path": "a.txt"}, "1 tea", FileTouch("a.txt", "read")),
        ("Edit", {"file_path": "a.txt"}, "updated", FileTouch("a.txt", "edit")),
        (
            "Write",
            {"file_path": "a.txt", "content": "tea"},
            "File created successfully",
            FileTouch("a.txt", "create", digest("tea")),
        ),
        (
            "Write",
            {"file_path": "a.txt", "content": "tea"},
            "The file was updated",
            FileTouch("a.txt", "edit", digest("tea")),
        ),
        ("NotebookEdit", {"notebook_path": "b.ipynb"}, "updated", FileTouch("b.ipynb", "edit")),
    ],
)
def test_without_a_structured_result_the_file_is_that_of_the_call(tool, asked, output, touch):
    assert results(tool, asked, output).files == (touch,)


def test_a_failed_call_touches_no_file():
    assert results("Edit", {"file_path": "a.txt"}, "String not found", failed=True).files == ()


def test_files_of_parallel_results_are_combined():
    log = Log()
    answer = log.answer(
        "m1", call("c1", "Read", file_path="a"), call("c2", "Read", file_path="b"), call("c3", "Read", file_path="a")
    )
    for name in ("c1", "c2", "c3"):
        log.result(name, parent=answer)
    draft = drafts(log)[1]
    assert [part.fields["call_id"] for part in draft.parts] == ["c1", "c2", "c3"]
    assert (draft.files, draft.tool) == ((FileTouch("a", "read"), FileTouch("b", "read")), "Read")
