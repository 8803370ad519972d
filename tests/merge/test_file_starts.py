"""Sides that began with different texts of a file, or with the text of the other side."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import show_conflict
from scopes.conversation.merge import merge
from scopes.conversation.new import new
from scopes.merge.file_comparison import conflict_hunks
from scopes.merge.line_ranges import LineRange
from tests.support.file_edits import FILE, TEXT, changed, compared, edit, forked, patch, write
from tests.support.tool_calls import call_tool


def test_a_patch_is_applied_to_the_text_that_the_other_side_knows(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    patch(repository, "alt", "@@ -15,1 +15,1 @@\n-line 15\n+alt\n")
    file = compared(repository)
    assert (file.outcome, file.merged) == ("compatible", changed(changed(TEXT, 3, "main"), 15, "alt"))


def test_a_patch_that_does_not_fit_the_known_text_is_not_compared_by_line_numbers(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    patch(repository, "alt", "@@ -15,1 +15,1 @@\n-another line\n+alt\n")
    file = compared(repository)
    assert file.outcome == "unknown"
    assert file.note == "the sides began with different texts, of which one is not recorded"


def test_a_side_that_edited_the_text_of_the_other_is_compatible(repository):
    """Two sessions in one working directory, one after the other."""
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "main\n", "alt\n", changed(TEXT, 3, "main"))
    file = compared(repository)
    assert (file.outcome, file.merged) == ("compatible", changed(TEXT, 3, "alt"))
    assert file.note == "the source edited the text of the target"


def test_edits_at_different_lines_of_different_texts_prove_nothing(repository):
    """What the merge base has instead of the line that differs is not recorded."""
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", changed(TEXT, 3, "before"))
    file = compared(repository)
    assert (file.outcome, file.merged, file.ranges) == ("unknown", None, ())
    assert file.note == "the sides began with different texts, and their edits are at different lines"


@pytest.mark.parametrize(("line", "outcome"), [(3, "unknown"), (9, "compatible")])
def test_the_text_before_the_fork_decides_between_different_starts(repository, line, outcome):
    """The source began with a text that has an unrecorded change, at a line that the target edited or not."""
    new(repository, directory="/work")
    write(repository, "main", TEXT)
    branch(repository, "conv-001", name="alt", switch=False)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", changed(TEXT, line, "before"))
    file = compared(repository)
    assert (file.outcome, file.base, file.ranges) == (outcome, TEXT, ())
    if outcome == "compatible":
        assert file.merged == changed(changed(changed(TEXT, 3, "main"), 9, "before"), 15, "alt")


def test_a_side_that_turned_changes_of_the_other_back_does_not_overlap(repository):
    """The source began later, with most changes of the target. The text before the fork is that of the target's start."""
    new(repository, directory="/work")
    write(repository, "main", TEXT)
    branch(repository, "conv-001", name="alt", switch=False)
    start = changed(changed(TEXT, 3, "T3"), 4, "T4")
    edit(repository, "main", "line 3\nline 4\n", "T3\nT4\n", TEXT)
    edit(repository, "main", "line 9\n", "T9\n", start)
    edit(repository, "alt", "T3\n", "line 3\n", changed(start, 9, "between"))
    edit(repository, "alt", "T4\n", "S4\n")
    file = compared(repository)
    note = "the sides began with different texts, of which one may be made of the other"
    assert (file.outcome, file.ranges, file.note) == ("unknown", (), note)


def test_a_change_that_the_other_side_began_with_is_not_contested(repository):
    """The times do not say which side was later: the source edited a line that the target had changed before."""
    new(repository, directory="/work")
    write(repository, "main", TEXT)
    branch(repository, "conv-001", name="alt", switch=False)
    edit(repository, "alt", "T3\n", "S3\n", changed(changed(TEXT, 3, "T3"), 12, "between"))
    edit(repository, "main", "line 3\n", "T3\n", TEXT)
    edit(repository, "main", "line 12\n", "T12\n")
    file = compared(repository)
    assert (file.outcome, file.ranges) == ("unknown", ())


def test_a_side_that_began_with_the_edits_of_the_other_and_more_is_compatible(repository):
    """Between two sessions somebody else edited the file, next to the lines of the first one."""
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "main\n", "alt\n", changed(changed(TEXT, 3, "main"), 4, "somebody else"))
    file = compared(repository)
    assert (file.outcome, file.note) == ("compatible", "the source edited the text of the target")
    assert file.merged == changed(changed(TEXT, 3, "alt"), 4, "somebody else")


def test_edits_of_a_line_that_the_other_side_wrote_are_not_at_different_lines(repository):
    """The source began later, with one of two changes of the target, and changed just that line."""
    forked(repository)
    edit(repository, "main", "line 3\n", "T3\n", TEXT)
    edit(repository, "main", "line 12\n", "T12\n")
    edit(repository, "alt", "T3\n", "S3\n", changed(changed(TEXT, 3, "T3"), 15, "between"))
    file = compared(repository)
    note = "the sides began with different texts, of which one may be made of the other"
    assert (file.outcome, file.note) == ("unknown", note)


def test_most_of_the_changes_of_the_other_side_do_not_prove_that_a_side_went_on(repository):
    """The start of the source has all lines but one of the file that the target had created."""
    forked(repository)
    call_tool(repository, "conv-001/main", "Write", {"file_path": FILE, "content": TEXT}, structured={"type": "create"})
    edit(repository, "alt", "line 15\n", "alt\n", changed(TEXT, 3, "between"))
    file = compared(repository)
    note = "the sides began with different texts, of which one may be made of the other"
    assert (file.outcome, file.note, file.merged) == ("unknown", note, None)


@pytest.mark.parametrize("line_20", ["H20", "line 20", "T20\nline 20"])
def test_a_start_without_one_change_of_the_other_side_proves_nothing(repository, line_20):
    forked(repository)
    target = changed(changed(changed(TEXT, 5, "T5"), 6, "T6"), 20, "T20")
    write(repository, "main", target, TEXT)
    start = changed(changed(changed(TEXT, 5, "T5"), 6, "T6"), 20, line_20)
    edit(repository, "alt", "line 15\n", "alt\n", start)
    assert compared(repository).outcome == "unknown"


def test_a_start_that_has_a_removed_line_again_proves_nothing(repository):
    forked(repository)
    target = changed(TEXT, 5, "T5").replace("line 12\n", "")
    write(repository, "main", target, TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", changed(changed(TEXT, 5, "T5"), 12, "H12"))
    assert compared(repository).outcome == "unknown"


def test_a_side_that_was_earlier_cannot_have_gone_on_with_the_text_of_the_other(repository):
    """The two sides of the test before in the other order: both have made the file."""
    forked(repository)
    edit(repository, "alt", "line 15\n", "alt\n", changed(TEXT, 3, "between"))
    call_tool(repository, "conv-001/main", "Write", {"file_path": FILE, "content": TEXT}, structured={"type": "create"})
    assert compared(repository).outcome == "overlap"


def test_lines_that_changed_between_two_starts_are_no_conflict_of_the_sides(repository):
    """The source's edit is at a line that the target began with in another form, and did not touch."""
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", changed(TEXT, 15, "between"))
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    file = compared(repository)
    note = "the sides began with different texts, and their edits are at different lines"
    assert (file.outcome, file.ranges, file.note) == ("unknown", (), note)


def test_sides_with_different_starts_disagree_where_both_edited(repository):
    forked(repository)
    edit(repository, "main", "between\n", "main\n", "first\n" + changed(TEXT, 9, "between"))
    edit(repository, "alt", "line 9\n", "alt\n", TEXT)
    file = compared(repository)
    assert (file.outcome, file.ranges) == ("overlap", (LineRange((10, 10), (10, 10), (9, 9)),))
    assert "<<<<<<< target\nmain\n=======\nalt\n>>>>>>> source\n" in conflict_hunks(file.merged)


def test_the_patch_of_a_side_that_began_with_another_text_has_its_own_edits_alone(repository):
    forked(repository)
    edit(repository, "main", "between\n", "main\n", changed(TEXT, 9, "between"))
    edit(repository, "alt", "line 9\n", "alt\n", changed(TEXT, 20, "other"))
    conflict = merge(repository, "conv-001", "alt", target="main").conflicts[0]
    shown = show_conflict(repository, "conv-001", conflict.id).file
    assert "-between\n+main\n" in shown.target_patch
    assert "-line 9\n+alt\n" in shown.source_patch
    assert "line 20" not in shown.source_patch


def test_lines_to_which_both_sides_gave_the_same_text_are_not_listed(repository):
    forked(repository)
    for where in ("main", "alt"):
        edit(repository, where, "line 3\n", "three\n", TEXT)
        edit(repository, where, "line 9\n", f"{where}\n", changed(TEXT, 3, "three"))
    assert compared(repository).ranges == (LineRange((9, 9), (9, 9), (9, 9)),)


FIRST_PATCH = "@@ -4,2 +4,5 @@\n line 4\n+func added() {\n+\treturn 1\n+}\n line 5\n"
NEXT_PATCH = "@@ -3,4 +3,5 @@\n line 3\n line 4\n+other\n func added() {\n   return 1\n"


def test_patches_that_show_what_the_other_side_added_are_of_its_text(repository):
    """Real sessions: Claude went on with a file that Codex had patched; no whole text is recorded."""
    forked(repository)
    patch(repository, "alt", FIRST_PATCH)
    patch(repository, "main", NEXT_PATCH)
    patch(repository, "main", "@@ -9,1 +9,1 @@\n-changed between the patches\n+main\n")
    file = compared(repository)
    assert (file.outcome, file.note) == ("compatible", "the target edited the text of the source")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (NEXT_PATCH, FIRST_PATCH),  # the side that shows the lines was earlier
        (FIRST_PATCH, NEXT_PATCH.replace("return 1", "return 2")),
        (FIRST_PATCH, "@@ -3,3 +3,4 @@\n line 3\n line 4\n+other\n func added() {\n"),
    ],
)
def test_patches_that_may_show_another_text_are_not_compared(repository, first, second):
    forked(repository)
    patch(repository, "alt", first)
    patch(repository, "main", second)
    assert compared(repository).outcome == "unknown"
