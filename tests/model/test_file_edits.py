"""What a tool call did to files, from the shapes that Claude Code and Codex record."""

from __future__ import annotations

from hashlib import sha256

import pytest

from scopes.model.message import FileTouch, Part
from scopes.model.tools import (
    MAX_EDITS,
    FileEdit,
    Hunk,
    Replacement,
    apply_edit,
    apply_hunks,
    command_of,
    edits_of_call,
    edits_of_result,
    parse_unified,
    touches_of_call,
)

PATH = "/work/app.py"
THREE = "one\ntwo\nthree\n"


def call(name, arguments):
    fields = {"input_text": arguments} if isinstance(arguments, str) else {"input": arguments}
    return Part("tool_call", {"call_id": "c", "name": name, **fields})


def edit_of(name, arguments, structured=None):
    """Return the only edit of a call."""
    [edit] = edits_of_call(call(name, arguments), structured or {})
    return edit


def patched(text, patch):
    """Return the text after a patch in the notation of Codex, for one file."""
    return apply_edit(edit_of("apply_patch", patch), text)


def update(*lines):
    return "\n".join(["*** Begin Patch", f"*** Update File: {PATH}", *lines, "*** End Patch", ""])


# Claude Code


def test_an_edit_of_claude_is_applied_to_the_file_that_its_result_has():
    edit = edit_of("Edit", {"file_path": PATH, "old_string": "two", "new_string": "2"}, {"originalFile": THREE})
    assert (edit.path, edit.op, edit.before) == (PATH, "edit", THREE)
    assert apply_edit(edit, "a text that somebody wrote in between") == "one\n2\nthree\n"


def test_an_edit_without_the_file_before_it_is_applied_to_the_text_that_is_known():
    edit = edit_of("Edit", {"file_path": PATH, "old_string": "two", "new_string": "2"})
    assert apply_edit(edit, THREE) == "one\n2\nthree\n"
    assert apply_edit(edit, None) is None


def test_only_the_first_occurrence_is_replaced_unless_all_are_asked_for():
    arguments = {"file_path": PATH, "old_string": "a", "new_string": "b"}
    assert apply_edit(edit_of("Edit", arguments), "a a a") == "b a a"
    assert apply_edit(edit_of("Edit", {**arguments, "replace_all": True}), "a a a") == "b b b"


@pytest.mark.parametrize("value", ["true", 1, None])
def test_a_flag_of_another_type_counts_as_absent(value):
    arguments = {"file_path": PATH, "old_string": "a", "new_string": "b", "replace_all": value}
    assert apply_edit(edit_of("Edit", arguments), "a a") == "b a"


def test_the_edits_of_a_multi_edit_are_applied_one_after_the_other():
    """The second one replaces what the first one wrote."""
    edits = [{"old_string": "two", "new_string": "2 2"}, {"old_string": "2", "new_string": "zwei", "replace_all": True}]
    edit = edit_of("MultiEdit", {"file_path": PATH, "edits": edits})
    assert apply_edit(edit, THREE) == "one\nzwei zwei\nthree\n"


def test_a_multi_edit_of_which_one_part_does_not_fit_gives_no_text():
    """Claude Code applies all of them or none."""
    edits = [{"old_string": "two", "new_string": "2"}, {"old_string": "four", "new_string": "4"}]
    assert apply_edit(edit_of("MultiEdit", {"file_path": PATH, "edits": edits}), THREE) is None


def test_a_write_has_the_whole_new_text_and_the_old_one_if_the_file_was_there():
    edit = edit_of("Write", {"file_path": PATH, "content": "new\n"}, {"type": "update", "originalFile": THREE})
    assert (edit.op, edit.before, edit.after) == ("edit", THREE, "new\n")
    assert apply_edit(edit, None) == "new\n"


@pytest.mark.parametrize("original", [None, ""])
def test_a_write_that_created_the_file_began_with_nothing(original):
    edit = edit_of("Write", {"file_path": PATH, "content": "new\n"}, {"type": "create", "originalFile": original})
    assert (edit.op, edit.before, edit.after) == ("create", "", "new\n")


def test_an_edit_of_an_empty_text_creates_the_file():
    edit = edit_of("Edit", {"file_path": PATH, "old_string": "", "new_string": "first\n"})
    assert (edit.op, apply_edit(edit, None)) == ("create", "first\n")


def test_a_replacement_that_does_not_fit_falls_back_on_the_patch_of_the_result():
    """A text with other quotation marks than the arguments: Claude Code matches them loosely."""
    patch = [{"oldStart": 2, "oldLines": 1, "newStart": 2, "newLines": 1, "lines": ["-“two”", "+2"]}]
    arguments = {"file_path": PATH, "old_string": '"two"', "new_string": "2"}
    edit = edit_of("Edit", arguments, {"originalFile": "one\n“two”\n", "structuredPatch": patch})
    assert apply_edit(edit, None) == "one\n2\n"


def test_a_notebook_edit_is_an_edit_whose_text_is_unknown():
    edit = edit_of("NotebookEdit", {"notebook_path": "a.ipynb", "cell_number": 1, "new_source": "x = 1"})
    assert (edit.path, edit.op, apply_edit(edit, "{}")) == ("a.ipynb", "edit", None)


def test_a_file_that_was_read_completely_has_its_text_and_one_that_was_not_has_none():
    file = {"filePath": PATH, "content": THREE, "startLine": 1, "numLines": 3, "totalLines": 3}
    assert edit_of("Read", {"file_path": PATH}, {"type": "text", "file": file}).after == THREE
    for part in ({"startLine": 2}, {"numLines": 2}, {"content": None}):
        assert edit_of("Read", {"file_path": PATH}, {"file": {**file, **part}}).after is None


@pytest.mark.parametrize(
    "structured",
    [
        {"originalFile": 7, "structuredPatch": "no list"},
        {"structuredPatch": [{"oldStart": "2", "oldLines": 1, "newStart": 2, "newLines": 1, "lines": []}, None]},
        {"structuredPatch": [{"oldStart": 2, "oldLines": 1, "newStart": 2, "newLines": 1, "lines": ["-a", 7]}]},
    ],
)
def test_a_result_of_another_shape_counts_as_absent(structured):
    edit = edit_of("Edit", {"file_path": PATH, "old_string": "two", "new_string": "2"}, structured)
    assert (edit.before, edit.hunks) == (None, ())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Edit", {"file_path": 7, "old_string": "a", "new_string": "b"}),
        ("Edit", {}),
        ("Grep", {"path": PATH}),
        ("Bash", {"command": f"cat {PATH}"}),
        ("apply_patch", "no patch"),
        (None, {"file_path": PATH}),
    ],
)
def test_a_call_that_names_no_file_has_no_edits(name, arguments):
    assert edits_of_call(call(name, arguments), {}) == []


# Codex


def test_a_patch_of_codex_is_applied_by_its_context():
    assert patched(THREE, update("@@", " one", "-two", "+2", "+and a half", " three")) == "one\n2\nand a half\nthree\n"


def test_a_patch_can_have_several_blocks_in_one_file():
    text = "".join(f"{number}\n" for number in range(1, 9))
    changed = patched(text, update("@@ def first", "-2", "+two", "@@ def last", "-7", "+seven"))
    assert changed == text.replace("2", "two").replace("7", "seven")


def test_the_lines_of_a_patch_are_whole_lines():
    assert patched("forty-two\ntwo\n", update("@@", "-two", "+2")) == "forty-two\n2\n"
    assert patched("forty-two\n", update("@@", "-two", "+2")) is None


def test_a_block_is_searched_below_its_heading_and_below_the_block_before_it():
    """The same lines occur several times in most programs."""
    text = "def a():\n  return 1\ndef b():\n  return 1\ndef c():\n  return 1\n"
    assert patched(text, update("@@ def b():", "-  return 1", "+  return 2")) == text.replace(
        "def b():\n  return 1", "def b():\n  return 2"
    )
    changed = patched(text, update("@@", " def b():", "-  return 1", "+  return 2", "@@", "-  return 1", "+  return 3"))
    assert changed == "def a():\n  return 1\ndef b():\n  return 2\ndef c():\n  return 3\n"


def test_a_heading_that_is_not_in_the_text_is_ignored():
    assert patched(THREE, update("@@ -2,1 +2,1 @@", "-two", "+2")) == "one\n2\nthree\n"


def test_a_block_without_old_lines_adds_to_the_end():
    assert patched(THREE, update("@@", "+four")) == "one\ntwo\nthree\nfour\n"


def test_a_patch_adds_deletes_and_renames_files():
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+x = 1\n+\n+y = 2\n*** Delete File: old.py\n"
        "*** Update File: a.py\n*** Move to: b.py\n@@\n-one\n+1\n*** End Patch\n"
    )
    added, deleted, renamed = edits_of_call(call("apply_patch", patch), {})
    assert (added.path, added.op, added.before, added.after) == ("new.py", "create", "", "x = 1\n\ny = 2\n")
    assert (deleted.path, deleted.op, apply_edit(deleted, THREE)) == ("old.py", "delete", "")
    assert (renamed.path, renamed.op, renamed.source) == ("b.py", "rename", "a.py")
    assert apply_edit(renamed, THREE) == "1\ntwo\nthree\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": ["apply_patch", update("@@", "-two", "+2")]},
        {"cmd": f"apply_patch <<'EOF'\n{update('@@', '-two', '+2')}EOF\n"},
        {"input": update("@@", "-two", "+2")},
    ],
)
def test_a_patch_is_found_in_a_shell_command_too(arguments):
    assert apply_edit(edit_of("exec_command", arguments), THREE) == "one\n2\nthree\n"


def test_a_patch_whose_context_is_not_in_the_text_gives_no_text():
    assert patched(THREE, update("@@", "-four", "+4")) is None


def test_what_the_result_reports_counts_more_than_the_arguments():
    """The program may have changed the patch before it applied it."""
    diff = "@@ -2,1 +2,1 @@\n-two\n+zwei\n"
    [edit] = edits_of_call(
        call("apply_patch", update("@@", "-two", "+2")),
        {"changes": {PATH: {"type": "update", "unified_diff": diff}}},
    )
    assert apply_edit(edit, THREE) == "one\nzwei\nthree\n"


def test_reported_changes_are_added_deleted_updated_and_moved_files():
    changes = {
        "new.py": {"type": "add", "content": "x\n"},
        "old.py": {"type": "delete", "content": "y\n"},
        "a.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": "b.py"},
        "bad.py": {"type": "other"},
        "worse.py": "no object",
    }
    edits = edits_of_call(call("apply_patch", "*** Begin Patch"), {"changes": changes})
    assert [(edit.path, edit.op, edit.source) for edit in edits] == [
        ("new.py", "create", None),
        ("old.py", "delete", None),
        ("b.py", "rename", "a.py"),
    ]
    assert apply_edit(edits[2], "a\n") == "b\n"


def test_an_update_without_its_diff_is_an_edit_whose_text_is_unknown():
    [edit] = edits_of_call(call("apply_patch", {}), {"changes": {PATH: {"type": "update"}}})
    assert (edit.op, apply_edit(edit, THREE)) == ("edit", None)


def test_a_call_that_changes_very_many_files_is_cut_off():
    changes = {f"{number}.py": {"type": "add", "content": ""} for number in range(MAX_EDITS + 10)}
    assert len(edits_of_call(call("apply_patch", {}), {"changes": changes})) == MAX_EDITS


# line ends


def test_an_edit_with_other_line_ends_than_the_file_keeps_those_of_the_file():
    """Agents write the arguments of an edit with LF, whatever the file has."""
    arguments = {"file_path": PATH, "old_string": "one\ntwo", "new_string": "1\n2"}
    assert apply_edit(edit_of("Edit", arguments), "one\r\ntwo\r\nthree\r\n") == "1\r\n2\r\nthree\r\n"


def test_a_patch_of_a_file_with_crlf_keeps_its_line_ends():
    assert patched("one\r\ntwo\r\n", update("@@", " one", "-two", "+2")) == "one\r\n2\r\n"


def test_a_patch_that_was_sent_with_crlf_fits_a_file_with_lf():
    assert patched(THREE, update("@@", "-two", "+2").replace("\n", "\r\n")) == "one\n2\nthree\n"


def test_a_patch_of_the_last_line_fits_a_file_without_a_final_newline():
    """Codex ends the file with one when it writes it."""
    assert patched("one\ntwo", update("@@", " one", "-two", "+2")) == "one\n2\n"


def test_a_unified_diff_of_the_last_line_keeps_the_final_newline_missing():
    hunks = parse_unified("@@ -2,1 +2,1 @@\n-two\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n")
    assert apply_hunks("one\ntwo", hunks) == "one\n2"


# hunks


def test_hunks_are_applied_at_their_lines_of_the_old_text():
    hunks = parse_unified("@@ -1,2 +1,3 @@\n+zero\n one\n two\n@@ -3 +4,0 @@\n-three\n")
    assert apply_hunks(THREE, hunks) == "zero\none\ntwo\n"


def test_a_hunk_without_old_lines_adds_below_its_line():
    assert apply_hunks(THREE, (Hunk(1, 0, 2, 1, ("+new",)),)) == "one\nnew\ntwo\nthree\n"
    assert apply_hunks(THREE, (Hunk(0, 0, 1, 1, ("+new",)),)) == "new\none\ntwo\nthree\n"


@pytest.mark.parametrize(
    "hunks",
    [
        (Hunk(2, 1, 2, 1, ("-other", "+2")),),  # another line
        (Hunk(9, 1, 9, 1, ("-two", "+2")),),  # below the end
        (Hunk(3, 1, 3, 1, ("-three", "+3")), Hunk(1, 1, 1, 1, ("-one", "+1"))),  # in descending order
    ],
)
def test_hunks_that_do_not_fit_give_no_text(hunks):
    assert apply_hunks(THREE, hunks) is None


def test_the_lines_around_the_hunks_of_a_diff_are_left_out():
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@ def f():\n one\n+new\n\\ No newline at end of file\n"
    assert parse_unified(diff) == (Hunk(1, 1, 1, 2, (" one", "+new", "\\ No newline at end of file")),)
    assert parse_unified("no diff") == ()
    assert parse_unified("@@ -99999999999,1 +1,1 @@\n-x\n") == ()


# the rest


def test_a_deleted_file_has_an_empty_text_whatever_was_known():
    assert apply_edit(FileEdit(PATH, "delete"), None) == ""


def test_an_empty_replacement_changes_only_an_empty_text():
    edit = FileEdit(PATH, "edit", replacements=(Replacement("", "new"),))
    assert apply_edit(edit, "") == "new"
    assert apply_edit(edit, "old") is None


def test_a_call_touches_its_files_once_with_the_hash_of_the_text_that_it_wrote():
    arguments = {"file_path": PATH, "content": "new\n"}
    result = Part("tool_result", {"call_id": "c", "output": "File created successfully at: app.py"})
    digest = f"sha256:{sha256(b'new' + bytes([10])).hexdigest()}"
    assert touches_of_call(call("Write", arguments), result) == (FileTouch(PATH, "create", digest),)


def test_a_deleted_file_has_no_hash_and_a_renamed_one_names_where_it_was():
    patch = "*** Begin Patch\n*** Delete File: old.py\n*** Update File: a.py\n*** Move to: b.py\n*** End Patch\n"
    result = Part("tool_result", {"call_id": "c", "output": "ok"})
    assert touches_of_call(call("apply_patch", patch), result) == (
        FileTouch("old.py", "delete", None),
        FileTouch("b.py", "rename", None, "a.py"),
    )


def test_a_text_that_is_no_unicode_has_a_hash_too():
    result = Part("tool_result", {"call_id": "c", "output": "ok"})
    [touch] = touches_of_call(call("Write", {"file_path": PATH, "content": "\udcff"}), result)
    assert touch.content_hash.startswith("sha256:")


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("Bash", {"command": "make test"}, "make test"),
        ("exec_command", {"cmd": "make test"}, "make test"),
        ("shell", {"command": ["bash", "-lc", "make test"]}, "make test"),
        ("shell", {"command": ["make", "test"]}, "make test"),
        ("shell", {"command": []}, None),
        ("shell", {"command": ["make", 7]}, None),
        ("Edit", {"command": "make test"}, None),
        ("Bash", {}, None),
        ("execute", {"command": "make test", "title": "Tests"}, "make test"),
        ("execute", {"title": "make test"}, "make test"),
        ("execute", {"title": "make test", "timeout": 5}, None),
        ("execute", {"title": ["make"]}, None),
        ("execute", {"query": "select 1"}, None),
        ("edit", {"title": "make test"}, None),
    ],
)
def test_the_command_of_a_call_is_its_command_line_without_the_shell_around_it(name, arguments, command):
    assert command_of(call(name, arguments)) == command


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("x\na\nx\n", ("@@", "-x", "+y", "*** End of File"), "x\na\ny\n"),
        ("  def f():\n1\ndef f():\n1\n", ("@@ def f():", "-1", "+2"), "  def f():\n1\ndef f():\n2\n"),
        ("a\nb\na\n\nb\n", ("@@", " a", "", "-b", "+c"), "a\nb\na\n\nc\n"),
        ("a\nb\n", ("@@", "-a", "+c", "", "@@", "-b", "+d"), "c\nd\n"),
    ],
)
def test_blocks_are_applied_where_codex_applies_them(text, lines, expected):
    assert patched(text, update(*lines)) == expected


@pytest.mark.parametrize(("text", "mark", "expected"), [("a\nb", "", "a\nc\n"), ("a\nb", "\\ No newline\n", "a\nc")])
def test_a_hunk_says_whether_the_last_line_ends_with_a_newline(text, mark, expected):
    hunks = parse_unified("@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline\n+c\n" + mark)
    assert apply_hunks(text, hunks) == expected
    assert apply_hunks("a\nb\n", hunks) is None


def diffs_of(*diffs, **arguments):
    """Return the edits of a call that `scopes acp` recorded."""
    result = Part("tool_result", {"call_id": "c1", "structured": {"diffs": list(diffs)}})
    return edits_of_result(call("edit", arguments or {"title": "Writing"}), result)


def test_the_diffs_that_an_agent_shows_its_editor_are_its_edits():
    changed = {"type": "diff", "path": "/shop/a.py", "oldText": "a\n", "newText": "b\n"}
    created = {"type": "diff", "path": "/shop/b.py", "oldText": None, "newText": "c\n"}
    first, second = diffs_of(changed, created)
    assert (first.path, first.op, first.replacements[0][:2]) == ("/shop/a.py", "edit", ("a\n", "b\n"))
    assert (second.path, second.op, second.before, second.after) == ("/shop/b.py", "create", "", "c\n")


def test_the_arguments_of_a_call_say_more_than_its_diffs():
    shown = {"type": "diff", "path": "/shop/a.py", "oldText": "the whole a", "newText": "the whole b"}
    (edit,) = diffs_of(shown, filePath="/shop/a.py", oldString="a", newString="b")
    assert [each[:2] for each in edit.replacements] == [("a", "b")]


def test_arguments_that_only_name_the_file_do_not_hide_its_diffs():
    """An agent may send `rawInput: {"file_path": ...}` and the change as a diff."""
    (edit,) = diffs_of({"path": "/shop/a.py", "oldText": "a", "newText": "b"}, file_path="/shop/a.py")
    assert edit == FileEdit("/shop/a.py", "edit", replacements=(Replacement("a", "b"),))


@pytest.mark.parametrize("diffs", [None, 7, {}, "x", [7, None, {}, {"path": 7, "newText": "x"}, {"path": "/a"}]])
def test_diffs_of_another_form_are_no_edits(diffs):
    result = Part("tool_result", {"call_id": "c1", "structured": {"diffs": diffs}})
    assert edits_of_result(call("edit", {"title": "Writing"}), result) == []


def test_a_call_has_so_many_diffs_at_most():
    diff = {"type": "diff", "path": "/shop/a.py", "oldText": "a", "newText": "b"}
    assert len(diffs_of(*[diff] * (MAX_EDITS + 1))) == MAX_EDITS


def test_files_that_a_call_of_an_agent_deleted_are_deleted():
    result = Part(
        "tool_result", {"call_id": "c1", "structured": {"acp_deleted": ["/shop/a.py", 7, "", None, "/shop/b.py"]}}
    )
    edits = edits_of_result(call("delete", {"title": "Deleting"}), result)
    assert [(each.path, each.op) for each in edits] == [("/shop/a.py", "delete"), ("/shop/b.py", "delete")]


def test_what_another_program_says_of_deleted_things_is_no_file():
    result = Part("tool_result", {"call_id": "c1", "structured": {"deleted": ["/shop/a.py"], "diffs": ["/shop/b.py"]}})
    assert edits_of_result(call("mcp__tickets__delete", {"title": "Deleting"}), result) == []
