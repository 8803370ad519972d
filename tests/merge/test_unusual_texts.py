"""Texts with other line ends, without a final newline, with NUL, and names with special characters."""

from __future__ import annotations

import pytest

from scopes.conversation.conflicts import show_conflict
from scopes.conversation.merge import merge
from scopes.store.text_merge import MAX_TEXT, list_line_changes, merge_texts
from tests.support.file_edits import FILE, TEXT, changed, compared, edit, forked, patch, write
from tests.support.tool_calls import call_tool


def test_line_ends_that_both_sides_keep_do_not_disagree(repository):
    text = TEXT.replace("\n", "\r\n")
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", text)
    edit(repository, "alt", "line 15\n", "alt\n", text)
    file = compared(repository)
    expected = changed(changed(TEXT, 3, "main"), 15, "alt").replace("\n", "\r\n")
    assert (file.outcome, file.merged) == ("compatible", expected)


def test_a_side_that_changed_all_line_ends_disagrees_with_every_edit(repository):
    """As git merges it; the lines that disagree are those of the other side's edit."""
    forked(repository)
    write(repository, "main", TEXT.replace("\n", "\r\n"), TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    assert compared(repository).outcome == "overlap"


def test_a_missing_final_newline_is_a_change_of_the_last_line(repository):
    forked(repository)
    write(repository, "main", TEXT.removesuffix("\n"), TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    file = compared(repository)
    assert (file.outcome, file.merged) == ("compatible", changed(TEXT, 15, "alt").removesuffix("\n"))
    edit(repository, "alt", "line 20\n", "last\n")
    assert compared(repository).outcome == "overlap"


@pytest.mark.parametrize(
    ("text", "reason"), [("a\0b\n", "content is binary"), ("x" * (MAX_TEXT + 1), "content too large to compare")]
)
def test_a_text_that_is_not_compared_has_its_reason(repository, text, reason):
    forked(repository)
    write(repository, "main", text)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    file = compared(repository)
    assert (file.outcome, file.target.unknown, file.source.unknown) == ("unknown", reason, None)
    conflict = merge(repository, "conv-001", "alt", target="main").conflicts[0]
    assert show_conflict(repository, "conv-001", conflict.id).file.conflict_hunks == ""


@pytest.mark.parametrize("other", ["a\0\nb\n", "b\n"])
def test_a_binary_text_at_the_start_of_a_side_is_not_merged(repository, other):
    forked(repository)
    write(repository, "main", "a\nmain\n", "a\0\nb\n")
    write(repository, "alt", "a\nalt\n", other)
    file = compared(repository)
    assert (file.outcome, file.note) == ("unknown", "content is binary")
    [conflict] = merge(repository, "conv-001", "alt", target="main").conflicts
    shown = show_conflict(repository, "conv-001", conflict.id).file
    assert "-a\0\n" in shown.target_patch


def test_equal_texts_made_of_a_binary_one_are_the_same(repository):
    forked(repository)
    edit(repository, "main", "\0\nb\n", "\n", "a\0\nb\n")
    edit(repository, "alt", "a\0\nb\n", "a\n", "a\0\nb\n")
    assert compared(repository).outcome == "same"


@pytest.mark.parametrize("base", ["a\0\nb\n", "a\nb\n"])
def test_texts_with_nul_are_compared_by_lines(base):
    assert list_line_changes(base, "a\0\nc\n")[-1][1::2] in {(1, 1), (2, 2)}
    merged = merge_texts("1\0\n2\n3\n4\n", "1\0\n2\n3\nfour\n", "one\0\n2\n3\n4\n")
    assert (merged.text, merged.conflicts) == ("one\0\n2\n3\nfour\n", False)


def test_a_removed_line_is_removed_with_its_newline_if_the_patch_says_so(repository):
    forked(repository)
    hunk = {"oldStart": 15, "oldLines": 1, "newStart": 15, "newLines": 0, "lines": ["-line 15"]}
    structured = {"filePath": FILE, "originalFile": TEXT, "structuredPatch": [hunk]}
    arguments = {"file_path": FILE, "old_string": "line 15", "new_string": ""}
    call_tool(repository, "conv-001/main", "Edit", arguments, structured=structured)
    edit(repository, "alt", "line 15\n", "", TEXT)
    assert compared(repository).outcome == "same"


def test_a_missing_newline_at_the_end_is_a_difference_of_patches(repository):
    forked(repository)
    start = "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    patch(repository, "main", start)
    patch(repository, "alt", f"{start}\\ No newline at end of file\n")
    assert compared(repository).outcome == "overlap"


@pytest.mark.parametrize("name", ['a"b.py', "a\\b.py", "a\tb.py"])
def test_names_with_special_characters_are_found(repository, name):
    forked(repository)
    for where, line in (("main", 3), ("alt", 15)):
        arguments = {"file_path": f"/work/{name}", "old_string": f"line {line}\n", "new_string": "x\n"}
        structured = {"filePath": f"/work/{name}", "originalFile": TEXT}
        call_tool(repository, f"conv-001/{where}", "Edit", arguments, structured=structured)
    assert compared(repository).outcome == "compatible"


def test_an_empty_text_is_not_compatible_with_another_one_without_a_base(repository):
    """Git finds no conflict between two new files of which one is empty, but the merge base may have the file."""
    forked(repository)
    for where, content in (("main", ""), ("alt", "alt\n")):
        call_tool(repository, f"conv-001/{where}", "Write", {"file_path": FILE, "content": content})
    file = compared(repository)
    assert (file.outcome, file.note) == ("unknown", "the text at the merge base is not recorded")


def test_texts_with_too_many_equal_lines_are_not_compared(repository):
    """Two texts of 200,000 lines that are "a" or "b" took 22 seconds."""
    forked(repository)
    base = "a\nb\n" * 30_000
    write(repository, "main", "b\na\n" * 30_000, base)
    write(repository, "alt", "a\na\nb\n" * 25_000, base)
    assert (compared(repository).outcome, compared(repository).note) == ("unknown", "too many equal lines to compare")
