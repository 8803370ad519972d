"""What both sides made of a file, from tool calls in the shapes of Claude Code and Codex."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import show_conflict
from scopes.conversation.merge import MergeOptions, merge
from scopes.conversation.new import new
from scopes.merge.file_comparison import conflict_hunks
from scopes.merge.line_ranges import LineRange, group_changes, lines_of, overlapping_ranges
from scopes.store.repository import Repository
from scopes.store.text_merge import MAX_TEXT, LineChange, list_line_changes, merge_texts
from tests.support.history import say
from tests.support.tool_calls import call_tool

FILE = "src/app.py"
LINES = [f"line {number}\n" for number in range(1, 21)]
TEXT = "".join(LINES)


def forked(repository):
    new(repository, directory="/work")
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt")
    branch(repository, "conv-001", name="other", start="main", switch=True)
    return repository


def edit(repository, where, old, new_text, before=None):
    """Append an edit as Claude Code records it, with the text before it unless that is None."""
    arguments = {"file_path": FILE, "old_string": old, "new_string": new_text}
    structured = {"filePath": FILE, "originalFile": before}
    return call_tool(repository, f"conv-001/{where}", "Edit", arguments, structured=structured)


def patch(repository, where, diff):
    """Append a patch as Codex reports it, with line numbers and without the text."""
    structured = {"changes": {f"/work/{FILE}": {"type": "update", "unified_diff": diff}}}
    call_tool(repository, f"conv-001/{where}", "apply_patch", "*** Begin Patch", agent="codex", structured=structured)


def compared(repository):
    [file] = merge(repository, "conv-001", "alt", target="main", dry_run=True).files
    return file


def changed(text, line, new_line):
    return text.replace(f"line {line}\n", f"{new_line}\n")


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


@pytest.mark.parametrize(("line", "outcome"), [(3, "overlap"), (9, "compatible")])
def test_the_text_before_the_fork_decides_between_different_starts(repository, line, outcome):
    """The source began with a text that has an unrecorded change, at a line that the target edited or not."""
    new(repository, directory="/work")
    write(repository, "main", TEXT)
    branch(repository, "conv-001", name="alt", switch=False)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "line 15\n", "alt\n", changed(TEXT, line, "before"))
    file = compared(repository)
    assert (file.outcome, file.base) == (outcome, TEXT)
    if outcome == "compatible":
        assert file.merged == changed(changed(changed(TEXT, 3, "main"), 9, "before"), 15, "alt")


def test_a_side_that_began_with_the_edits_of_the_other_and_more_is_compatible(repository):
    """Between two sessions somebody else edited the file, next to the lines of the first one."""
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    edit(repository, "alt", "main\n", "alt\n", changed(changed(TEXT, 3, "main"), 4, "somebody else"))
    file = compared(repository)
    assert (file.outcome, file.note) == ("compatible", "the source edited the text of the target")
    assert file.merged == changed(changed(TEXT, 3, "alt"), 4, "somebody else")


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


def test_a_file_that_one_side_deleted_disagrees_with_an_edit(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    call_tool(repository, "conv-001/alt", "apply_patch", f"*** Begin Patch\n*** Delete File: {FILE}\n*** End Patch\n")
    file = compared(repository)
    assert (file.outcome, file.note, file.source.deleted) == ("overlap", "the source deleted it", True)


def test_new_files_with_different_texts_disagree(repository):
    forked(repository)
    for where in ("main", "alt"):
        call_tool(repository, f"conv-001/{where}", "Write", {"file_path": FILE, "content": f"same\n{where}\n"})
    file = compared(repository)
    assert (file.outcome, file.note) == ("overlap", "the text at the merge base is not recorded")
    assert conflict_hunks(file.merged).endswith("=======\nalt\n>>>>>>> source\n\n")


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


def write(repository, where, content, before=None):
    """Append a write of the whole file as Claude Code records it; it creates the file unless it had a text before."""
    structured = {"type": "create"} if before is None else {"type": "update", "originalFile": before}
    call_tool(repository, f"conv-001/{where}", "Write", {"file_path": FILE, "content": content}, structured=structured)


def delete(repository, where, path=FILE):
    call_tool(
        repository, f"conv-001/{where}", "apply_patch", f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n"
    )


def test_a_file_that_both_sides_created_alike_is_no_conflict(repository):
    forked(repository)
    for where in ("main", "alt"):
        write(repository, where, TEXT)
    done = merge(repository, "conv-001", "alt", target="main")
    assert (done.files, done.conflicts) == ((), ())


def test_a_file_that_both_sides_deleted_is_no_conflict(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    for where in ("main", "alt"):
        delete(repository, where)
    done = merge(repository, "conv-001", "alt", target="main")
    assert (done.files, done.conflicts) == ((), ())


def test_a_deleted_file_is_not_the_same_as_an_empty_one(repository):
    forked(repository)
    write(repository, "main", "", TEXT)
    delete(repository, "alt")
    file = compared(repository)
    assert (file.outcome, file.note) == ("overlap", "the source deleted it")


def test_a_file_that_was_deleted_and_made_again_has_its_new_text(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    delete(repository, "main")
    write(repository, "main", changed(TEXT, 3, "again"))
    edit(repository, "alt", "line 15\n", "alt\n", TEXT)
    file = compared(repository)
    assert (file.outcome, file.target.deleted) == ("compatible", False)
    assert file.merged == changed(changed(TEXT, 3, "again"), 15, "alt")


def test_a_side_that_renamed_the_file_disagrees_with_an_edit(repository):
    """The old path is deleted there; the new path is a file of that side alone."""
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    patch_text = f"*** Begin Patch\n*** Update File: {FILE}\n*** Move to: src/main.py\n@@\n-line 3\n+x\n*** End Patch\n"
    call_tool(repository, "conv-001/alt", "apply_patch", patch_text, agent="codex")
    file = compared(repository)
    assert (file.path, file.outcome, file.note) == (FILE, "overlap", "the source deleted it")


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


def read(repository, where, content):
    """Append a Read of the whole file as Claude Code records it."""
    count = len(content.split("\n"))
    file = {"filePath": FILE, "content": content, "numLines": count, "startLine": 1, "totalLines": count}
    call_tool(repository, f"conv-001/{where}", "Read", {"file_path": FILE}, structured={"type": "text", "file": file})


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


def test_an_edit_that_fits_a_text_of_unknown_origin_proves_nothing(repository):
    """The source changed the first `x = 1`, which the target has changed too; its own text is not recorded."""
    forked(repository)
    call_tool(repository, "conv-001/main", "Write", {"file_path": FILE, "content": "x = 2\nq\nx = 1\n"})
    edit(repository, "alt", "x = 1", "x = 3")
    assert compared(repository).outcome == "unknown"


def rename(repository, where, old, new_path):
    changes = {f"/work/{old}": {"type": "update", "unified_diff": "", "move_path": f"/work/{new_path}"}}
    structured = {"changes": changes}
    call_tool(repository, f"conv-001/{where}", "apply_patch", "*** Begin Patch", agent="codex", structured=structured)


def test_chains_of_renames_with_one_end_are_the_same(repository):
    forked(repository)
    for path in (("src/app.py", "src/b.py"), ("src/b.py", "src/c.py")):
        rename(repository, "main", *path)
    rename(repository, "alt", "src/app.py", "src/c.py")
    found = merge(repository, "conv-001", "alt", target="main", dry_run=True)
    assert {file.path: file.outcome for file in found.files} == {"src/c.py": "same"}


def test_a_rename_that_was_taken_back_changes_nothing(repository):
    forked(repository)
    edit(repository, "main", "line 3\n", "main\n", TEXT)
    rename(repository, "main", "src/app.py", "src/b.py")
    rename(repository, "main", "src/b.py", "src/app.py")
    edit(repository, "alt", "line 3\n", "main\n", TEXT)
    assert compared(repository).outcome == "same"


def test_a_patch_that_adds_a_file_may_replace_one(repository):
    forked(repository)
    text = changed(TEXT, 3, "main")
    structured = {"changes": {f"/work/{FILE}": {"type": "add", "content": text}}}
    call_tool(repository, "conv-001/main", "apply_patch", "*** Begin Patch", agent="codex", structured=structured)
    edit(repository, "alt", "line 3\n", "main\n", TEXT)
    assert compared(repository).outcome == "same"


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
