"""The lines that a tool call added, read from calls and results in the shapes that agents write."""

from __future__ import annotations

import pytest

from scopes.code_links.edits import MAX_LINES, base_name_of, list_added
from scopes.model.message import Part


def call(name="Edit", **arguments):
    return Part("tool_call", {"call_id": "c1", "name": name, "input": arguments})


def patch_call(text):
    return Part("tool_call", {"call_id": "c1", "name": "apply_patch", "input_text": text})


def result(structured=None, **fields):
    found = {"call_id": "c1", "output": "The file has been updated.", **fields}
    return Part("tool_result", found if structured is None else {**found, "structured": structured})


def hunk(*lines):
    return {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": list(lines)}


def lines_of(found):
    return {each.path: list(each.lines) for each in found}


def test_the_recorded_hunks_are_what_was_added():
    structured = {"structuredPatch": [hunk(" a", "-b", "+  c d"), hunk("+e", " f")]}
    found = list_added(call(file_path="/p/app.py", old_string="b", new_string="other"), result(structured))
    assert lines_of(found) == {"/p/app.py": ["c d", "e"]}


def test_without_hunks_the_new_text_counts_minus_the_old_one():
    found = list_added(call(file_path="/p/app.py", old_string="a\nb\n", new_string="a\nc\nb\nd\n"), result())
    assert lines_of(found) == {"/p/app.py": ["c", "d"]}


def test_a_line_that_is_there_more_often_than_before_was_added():
    found = list_added(call(file_path="/p/app.py", old_string="x = 1\n", new_string="x = 1\nx = 1\n"), result())
    assert lines_of(found) == {"/p/app.py": ["x = 1"]}


def test_only_blanks_that_changed_add_no_line():
    found = list_added(call(file_path="/p/app.py", old_string="if a:\nb()\n", new_string="if a:\n    b()\n"), result())
    assert found == []


def test_several_edits_of_one_call_count_together():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    assert lines_of(list_added(call("MultiEdit", file_path="/p/app.py", edits=edits), result())) == {
        "/p/app.py": ["b", "d"]
    }


def test_a_new_file_is_added_completely():
    written = call("Write", file_path="/p/new.py", content="one\n\ntwo\n")
    found = list_added(written, result({"type": "create", "filePath": "/p/new.py", "structuredPatch": []}))
    assert lines_of(found) == {"/p/new.py": ["one", "two"]}


def test_a_file_that_was_written_again_adds_what_its_hunks_say():
    written = call("Write", file_path="/p/app.py", content="one\ntwo\nthree\n")
    structured = {"type": "update", "structuredPatch": [hunk(" one", "+two", " three")], "originalFile": "one\nthree\n"}
    assert lines_of(list_added(written, result(structured))) == {"/p/app.py": ["two"]}


def test_a_file_that_was_written_again_adds_what_the_text_before_lacks():
    written = call("Write", file_path="/p/app.py", content="one\ntwo\n")
    assert lines_of(list_added(written, result({"originalFile": "one\n"}))) == {"/p/app.py": ["two"]}


def test_a_patch_of_codex_adds_the_lines_with_a_plus():
    text = "*** Begin Patch\n*** Update File: src/app.py\n@@ def f():\n a\n-b\n+c\n+d\n*** Add File: new.py\n+e\n*** End Patch"
    assert lines_of(list_added(patch_call(text), result())) == {"src/app.py": ["c", "d"], "new.py": ["e"]}


def test_the_changes_that_codex_reports_come_before_its_patch():
    changes = {"/p/app.py": {"type": "update", "unified_diff": "@@ -1 +1,2 @@\n a\n+b\n", "move_path": None}}
    text = "*** Begin Patch\n*** Update File: app.py\n@@\n a\n+b\n*** End Patch"
    assert lines_of(list_added(patch_call(text), result({"changes": changes}))) == {"/p/app.py": ["b"]}


def test_a_renamed_file_has_its_new_path():
    text = "*** Begin Patch\n*** Update File: old.py\n*** Move to: new.py\n@@\n a\n+b\n*** End Patch"
    assert lines_of(list_added(patch_call(text), result())) == {"new.py": ["b"]}


@pytest.mark.parametrize(
    "answer",
    [
        result(is_error=True),
        result(exit_code=1),
        result(output="The user doesn't want to proceed with this tool use. The tool use was rejected."),
    ],
    ids=["error", "exit code", "refused"],
)
def test_a_call_that_failed_or_was_refused_added_nothing(answer):
    assert list_added(call(file_path="/p/app.py", old_string="a", new_string="b"), answer) == []


@pytest.mark.parametrize(
    "made",
    [
        call("Read", file_path="/p/app.py"),
        call("Bash", command="sed -i s/a/b/ app.py"),
        call("Grep", pattern="x"),
        call(file_path="/p/app.py", old_string="a\n", new_string=""),
        patch_call("*** Begin Patch\n*** Delete File: app.py\n*** End Patch"),
    ],
    ids=["read", "shell", "search", "removal", "deletion"],
)
def test_other_calls_add_nothing(made):
    assert list_added(made, result()) == []


def test_a_line_counts_once():
    found = list_added(
        call("Write", file_path="/p/a.py", content="x = 1\n" * 5 + "  x  =  1\n"), result({"type": "create"})
    )
    assert lines_of(found) == {"/p/a.py": ["x = 1"]}


def test_of_a_very_large_file_only_the_first_lines_count():
    text = "".join(f"line {number}\n" for number in range(MAX_LINES + 10))
    (found,) = list_added(call("Write", file_path="/p/data.txt", content=text), result({"type": "create"}))
    assert len(found.lines) == MAX_LINES


@pytest.mark.parametrize(
    ("path", "name"),
    [("/p/src/app.py", "app.py"), ("app.py", "app.py"), ("C:\\p\\app.py", "app.py"), ("src/", "src"), ("", "")],
)
def test_the_base_name_is_the_last_part_with_either_separator(path, name):
    assert base_name_of(path) == name


def test_arguments_of_another_type_count_as_absent():
    assert list_added(call(file_path=7, old_string=["a"], new_string=None), result()) == []
    assert list_added(call(file_path="/p/a.py", old_string="a", new_string="b"), result({"structuredPatch": "x"})) != []


def test_changes_that_only_the_result_reports_to_an_editor_are_added():
    """Behind `scopes acp`, Codex names the files and the lines of a patch only in the diffs of the result."""
    diffs = [
        {"type": "diff", "path": "/p/app.py", "oldText": "a = 1\n", "newText": "a = 1\nb = 2\n"},
        {"type": "diff", "path": "/p/new.py", "oldText": None, "newText": "c = 3\n"},
    ]
    found = list_added(call("edit", title="Editing files"), result({"diffs": diffs}))
    assert lines_of(found) == {"/p/app.py": ["b = 2"], "/p/new.py": ["c = 3"]}


@pytest.mark.parametrize("diffs", [None, 3, "text", {"path": "/p/app.py"}, [None, {"path": 1, "newText": "a"}, {}]])
def test_diffs_of_another_shape_count_as_absent(diffs):
    assert list_added(call("edit", title="Editing files"), result({"diffs": diffs})) == []
