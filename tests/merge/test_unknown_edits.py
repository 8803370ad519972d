"""A merge never calls files compatible if it does not know all edits of them."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.cherry_pick import cherry_pick
from scopes.conversation.merge import merge
from scopes.conversation.new import new
from scopes.history.messages import plain_message, walk_headers_oldest_first
from scopes.history.revisions import list_branch_tips
from scopes.merge.line_ranges import list_moved_changes
from scopes.model.file_edits import apply_edit, edits_of_call, hash_text
from scopes.model.message import Part
from tests.support.tool_calls import call_tool, checked

FILE = "src/f.c"
LINES = [f"line {number}" for number in range(40)]
TEXT = "\n".join(LINES) + "\n"


@pytest.fixture
def forked(repository):
    new(repository)
    append(repository, "conv-001", plain_message("carol", "go"))
    branch(repository, "conv-001", name="alt", switch=False)
    return repository


def edit(repository, name, old, new_text, before=TEXT):
    """Edit the file on a branch; the whole text before the edit is recorded unless `before` is None."""
    structured = {} if before is None else {"structured": {"originalFile": before, "filePath": FILE}}
    arguments = {"file_path": FILE, "old_string": old, "new_string": new_text}
    call_tool(repository, f"conv-001/{name}", "Edit", arguments, **structured)


def outcome(repository):
    (file,) = merge(repository, "conv-001", "alt", target="main", dry_run=True).files
    return file.outcome


@pytest.mark.parametrize("operation", ["edit", "delete"])
def test_a_claim_without_a_recorded_edit_makes_the_text_unknown(forked, operation):
    document = {"author": "claude", "text": "by hand", "files": [{"path": FILE, "op": operation}]}
    append(forked, "conv-001", checked(document), branch="main")
    edit(forked, "alt", "line 7\n", "LINE 7\n")
    assert outcome(forked) == "unknown"


def claim(repository, name, content=None):
    """Append a message that names the file, without a tool call."""
    touch = {"path": FILE, "op": "edit"} | ({} if content is None else {"content_hash": hash_text(content)})
    append(repository, "conv-001", checked({"author": "claude", "text": "by hand", "files": [touch]}), branch=name)


@pytest.mark.parametrize("side", ["main", "alt"])
def test_a_claim_after_a_recorded_edit_makes_the_text_unknown(forked, side):
    """It may have changed the lines of the other side's edit."""
    edit(forked, "main", "line 3\n", "LINE 3\n")
    edit(forked, "alt", "line 30\n", "LINE 30\n")
    claim(forked, side)
    (file,) = merge(forked, "conv-001", "alt", target="main", dry_run=True).files
    name = "target" if side == "main" else "source"
    assert file.outcome == "unknown"
    assert file.note == f"content not recorded: changed after its last recorded edit ({name})"
    assert merge(forked, "conv-001", "alt", target="main").conflicts


def test_a_claim_between_recorded_edits_makes_the_text_unknown_until_it_is_recorded_again(forked):
    edit(forked, "alt", "line 30\n", "LINE 30\n")
    edit(forked, "main", "line 3\n", "LINE 3\n")
    claim(forked, "main")
    edit(forked, "main", "line 5\n", "LINE 5\n", before=None)
    (file,) = merge(forked, "conv-001", "alt", target="main", dry_run=True).files
    assert file.note == "content not recorded: changed without a recorded edit (target)"
    edit(forked, "main", "line 9\n", "LINE 9\n")
    assert outcome(forked) == "compatible"


def test_a_claim_of_the_recorded_text_changes_nothing(forked):
    edit(forked, "main", "line 3\n", "LINE 3\n")
    edit(forked, "alt", "line 30\n", "LINE 30\n")
    claim(forked, "alt", TEXT.replace("line 30\n", "LINE 30\n"))
    assert outcome(forked) == "compatible"
    claim(forked, "alt", TEXT)
    assert outcome(forked) == "unknown"


def test_edits_beyond_the_limit_make_the_text_unknown(forked):
    """Only the first and the last edits of a file are read; those between them may touch any line."""
    for number in range(215):
        old, changed = (
            ("line 7\n", "LINE 7\n") if number == 5 else (f"line 3{'x' * number}\n", f"line 3{'x' * (number + 1)}\n")
        )
        edit(forked, "main", old, changed, before=TEXT if number == 0 else None)
    edit(forked, "alt", "line 7\n", "other 7\n")
    assert outcome(forked) == "unknown"


def test_a_call_with_too_many_edits_makes_the_text_unknown():
    edits = [{"old_string": f"line {number}\n", "new_string": "x\n"} for number in range(230)]
    call = Part("tool_call", {"name": "MultiEdit", "input": {"file_path": FILE, "edits": edits}})
    (found,) = edits_of_call(call, {})
    assert apply_edit(found, "".join(f"line {number}\n" for number in range(230))) is None


def test_a_replacement_cannot_make_a_text_of_gigabytes():
    edits = [{"old_string": "a", "new_string": "a" * 3000, "replace_all": True}] * 3
    call = Part("tool_call", {"name": "MultiEdit", "input": {"file_path": FILE, "edits": edits}})
    (found,) = edits_of_call(call, {"originalFile": "a"})
    assert apply_edit(found, "a") is None


@pytest.mark.parametrize("separator", ["\x0c", "\x0b", "\r", "\u0085", "\u2028"])
def test_separators_of_unicode_end_no_line(forked, separator):
    """One form feed above the change is common in sources of GNU programs."""
    first = f"/* page */\n{separator}\nv = 1\nw = 1\nend\n"
    second = first.replace("v = 1", "v = 2")
    edit(forked, "main", "v = 1", "v = TARGET", before=first)
    edit(forked, "alt", "v = 2", "v = SOURCE", before=second)
    assert outcome(forked) == "overlap"
    assert list_moved_changes((first, second), second.replace("v = 2", "v = SOURCE"))


def test_a_claim_before_the_fork_makes_the_text_before_it_unknown(repository):
    """Somebody changed the file by hand: the text that is recorded before that is not the text of the merge base."""
    new(repository, directory="/work")
    call_tool(repository, "conv-001/main", "Write", {"file_path": "src/f.c", "content": TEXT})
    claim(repository, "main")
    branch(repository, "conv-001", name="alt", switch=False)
    edit(repository, "main", "line 3\n", "main\n", None)
    edit(repository, "alt", "line 15\n", "alt\n", None)
    assert outcome(repository) == "unknown"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sed -i s/5/6/ src/f.c && pytest", "unknown"),
        ("sed -i s/5/6/ src/f.c; false", "unknown"),
        ("python fix.py > src/f.c", "unknown"),
        ("clang-format -i src/f.c missing.c && true", "unknown"),
        ("rm -r src/f.c", "unknown"),
        ("sed -i s/5/6/ src/f.c src/other.py", "unknown"),
        ("sed -i s/5/6/ src/f.c", "compatible"),
        ("cd src && rm f.c", "compatible"),
        ("git mv src/f.c src/other.py", "compatible"),
        ("pytest src/f.c && cat src/f.c", "compatible"),
    ],
)
def test_a_failed_command_may_have_changed_the_file_before_it_failed(forked, command, expected):
    edit(forked, "main", "line 3\n", "main\n")
    edit(forked, "alt", "line 15\n", "alt\n")
    call_tool(forked, "conv-001/main", "Bash", {"command": command}, exit_code=1)
    assert outcome(forked) == expected


@pytest.mark.parametrize(("rest", "expected"), [("\npytest", "unknown"), ("", "compatible")])
def test_a_patch_in_a_failed_command_may_have_been_applied(forked, rest, expected):
    edit(forked, "main", "line 3\n", "main\n")
    edit(forked, "alt", "line 15\n", "alt\n")
    patch = "*** Begin Patch\n*** Update File: src/f.c\n@@\n-line 7\n+seven\n*** End Patch\n"
    command = ["bash", "-lc", f"apply_patch <<'EOF'\n{patch}EOF{rest}"]
    call_tool(forked, "conv-001/main", "shell", {"command": command}, exit_code=1)
    assert outcome(forked) == expected


def test_a_failed_edit_by_a_tool_changes_nothing(forked):
    edit(forked, "main", "line 3\n", "main\n")
    edit(forked, "alt", "line 15\n", "alt\n")
    arguments = {"file_path": "src/f.c", "old_string": "line 15\n", "new_string": "other\n"}
    call_tool(forked, "conv-001/main", "Edit", arguments, is_error=True)
    assert outcome(forked) == "compatible"


def pick(repository, count):
    """Cherry-pick the last messages of main to alt."""
    heads = list(walk_headers_oldest_first(repository, [list_branch_tips(repository, "conv-001")["main"]]))
    cherry_pick(repository, "conv-001", [head.id for head in heads[-count:]], branch="alt")


def patch(repository, name, diff):
    """Append a patch with line numbers and without the text."""
    structured = {"changes": {FILE: {"type": "update", "unified_diff": diff}}}
    call_tool(repository, f"conv-001/{name}", "apply_patch", "*** Begin Patch", structured=structured)


ABOVE = "@@ -0,0 +1,10 @@\n" + "".join(f"+new {number}\n" for number in range(10))


def test_a_picked_patch_between_others_moves_their_line_numbers(forked):
    patch(forked, "main", "@@ -20 +20 @@\n-line 19\n+main\n")
    patch(forked, "main", ABOVE)
    pick(forked, 2)
    patch(forked, "alt", "@@ -30 +30 @@\n-line 19\n+alt\n")
    assert outcome(forked) == "unknown"


@pytest.mark.parametrize(("line", "expected"), [(29, "overlap"), (36, "compatible")])
def test_line_numbers_below_a_picked_patch_are_compared(forked, line, expected):
    patch(forked, "main", ABOVE)
    pick(forked, 2)
    patch(forked, "main", "@@ -29,3 +29,3 @@\n line 18\n-line 19\n+main\n line 20\n")
    context = "".join(f" line {number}\n" for number in range(20, line - 10))
    changed = "@@ -30 +30 @@\n-line 19\n+alt\n" if line == 29 else f"@@ -31,7 +31,7 @@\n{context}-line 26\n+alt\n"
    patch(forked, "alt", changed)
    assert outcome(forked) == expected


def test_a_picked_edit_is_part_of_the_texts_of_both_sides(forked):
    """The picked result records the text of main, which alt does not have."""
    edit(forked, "main", "line 3\n", "main\n")
    edit(forked, "main", "line 10\n", "both\n", TEXT.replace("line 3\n", "main\n"))
    pick(forked, 2)
    edit(forked, "alt", "line 30\n", "alt\n", None)
    (file,) = merge(forked, "conv-001", "alt", target="main", dry_run=True).files
    picked = TEXT.replace("line 10\n", "both\n")
    assert (file.outcome, file.base) == ("compatible", TEXT)
    assert file.source.text == picked.replace("line 30\n", "alt\n")
    assert file.merged == file.source.text.replace("line 3\n", "main\n")
    assert len(file.source.messages) == 1


@pytest.mark.parametrize(("arguments", "text"), [({"replace_all": True}, TEXT), ({}, f"{TEXT}line 10\n")])
def test_a_picked_edit_that_fits_several_places_makes_the_text_unknown(forked, arguments, text):
    edit(forked, "main", "line 3\n", "main\n", text)
    arguments = {"file_path": FILE, "old_string": "line 10\n", "new_string": "both\n", **arguments}
    structured = {"originalFile": text.replace("line 3\n", "main\n"), "filePath": FILE}
    call_tool(forked, "conv-001/main", "Edit", arguments, structured=structured)
    pick(forked, 2)
    edit(forked, "alt", "line 30\n", "alt\n", None)
    assert outcome(forked) == "unknown"


def test_the_text_after_a_merge_of_two_edited_branches_is_unknown(forked):
    """The edits of the merged branch are between those of main in no order."""
    branch(forked, "conv-001", name="other", start="main", switch=False)
    edit(forked, "main", "line 3\n", "main\n")
    edit(forked, "other", "line 30\n", "other\n")
    merge(forked, "conv-001", "other", target="main")
    edit(forked, "alt", "line 3\n", "alt\n")
    assert outcome(forked) == "unknown"
    both = TEXT.replace("line 3\n", "main\n").replace("line 30\n", "other\n")
    edit(forked, "main", "line 20\n", "again\n", both)
    assert outcome(forked) == "overlap"
