"""A merge lists the files that both sides changed: their last edits, and whether the recorded edits overlap."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, show_conflict
from scopes.conversation.merge import MergeOptions, merge
from scopes.conversation.new_rename_delete import new
from scopes.history.messages import plain_message
from tests.support.tool_calls import call_tool

FILE = "src/f.c"
SIDES = ("main", "alt")


@pytest.fixture
def forked(repository):
    new(repository, directory="/work")
    append(repository, "conv-001", plain_message("carol", "go"))
    branch(repository, "conv-001", name="alt", switch=False)
    return repository


def files(repository):
    return merge(repository, "conv-001", "alt", target="main", dry_run=True).files


def outcome(repository):
    return [(file.path, file.outcome) for file in files(repository)]


def edit(repository, name, old, new_text):
    arguments = {"file_path": FILE, "old_string": old, "new_string": new_text}
    call_tool(repository, f"conv-001/{name}", "Edit", arguments)


def patch(repository, name, *hunks):
    """Append a patch as Codex reports it, with line numbers."""
    change = {"type": "update", "unified_diff": "".join(hunks)}
    structured = {"changes": {f"/work/{FILE}": change}}
    call_tool(repository, f"conv-001/{name}", "apply_patch", "*** Begin Patch", agent="codex", structured=structured)


def test_two_replacements_of_one_text_overlap(forked):
    edit(forked, "main", "a\nb\n", "x\n")
    edit(forked, "alt", "b\n", "y\n")
    assert outcome(forked) == [(FILE, "overlap")]


def test_replacements_without_a_common_line_are_compatible(forked):
    edit(forked, "main", "a\n", "x\n")
    edit(forked, "alt", "b\n", "y\n")
    assert outcome(forked) == [(FILE, "compatible")]


def test_replacements_with_some_equal_lines_are_unknown(forked):
    edit(forked, "main", "a\n}\n", "x\n")
    edit(forked, "alt", "b\n}\n", "y\n")
    assert outcome(forked) == [(FILE, "unknown")]


def test_an_edit_that_is_not_recorded_makes_the_outcome_unknown(forked):
    edit(forked, "main", "a\n", "x\n")
    for name in SIDES:
        call_tool(forked, f"conv-001/{name}", "NotebookEdit", {"notebook_path": FILE, "new_source": "x"})
    [file] = files(forked)
    assert (file.outcome, file.target.unknown, len(file.target.messages)) == ("unknown", "edit not recorded", 2)


@pytest.mark.parametrize(
    ("line", "expected", "ranges"), [(3, "overlap", [(3, 3)]), (4, "overlap", [(3, 4)]), (9, "compatible", [])]
)
def test_one_patch_of_each_side_is_compared_by_line_numbers(forked, line, expected, ranges):
    patch(forked, "main", "@@ -2,3 +2,3 @@\n two\n-three\n+main\n four\n")
    patch(forked, "alt", f"@@ -{line},1 +{line},1 @@\n-line {line}\n+alt\n")
    [file] = files(forked)
    assert (file.outcome, [each.base for each in file.ranges]) == (expected, ranges)


def test_a_deleted_file_overlaps_with_every_edit(forked):
    call_tool(forked, "conv-001/main", "apply_patch", f"*** Begin Patch\n*** Delete File: {FILE}\n*** End Patch\n")
    edit(forked, "alt", "a\n", "b\n")
    [file] = files(forked)
    assert (file.outcome, file.note, file.target.deleted) == ("overlap", "the target deleted it", True)


def test_files_do_not_stop_a_merge_unless_it_is_strict(forked):
    edit(forked, "main", "a\n", "x\n")
    edit(forked, "alt", "a\n", "y\n")
    assert [each.status for each in merge(forked, "conv-001", "alt", target="main", dry_run=True).conflicts] == [
        "resolved"
    ]
    stopped = merge(forked, "conv-001", "alt", target="main", options=MergeOptions(strict=True))
    assert [each.type for each in stopped.conflicts] == ["resource-contention"]


def test_a_conflict_shows_the_last_edits_of_both_sides(forked):
    edit(forked, "main", "a\n", "x\n")
    edit(forked, "main", "b\n", "y\n")
    edit(forked, "alt", "b\n", "z\n")
    merge(forked, "conv-001", "alt", target="main", options=MergeOptions(strict=True))
    [row] = list_conflicts(forked, "conv-001").conflicts
    shown = show_conflict(forked, "conv-001", row.conflict.id).file
    assert shown.target_patch == f"--- {FILE}\n+++ {FILE}\n@@\n-b\n+y\n"
    assert shown.source_patch == f"--- {FILE}\n+++ {FILE}\n@@\n-b\n+z\n"
    assert shown.comparison.outcome == "overlap"


def test_a_conflict_shows_the_edits_that_overlap_rather_than_later_ones(forked):
    edit(forked, "main", "b\n", "y\n")
    edit(forked, "main", "c\n", "d\n")
    edit(forked, "alt", "b\n", "z\n")
    edit(forked, "alt", "e\n", "f\n")
    merge(forked, "conv-001", "alt", target="main", options=MergeOptions(strict=True))
    (row,) = list_conflicts(forked, "conv-001").conflicts
    shown = show_conflict(forked, "conv-001", row.conflict.id).file
    assert shown.target_patch == f"--- {FILE}\n+++ {FILE}\n@@\n-b\n+y\n"
    assert shown.source_patch == f"--- {FILE}\n+++ {FILE}\n@@\n-b\n+z\n"
