"""Sides that made the same of a file are never a conflict, whatever their edits look like; removed files."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.new import new
from scopes.history.messages import plain_message
from tests.support.tool_calls import call_tool, checked

FILE = "src/f.c"
LINES = [f"line {number}\n" for number in range(1, 41)]
TEXT = "".join(LINES)
SIDES = ("main", "alt")


RESULT = {"type": "tool_result", "call_id": "one", "output": "", "exit_code": 0}


def tool_call(command, call_id="one"):
    return {"type": "tool_call", "call_id": call_id, "name": "Bash", "input": {"command": command}}


@pytest.fixture
def forked(repository):
    new(repository, directory="/work")
    append(repository, "conv-001", plain_message("carol", "go"))
    branch(repository, "conv-001", name="alt", switch=False)
    return repository


def outcome(repository):
    files = merge(repository, "conv-001", "alt", target="main", dry_run=True).files
    return [(file.path, file.outcome) for file in files if file.path != FILE or file.outcome != "same"]


def edit(repository, name, old, new_text, before=TEXT):
    structured = {} if before is None else {"structured": {"originalFile": before, "filePath": FILE}}
    arguments = {"file_path": FILE, "old_string": old, "new_string": new_text}
    call_tool(repository, f"conv-001/{name}", "Edit", arguments, **structured)


def patch(repository, name, *hunks, path=FILE, moved=None):
    """Append a patch as Codex reports it: hunks with line numbers, and the new path of the file."""
    change = {"type": "update", "unified_diff": "".join(hunks)} | ({} if moved is None else {"move_path": moved})
    structured = {"changes": {f"/work/{path}": change}}
    call_tool(repository, f"conv-001/{name}", "apply_patch", "*** Begin Patch", agent="codex", structured=structured)


def patch_without_numbers(repository, name, *lines, path=FILE):
    text = "\n".join(["*** Begin Patch", f"*** Update File: {path}", *lines, "*** End Patch", ""])
    call_tool(repository, f"conv-001/{name}", "apply_patch", text, agent="codex")


def shell(repository, name, command, **result):
    call_tool(repository, f"conv-001/{name}", "Bash", {"command": command}, **({"exit_code": 0} | result))


@pytest.mark.parametrize("hunk", ["@@ -3,1 +3,1 @@\n-line 3\n+three\n", ""])
def test_the_same_rename_on_both_sides_is_no_conflict(forked, hunk):
    for name in SIDES:
        patch(forked, name, hunk, moved="src/g.c")
    assert {found for _, found in outcome(forked)} == {"same"}
    assert merge(forked, "conv-001", "alt", target="main").conflicts == ()


def test_the_same_renames_one_after_the_other_are_no_conflict(forked):
    for name in SIDES:
        patch(forked, name, "@@ -3,1 +3,1 @@\n-line 3\n+three\n", moved="src/g.c")
        patch(forked, name, "@@ -9,1 +9,1 @@\n-line 9\n+nine\n", path="src/g.c", moved="src/h.c")
    assert outcome(forked) == [("src/h.c", "same")]


def test_edits_before_the_same_rename_count(forked):
    """The patches that rename are equal, the files are not."""
    edit(forked, "main", "line 9\n", "main\n")
    edit(forked, "alt", "line 9\n", "alt\n")
    for name in SIDES:
        patch(forked, name, "@@ -3,1 +3,1 @@\n-line 3\n+three\n", moved="src/g.c")
    assert outcome(forked) == [("src/g.c", "overlap")]


def test_edits_of_a_renamed_file_are_merged(forked):
    edit(forked, "main", "line 9\n", "main\n")
    edit(forked, "alt", "line 20\n", "alt\n")
    for name in SIDES:
        patch(forked, name, moved="src/g.c")
    [file] = merge(forked, "conv-001", "alt", target="main", dry_run=True).files
    assert (file.path, file.outcome) == ("src/g.c", "compatible")
    assert file.merged == TEXT.replace("line 9\n", "main\n").replace("line 20\n", "alt\n")


def test_a_command_before_the_same_rename_makes_the_text_unknown(forked):
    shell(forked, "main", f"sed -i s/9/nine/ {FILE}")
    for name in SIDES:
        patch(forked, name, "@@ -3,1 +3,1 @@\n-line 3\n+three\n", moved="src/g.c")
    assert outcome(forked) == [("src/g.c", "unknown")]


def test_renames_of_two_files_to_one_path_are_not_the_same(forked):
    hunk = "@@ -3,1 +3,1 @@\n-line 3\n+three\n"
    patch(forked, "main", hunk, moved="src/g.c")
    patch(forked, "alt", hunk, path="src/other.c", moved="src/g.c")
    assert outcome(forked) == [("src/g.c", "unknown")]


def test_the_same_patch_without_line_numbers_and_texts_is_no_conflict(forked):
    for name in SIDES:
        patch_without_numbers(forked, name, "@@", " line 2", "-line 3", "+three")
    assert merge(forked, "conv-001", "alt", target="main").conflicts == ()


def test_an_edit_without_recorded_content_is_never_the_same(forked):
    for name in SIDES:
        call_tool(forked, f"conv-001/{name}", "NotebookEdit", {"notebook_path": FILE, "new_source": "x"})
    assert outcome(forked) == [(FILE, "unknown")]


@pytest.mark.parametrize(
    "steps",
    [
        ["@@ -3,1 +3,1 @@\n-line 3\n+x\n@@ -9,1 +9,1 @@\n-line 9\n+y\n"],
        ["@@ -9,1 +9,1 @@\n-line 9\n+y\n", "@@ -3,1 +3,1 @@\n-line 3\n+x\n"],
        ["@@ -9,1 +9,1 @@\n-line 9\n+z\n", "@@ -3,1 +3,1 @@\n-line 3\n+x\n", "@@ -9,1 +9,1 @@\n-z\n+y\n"],
        [
            "@@ -2,3 +2,3 @@\n line 2\n-line 3\n+x\n line 4\n",
            "@@ -8,3 +8,3 @@\n-line 8\n-line 9\n+line 8\n+y\n line 10\n",
        ],
    ],
)
def test_the_same_result_of_other_patches_is_no_conflict_without_texts(forked, steps):
    patch(forked, "main", "@@ -3,1 +3,1 @@\n-line 3\n+x\n@@ -9,1 +9,1 @@\n-line 9\n+y\n")
    for hunks in [*steps, "@@ -30,1 +30,1 @@\n-line 30\n+z\n", "@@ -30,1 +30,1 @@\n-z\n+line 30\n"]:
        patch(forked, "alt", hunks)
    assert merge(forked, "conv-001", "alt", target="main").conflicts == ()


def test_equal_hunks_do_not_overlap(forked):
    equal = "@@ -3,1 +3,1 @@\n-line 3\n+x\n"
    patch(forked, "main", equal, "@@ -9,1 +9,1 @@\n-line 9\n+y\n")
    patch(forked, "alt", equal, "@@ -20,1 +20,1 @@\n-line 20\n+z\n")
    assert outcome(forked) == [(FILE, "compatible")]
    patch(forked, "alt", "@@ -9,1 +9,1 @@\n-line 9\n+other\n")
    [file] = merge(forked, "conv-001", "alt", target="main", dry_run=True).files
    assert (file.outcome, [each.base for each in file.ranges]) == ("overlap", [(9, 9)])


def test_the_same_result_of_more_steps_is_no_conflict(forked):
    edit(forked, "main", "line 3\n", "x\n")
    edit(forked, "main", "line 9\n", "y\n", None)
    for old, changed in (("line 9\n", "z\n"), ("line 3\n", "x\n"), ("z\n", "y\n")):
        edit(forked, "alt", old, changed, None)
    assert merge(forked, "conv-001", "alt", target="main").conflicts == ()


@pytest.mark.parametrize(
    "command", [f"rm {FILE}", f"git rm -q -- '{FILE}'", f"rm -f /work/{FILE}", f"rm {FILE} src/g.c", "rm -r src"]
)
@pytest.mark.parametrize("result", [{}, {"exit_code": None, "is_error": False}])
def test_a_file_that_a_command_removed_is_deleted(forked, command, result):
    edit(forked, "main", "line 3\n", "x\n")
    edit(forked, "alt", "line 9\n", "y\n")
    shell(forked, "alt", command, **result)
    [file] = merge(forked, "conv-001", "alt", target="main", dry_run=True).files
    assert (file.outcome, file.note, file.source.deleted) == ("overlap", "the source deleted it", True)
    shell(forked, "main", f"rm {FILE}")
    assert merge(forked, "conv-001", "alt", target="main").conflicts == ()


@pytest.mark.parametrize(
    ("command", "result"),
    [
        ("rm src/*.c f.c", {}),
        (f"rm {FILE} || true", {}),
        (f"cd src && rm {FILE}", {}),
        (f"rm -i {FILE}", {}),
        (f"git rm --cached {FILE}", {}),
        (f"git rm -n {FILE}", {}),
        ("rm f.c", {}),
        (f"rm '{FILE}", {}),
        (f"rm {FILE}", {"exit_code": None}),
    ],
)
def test_other_commands_leave_the_text_unknown(forked, command, result):
    edit(forked, "main", "line 3\n", "x\n")
    edit(forked, "alt", "line 9\n", "y\n")
    shell(forked, "alt", command, **result)
    assert outcome(forked) == [(FILE, "unknown")]


def test_a_file_that_a_command_renamed_is_deleted_at_its_old_path(forked):
    edit(forked, "main", "line 3\n", "x\n")
    edit(forked, "alt", "line 9\n", "y\n")
    shell(forked, "alt", f"mv {FILE} src/g.c")
    assert outcome(forked) == [(FILE, "overlap")]


def test_a_relative_path_begins_at_the_directory_of_the_call(forked):
    edit(forked, "main", "line 3\n", "x\n")
    edit(forked, "alt", "line 9\n", "y\n")
    arguments = {"command": ["bash", "-lc", "rm f.c"], "workdir": "/work/src"}
    call_tool(forked, "conv-001/alt", "shell", arguments, agent="codex", exit_code=0)
    assert outcome(forked) == [(FILE, "overlap")]


def test_a_relative_path_is_unknown_after_the_shell_changed_its_directory(forked):
    """A shell keeps the directory of its `cd` for later calls, and an appended message does not state it."""
    edit(forked, "main", "line 3\n", "x\n")
    edit(forked, "alt", "line 9\n", "y\n")
    shell(forked, "alt", "make\ncd sub")
    shell(forked, "alt", f"rm {FILE}")
    assert outcome(forked) == [(FILE, "unknown")]
    shell(forked, "alt", f"rm /work/{FILE}")
    assert outcome(forked) == [(FILE, "overlap")]


def test_a_relative_path_is_unknown_if_the_shell_changed_its_directory_before_the_fork(forked):
    shell(forked, "alt", "pushd sub")
    branch(forked, "conv-001", name="third", start="alt", switch=False)
    edit(forked, "alt", "line 3\n", "x\n")
    edit(forked, "third", "line 9\n", "y\n")
    shell(forked, "third", f"rm {FILE}")
    files = merge(forked, "conv-001", "third", target="alt", dry_run=True).files
    assert [(file.path, file.outcome) for file in files] == [(FILE, "unknown")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"cwd": "/work/src", "precision": "exact"}, "overlap"),
        ({"cwd": "/work/other", "precision": "exact"}, "compatible"),
        ({"cwd": "/work/src", "precision": "exact", "stream": "run"}, "unknown"),
    ],
)
def test_a_relative_path_begins_at_the_directory_that_the_session_file_states(forked, fields, expected):
    edit(forked, "main", "line 3\n", "x\n")
    edit(forked, "alt", "line 9\n", "y\n")
    shell(forked, "alt", "cd src")
    for document in (
        {"author": "claude", "parts": [tool_call("rm f.c")], **fields},
        {"author": {"name": "tool", "kind": "tool"}, "parts": [RESULT]},
    ):
        append(forked, "conv-001", checked(document), branch="alt")
    assert outcome(forked) == [(FILE, expected)]


def test_a_call_of_the_same_message_can_change_the_directory(forked):
    edit(forked, "main", "line 3\n", "x\n")
    edit(forked, "alt", "line 9\n", "y\n")
    calls = [tool_call("cd sub", "first"), tool_call(f"rm {FILE}")]
    for document in (
        {"author": "claude", "parts": calls, "precision": "exact"},
        {"author": {"name": "tool", "kind": "tool"}, "parts": [RESULT]},
    ):
        append(forked, "conv-001", checked(document), branch="alt")
    assert outcome(forked) == [(FILE, "unknown")]


def test_another_agent_that_changes_its_directory_does_not_matter(forked):
    edit(forked, "main", "line 3\n", "x\n")
    edit(forked, "alt", "line 9\n", "y\n")
    call_tool(forked, "conv-001/alt", "Bash", {"command": "cd sub"}, agent="codex", exit_code=0)
    shell(forked, "alt", f"rm {FILE}")
    assert outcome(forked) == [(FILE, "overlap")]


def test_an_addition_does_not_fit_a_deleted_file(forked):
    """A patch without line numbers that only adds lines fits every text, also an empty one."""
    edit(forked, "main", "line 3\n", "x\n")
    shell(forked, "main", f"rm {FILE}")
    shell(forked, "alt", f"sed -i s/9/nine/ {FILE}")
    patch_without_numbers(forked, "alt", "@@", "+more")
    assert outcome(forked) == [(FILE, "unknown")]
