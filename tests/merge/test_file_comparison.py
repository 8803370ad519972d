"""What both sides made of a file, from tool calls in the shapes of Claude Code and Codex."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import show_conflict
from scopes.conversation.merge import MergeOptions, merge
from scopes.conversation.new import new
from scopes.merge.line_ranges import LineRange, group_changes, lines_of, overlapping_ranges
from scopes.store.repository import Repository
from scopes.store.text_merge import LineChange, list_line_changes, merge_texts
from tests.support.file_edits import FILE, TEXT, changed, compared, edit, forked, patch, read
from tests.support.history import say
from tests.support.tool_calls import call_tool


def test_equal_results_of_different_edits_are_no_conflict(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "x\n", TEXT)
    edit(repository, "main", "x\n", "line three\n", changed(TEXT, 3, "x"))
    edit(repository, "alt", "line 3\n", "line three\n", TEXT)
    assert compared(repository).outcome == "same"
    done = merge(repository, "conv-001", "alt", target="main")
    assert done.conflicts == ()
    assert [file.path for file in done.files] == [FILE]


def test_changes_that_do_not_touch_each_other_are_compatible_even_if_strict(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    file = compared(repository)
    assert (file.outcome, file.merged) == ("compatible", changed(changed(TEXT, 3, "main"), 15, "alt"))
    options = MergeOptions(strategy="automatic", strict=True)
    assert merge(repository, "conv-001", "alt", target="main", options=options).conflicts == ()


def test_overlapping_changes_are_a_conflict_with_the_lines_that_disagree(repository):
    forked(repository)
    edit(repository, "main", "line 1\n", "first\nsecond\n", TEXT)
    edit(repository, "main", "line 9\n", "main\n")
    edit(repository, "alt", "line 9\n", "alt\nmore\n", TEXT)
    file = compared(repository)
    assert (file.outcome, file.ranges) == ("overlap", (LineRange((9, 9), (10, 10), (9, 10)),))
    done = merge(repository, "conv-001", "alt", target="main")
    [conflict] = done.conflicts
    assert (conflict.type, conflict.status, conflict.resolution.choice) == ("resource-contention", "resolved", "both")
    changes = show_conflict(repository, "conv-001", conflict.id).file
    assert "-line 9\n+main\n" in changes.target_patch
    assert "-line 9\n+alt\n+more\n" in changes.source_patch
    assert "<<<<<<< target\nmain\n=======\nalt\nmore\n>>>>>>> source\n" in changes.conflict_hunks
    assert show_conflict(repository, "conv-001", conflict.id, patch=False).file.target_patch == ""


def test_a_strict_merge_stops_at_lines_that_disagree_and_shows_them(repository):
    forked(repository)
    edit(repository, "main", "line 9\n", "main\n", TEXT)
    edit(repository, "alt", "line 9\n", "alt\n", TEXT)
    merge(repository, "conv-001", "alt", target="main", options=MergeOptions(strict=True))
    shown = show_conflict(repository, "conv-001", "1")
    assert shown.file.comparison.outcome == "overlap"
    assert shown.sides == ("source", "target", "both")


def test_the_text_before_the_fork_is_taken_from_its_history(repository):
    """A live recording has the text of a write, and no text before an edit."""
    new(repository, directory="/work")
    call_tool(repository, "conv-001/main", "Write", {"file_path": FILE, "content": TEXT})
    branch(repository, "conv-001", name="alt", switch=False)
    for where, line in (("main", "line 3\n"), ("alt", "line 15\n")):
        call_tool(repository, f"conv-001/{where}", "Edit", {"file_path": FILE, "old_string": line, "new_string": "x\n"})
    file = compared(repository)
    assert (file.outcome, file.base) == ("compatible", TEXT)
    assert file.note == "compared with the last text before the fork that is recorded"


def test_a_shell_command_that_writes_the_file_makes_its_content_unknown(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    call_tool(repository, "conv-001/alt", "Bash", {"command": f"cd /work && sed -i s/a/b/ {FILE}"})
    file = compared(repository)
    assert (file.outcome, file.source.unknown) == ("unknown", "content not recorded: Bash sed -i")
    assert len(merge(repository, "conv-001", "alt", target="main", dry_run=True).conflicts) == 1


@pytest.mark.parametrize(
    ("on_main", "on_alt", "note"),
    [
        ("sed -i", "sed -i", "content not recorded on either side: Bash sed -i"),
        ("sed -i", "tee", "content not recorded on either side: Bash sed -i (target), Bash tee (source)"),
        (None, "sed -i", "content not recorded: Bash sed -i (source)"),
    ],
)
def test_unknown_contents_of_both_sides_are_one_note(repository, on_main, on_alt, note):
    """It read "content not recorded (target); content not recorded (source)"."""
    forked(repository)
    commands = {"sed -i": f"cd /work && sed -i s/a/b/ {FILE}", "tee": f"cd /work && echo x | tee {FILE}"}
    for where, line, command in (("main", "line 3\n", on_main), ("alt", "line 15\n", on_alt)):
        edit(repository, where, line, "x\n", TEXT)
        if command is not None:
            call_tool(repository, f"conv-001/{where}", "Bash", {"command": commands[command]})
    assert compared(repository).note == note


def test_contents_of_edits_without_their_texts_are_not_recorded_on_either_side(repository):
    forked(repository)
    for where in ("main", "alt"):
        say(repository, f"conv-001/{where}", where, files=[{"path": FILE, "op": "edit"}])
    assert compared(repository).note == "content not recorded on either side"


def test_a_later_edit_with_the_whole_text_makes_the_content_known_again(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    call_tool(repository, "conv-001/alt", "Bash", {"command": f"sed -i s/20/twenty/ {FILE}"})
    edit(repository, "alt", "line 14\n", "x\n", changed(changed(TEXT, 15, "alt"), 20, "line twenty"))
    file = compared(repository)
    assert file.outcome == "compatible"
    assert "line twenty" in file.merged


def test_a_failed_edit_does_not_count(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    arguments = {"file_path": FILE, "old_string": "line 3\n", "new_string": "bad\n"}
    call_tool(repository, "conv-001/alt", "Edit", arguments, is_error=True)
    assert compared(repository).outcome == "compatible"


@pytest.mark.parametrize(
    ("line", "outcome", "ranges"),
    [(3, "overlap", ((3, 3),)), (4, "overlap", ((3, 4),)), (15, "unknown", ())],
)
def test_patches_without_texts_are_compared_by_their_line_numbers(repository, line, outcome, ranges):
    forked(repository)
    patch(repository, "main", "@@ -1,2 +1,3 @@\n line 1\n+new\n line 2\n")
    patch(repository, "main", "@@ -4,1 +4,1 @@\n-line 3\n+main\n")
    patch(repository, "alt", f"@@ -{line},1 +{line},1 @@\n-line {line}\n+alt\n")
    file = compared(repository)
    common = "" if line == 3 else ", perhaps of different texts"
    assert (file.outcome, file.note) == (outcome, f"compared by the line numbers of the patches{common}")
    assert tuple(each.base for each in file.ranges) == ranges


def test_patches_that_show_different_lines_at_one_place_are_of_different_texts(repository):
    forked(repository)
    patch(repository, "main", "@@ -4,2 +4,2 @@\n line 4\n-line 5\n+main\n")
    patch(repository, "main", "@@ -1,1 +1,2 @@\n+first\n line 1\n")
    patch(repository, "alt", "@@ -4,1 +4,1 @@\n-another line\n+alt\n")
    file = compared(repository)
    assert (file.outcome, file.note) == ("unknown", "the patches are of different texts, which are not recorded")


def test_a_patch_that_fits_only_the_new_text_of_the_other_side_was_made_after_it(repository):
    """Codex goes on in the directory in which Claude has worked; only Claude records whole texts."""
    forked(repository)
    edit(repository, "main", "line 3\n", "one\ntwo\n", TEXT)
    patch(repository, "alt", "@@ -3,3 +3,3 @@\n one\n-two\n+three\n line 4\n")
    file = compared(repository)
    assert (file.outcome, file.note) == ("compatible", "the edits of the source fit the text of the target")
    assert file.merged == changed(TEXT, 3, "one\nthree")


def test_a_side_that_began_with_the_result_of_patches_was_made_after_them(repository):
    """Claude goes on in the directory in which Codex has worked; somebody else added a line in between."""
    forked(repository)
    patch(repository, "main", "@@ -3,2 +3,2 @@\n-line 3\n+one\n line 4\n")
    patch(repository, "main", "@@ -3,1 +3,2 @@\n-one\n+one\n+two\n")
    edit(repository, "alt", "one\n", "three\n", changed(TEXT, 3, "one\ntwo") + "somebody else\n")
    file = compared(repository)
    assert (file.outcome, file.note) == ("compatible", "the source edited the text of the target")
    assert "three\ntwo\n" in file.merged


PATCH = "@@ -3,3 +3,4 @@\n line 3\n-line 4\n+one\n+two\n line 5\n"


@pytest.mark.parametrize(
    ("start", "outcome"),
    [
        (changed(TEXT, 4, "one\ntwo"), "compatible"),
        ("above\nabove\n" + changed(TEXT, 4, "one\ntwo"), "compatible"),
        (changed(TEXT, 4, "one\nother"), "unknown"),
        (changed(TEXT, 4, "one\ntwo\nline 4"), "unknown"),
        ("above\n" + changed(TEXT, 4, "one\ntwo") + "line 3\none\ntwo\nline 5\n", "unknown"),
    ],
)
def test_patches_are_in_a_later_text_that_has_each_of_their_blocks_at_one_place(repository, start, outcome):
    """Lines that somebody else added above them move the blocks, so that the line numbers of the patches do not fit."""
    forked(repository)
    patch(repository, "main", PATCH)
    patch(repository, "main", "@@ -14,3 +14,1 @@\n line 13\n-line 14\n-line 15\n line 16\n")
    edit(repository, "alt", "line 9\n", "alt\n", start.replace("line 14\nline 15\n", ""))
    assert compared(repository).outcome == outcome


@pytest.mark.parametrize(
    ("block", "outcome"),
    [
        ("line 3\none\ntwo\nbelow\nline 4\n", "compatible"),
        ("line 3\nabove\none\ntwo\nline 4\n", "compatible"),
        ("line 3\nabove\none\ntwo\nbelow\nline 4\n", "unknown"),
        ("line 3\none\nbetween\ntwo\nline 4\n", "unknown"),
    ],
)
def test_lines_that_a_patch_only_added_may_have_one_new_neighbour_in_a_later_text(repository, block, outcome):
    forked(repository)
    patch(repository, "main", "@@ -3,2 +3,4 @@\n line 3\n+one\n+two\n line 4\n")
    edit(repository, "alt", "line 9\n", "alt\n", TEXT.replace("line 3\nline 4\n", block))
    assert compared(repository).outcome == outcome


@pytest.mark.parametrize(
    ("command", "outcome"), [("git rebase main", "compatible"), ("sed -i s/a/b/ src/app.py", "unknown")]
)
@pytest.mark.parametrize("has_all", [True, False])
def test_edits_whose_commits_were_rebased_are_in_a_later_text_that_has_them_all(repository, command, outcome, has_all):
    forked(repository)
    edit(repository, "main", "line 3\n", "one\ntwo\n", TEXT)
    call_tool(repository, "conv-001/main", "Bash", {"command": command})
    edit(repository, "alt", "line 9\n", "alt\n", "above\n" + (changed(TEXT, 3, "one\ntwo") if has_all else TEXT))
    assert compared(repository).outcome == (outcome if has_all else "unknown")


def test_patches_that_only_remove_lines_do_not_prove_that_the_other_side_came_later(repository):
    forked(repository)
    patch(repository, "main", "@@ -3,1 +2,0 @@\n-line three\n")
    edit(repository, "alt", "line 3\n", "x\n", TEXT)
    assert compared(repository).outcome == "unknown"


def test_a_formatter_does_not_make_a_text_unknown(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    call_tool(repository, "conv-001/alt", "Bash", {"command": f"gofmt -w {FILE}"})
    file = compared(repository)
    assert (file.outcome, file.note) == ("compatible", "what Bash gofmt -w changed is not counted")
    edit(repository, "alt", "alt\n", "other\n", changed(TEXT, 15, "alt"))
    assert compared(repository).note is None


def test_an_edit_that_does_not_fit_a_formatted_text_names_the_formatter(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    call_tool(repository, "conv-001/alt", "Bash", {"command": f"black {FILE}"})
    edit(repository, "alt", "line  15\n", "alt\n")
    file = compared(repository)
    assert (file.outcome, file.source.unknown) == ("unknown", "content not recorded: Bash black")


def test_a_comparison_writes_no_objects(repository: Repository, monkeypatch):
    forked(repository)
    edit(repository, "main", "line 9\n", "main\n", TEXT)
    edit(repository, "alt", "line 9\n", "alt\n", TEXT)
    conflict = merge(repository, "conv-001", "alt", target="main").conflicts[0]

    def refuse(kind, data):
        raise AssertionError(f"{kind}: {data!r}")

    monkeypatch.setattr(Repository, "write", lambda self, kind, data: refuse(kind, data))
    assert show_conflict(repository, "conv-001", conflict.id).file.conflict_hunks


def test_touching_changes_are_one_range_as_git_merges_them():
    target, source = "a\nB\nc\n", "a\nb\nC\n"
    base = "a\nb\nc\n"
    assert merge_texts(base, target, source).conflicts
    changes = [list_line_changes(base, text) for text in (target, source)]
    lines = lines_of(target), lines_of(source)
    assert overlapping_ranges(group_changes(*changes), lines) == (LineRange((2, 3), (2, 3), (2, 3)),)
    assert overlapping_ranges(group_changes([LineChange(1, 1, 1, 1)], [LineChange(3, 1, 3, 1)]), lines) == ()


def test_a_call_whose_outcome_is_not_recorded_counts_as_made(repository):
    """A result that does not say whether the edit failed: Codex in older versions."""
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    arguments = {"file_path": FILE, "old_string": "alt\n", "new_string": "other\n"}
    call_tool(repository, "conv-001/alt", "Edit", arguments, output="", is_error=None)
    assert compared(repository).merged == changed(changed(TEXT, 3, "main"), 15, "other")


def test_a_call_without_a_result_does_not_count(repository):
    """The session was interrupted: nobody knows that the file was written."""
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    arguments = {"file_path": FILE, "old_string": "line 3\n", "new_string": "alt\n"}
    part = {"type": "tool_call", "call_id": "interrupted", "name": "Edit", "input": arguments}
    say(repository, "conv-001/alt", "", author="claude", kind="answer", parts=[part])
    assert merge(repository, "conv-001", "alt", target="main", dry_run=True).files == ()


def test_a_patch_that_failed_with_an_exit_code_does_not_count(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    text = f"*** Begin Patch\n*** Update File: {FILE}\n@@\n-line 3\n+x\n*** End Patch\n"
    call_tool(repository, "conv-001/alt", "apply_patch", text, exit_code=1)
    assert compared(repository).outcome == "compatible"


def test_patches_with_equal_hunks_are_the_same_without_a_text(repository):
    forked(repository)
    for where in ("main", "alt"):
        patch(repository, where, "@@ -3,1 +3,1 @@\n-line 3\n+new\n")
    assert compared(repository).outcome == "same"
    assert merge(repository, "conv-001", "alt", target="main").conflicts == ()


def test_a_merge_of_a_merge_compares_only_what_is_new(repository):
    """Main merged alt once; then alt goes on with what both made."""
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    merge(repository, "conv-001", "alt", target="main")
    both = changed(changed(TEXT, 3, "main"), 15, "alt")
    edit(repository, "main", "line 9\n", "main again\n", both)
    edit(repository, "alt", "line 9\n", "alt again\n", both)
    file = compared(repository)
    assert (file.outcome, file.ranges) == ("overlap", (LineRange((9, 9), (9, 9), (9, 9)),))


def test_every_file_is_compared_for_itself_and_they_are_sorted(repository):
    forked(repository)
    for path, line in (("src/z.py", 3), ("src/a.py", 15)):
        for where, number in (("main", 3), ("alt", line)):
            arguments = {"file_path": path, "old_string": f"line {number}\n", "new_string": f"{where}\n"}
            structured = {"originalFile": TEXT}
            call_tool(repository, f"conv-001/{where}", "Edit", arguments, structured=structured)
    found = merge(repository, "conv-001", "alt", target="main", dry_run=True).files
    assert [(file.path, file.outcome) for file in found] == [("src/a.py", "compatible"), ("src/z.py", "overlap")]


def test_a_whole_text_that_was_read_counts_more_than_the_edits_before_it(repository):
    """A command that does not name the file may have changed it."""
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    call_tool(repository, "conv-001/main", "Bash", {"command": "make generate"})
    read(repository, "main", changed(changed(TEXT, 3, "main"), 15, "made"))
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    assert compared(repository).outcome == "overlap"


@pytest.mark.parametrize("shown", [TEXT, TEXT.removesuffix("\n")])
def test_a_read_of_the_known_text_changes_nothing(repository, shown):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    read(repository, "main", changed(shown, 3, "main"))
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    assert compared(repository).merged == changed(changed(TEXT, 3, "main"), 15, "alt")


def test_patches_without_a_common_line_may_be_of_different_texts(repository):
    """Both may have changed one line, which was moved on one side before."""
    forked(repository)
    patch(repository, "main", "@@ -80 +80 @@\n-line 30\n+main\n")
    patch(repository, "alt", "@@ -30 +30 @@\n-line 30\n+alt\n")
    assert compared(repository).outcome == "unknown"


def test_arguments_that_the_user_changed_do_not_count(repository):
    forked(repository)
    hunk = {"oldStart": 15, "oldLines": 1, "newStart": 15, "newLines": 1, "lines": ["-line 15", "+mine"]}
    structured = {"filePath": FILE, "originalFile": TEXT, "structuredPatch": [hunk], "userModified": True}
    arguments = {"file_path": FILE, "old_string": "line 3\n", "new_string": "x\n"}
    call_tool(repository, "conv-001/main", "Edit", arguments, structured=structured)
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    file = compared(repository)
    assert (file.outcome, file.target.text) == ("overlap", changed(TEXT, 15, "mine"))


def test_an_edit_that_fits_a_text_of_unknown_origin_proves_nothing(repository):
    """The source changed the first `x = 1`, which the target has changed too; its own text is not recorded."""
    forked(repository)
    call_tool(repository, "conv-001/main", "Write", {"file_path": FILE, "content": "x = 2\nq\nx = 1\n"})
    edit(repository, "alt", "x = 1", "x = 3")
    assert compared(repository).outcome == "unknown"
