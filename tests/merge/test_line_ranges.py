"""Changed lines of texts, also of thousands of places."""

from __future__ import annotations

import sys

import pytest

from scopes.merge.file_comparison import compare_steps
from scopes.merge.file_steps import Step
from scopes.merge.line_ranges import list_moved_changes, was_changed_throughout
from scopes.merge.patched_lines import join_patches
from scopes.model.file_edits import FileEdit, Hunk
from scopes.store.text_merge import LineChange


def replace_lines(count, first, name):
    """Return hunks that replace every fifth line from `first` on."""
    lines = range(first, first + 5 * count, 5)
    return tuple(Hunk(line, 1, line, 1, (f"-line {line}", f"+{name} {line}")) for line in lines)


def text(count, changed=None, name=""):
    return "".join(f"{name if line % 5 == changed else 'line'} {line}\n" for line in range(5 * count))


def compare_patches(count):
    edits = [FileEdit("a", "edit", hunks=replace_lines(count, first, "x")) for first in (1, 2, 4)]
    steps = [Step(f"m{number}", "codex", "apply_patch", edit) for number, edit in enumerate(edits)]
    return compare_steps("files/a=", steps[:2], steps[2:])


def move_changes(count):
    return list_moved_changes((text(count, 2, "other"), text(count)), text(count, 0, "source"))


def move_changes_into_one(count):
    """All lines of the text between are other ones: it has one change."""
    whole = "".join(f"whole {line}\n" for line in range(5 * count))
    return list_moved_changes((whole, text(count)), text(count, 0, "source"))


def move_equal_changes(count):
    """Every change is in all places of the one change between."""
    return list_moved_changes(("equal\n" * 5 * count, text(count)), text(count, 0, "equal\nequal").replace(" 0", ""))


def find_changes(count):
    return was_changed_throughout(text(count), text(count, 0, "new"), text(count, 0, "later"))


def executed_lines(function, *arguments):
    """Return how many lines of Python a call executes."""
    executed = 0

    def trace(frame, event, argument):
        nonlocal executed
        executed += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return executed


@pytest.mark.parametrize(
    "function", [compare_patches, move_changes, move_changes_into_one, move_equal_changes, find_changes]
)
def test_the_work_grows_with_the_number_of_changes_and_not_with_its_square(function):
    """2,000, 4,000 and 8,000 hunks took 4, 17 and 65 seconds."""
    assert executed_lines(function, 400) < 5 * executed_lines(function, 100)


def test_patches_one_after_the_other_are_changes_of_the_first_text():
    first = Hunk(3, 2, 3, 3, (" c", "-d", "+D", "+more"))
    joined = join_patches([(first,), (Hunk(1, 2, 1, 1, ("-a", " b")), Hunk(5, 2, 4, 2, ("-more", "+less", " e")))])
    assert joined.changes == [LineChange(1, 1, 0, 0), LineChange(4, 1, 3, 2)]
    assert joined.shown == {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}
    assert joined.read_lines(1, 6, {6: "f"}) == [2, 3, "D", "less", 5, "f"]


def test_a_change_that_a_later_patch_takes_back_is_no_change():
    joined = join_patches([(Hunk(3, 1, 3, 1, ("-c", "+x")),), (Hunk(3, 1, 3, 1, ("-x", "+c")),)])
    assert joined.changes == []


@pytest.mark.parametrize("line", [1, 0, -5, 1 << 70])
def test_a_patch_whose_hunks_overlap_is_not_read(line):
    hunks = (Hunk(2, 2, 2, 1, ("-b", " c")), Hunk(line, 1, line, 1, ("-a", "+x")))
    assert join_patches([hunks]) is None
