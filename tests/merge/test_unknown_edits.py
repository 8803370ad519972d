"""A merge never calls files compatible if it does not know all edits of them."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.new import new
from scopes.history.messages import plain_message
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
