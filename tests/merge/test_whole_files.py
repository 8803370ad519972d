"""Files that a side created, deleted, renamed or replaced."""

from __future__ import annotations

from scopes.conversation.merge import merge
from scopes.merge.file_comparison import conflict_hunks
from tests.support.file_edits import FILE, TEXT, changed, compared, delete, edit, forked, rename, write
from tests.support.tool_calls import call_tool


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
