"""Read from the edits of a test file which assertions it lost or won, and whether tests of it were disabled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scopes.model.file_edits import FileEdit

_ASSERTION = re.compile(
    r"\b(?:assert\w*|expect|should|require|check|verify)\b\s*[.(!]|^\s*assert\b|\bt\.(?:Error|Fatal|Fail)|\bXCTAssert|\bpytest\.raises"
)
_SETUP = re.compile(r"\bt\.Fatalf?\(\"(?i:failed to|could not|cannot|unable to) .*\berr\)")  # of Go: checks no result
_DISABLED = re.compile(
    r"@(?:pytest\.mark\.)?(?:skip|xfail|skipif)\b|pytest\.(?:skip|xfail)\(|@unittest\.skip|\b(?:it|describe|test|context)\.(?:skip|only|todo)\b"
    r"|\b(?:xit|xdescribe|xtest|fit|fdescribe)\(|\bt\.Skip(?:f|Now)?\(|#\[ignore|@(?:Disabled|Ignore)\b|\bGTEST_SKIP\b"
)
_FUNCTION = re.compile(r"^\s*(?:async\s+)?(?:def|func|fn)\s+(?:\([^)]*\)\s*)?(\w+)|^\s*(?:it|test)(?:\.\w+)*\(")
_TEST_NAME = re.compile(r"(?i)test\w*")


class Changes(NamedTuple):
    """What edits did to a test file: the assertions that they removed and added, and the tests they disabled."""

    removed: Counter[str]
    added: Counter[str]
    disabled: int

    @property
    def lost(self) -> int:
        """How many assertions fewer there are."""
        return self.removed.total() - self.added.total()


def read_changes(edits: Iterable[FileEdit]) -> Changes:
    """Add up the edits of one test file. A test that an edit adds and disables is none that was disabled."""
    removed: Counter[str] = Counter()
    added: Counter[str] = Counter()
    disabled = 0
    for edit in edits:
        for old, new in _sides(edit):
            gone = [line[1:] for line in old if line[:1] == "-"]
            removed.update(_assertions(gone))
            added.update(_assertions(line[1:] for line in new if line[:1] == "+"))
            disabled += _count_disabled(new, {line.strip() for line in gone})
            disabled -= sum(_DISABLED.search(line) is not None for line in gone)
    return Changes(removed, added, disabled)


def count_moved(changes: Changes, others: Iterable[Changes]) -> int:
    """Return how many of the lost assertions edits of other files added."""
    lost = changes.removed - changes.added
    won: Counter[str] = Counter()
    for other in others:
        won += other.added - other.removed
    return (lost & won).total()


def _assertions(lines: Iterable[str]) -> Iterator[str]:
    return (line.strip() for line in lines if _ASSERTION.search(line) and not _SETUP.search(line))


def _count_disabled(lines: list[str], gone: set[str]) -> int:
    """Count the added lines that disable a test that was there before."""
    count = 0
    for position, line in enumerate(lines):
        if line[:1] != "+" or not _DISABLED.search(line[1:]):
            continue
        is_mark = line[1:].lstrip()[:1] in {"@", "#"}
        rest = lines[position + 1 :] if is_mark else reversed(lines[:position])
        owner = None if _FUNCTION.match(line[1:]) else next((each for each in rest if _FUNCTION.match(each[1:])), None)
        count += not (owner is not None and _is_new_test(owner, gone))
    return count


def _is_new_test(line: str, gone: set[str]) -> bool:
    match = _FUNCTION.match(line[1:])
    is_test = match is not None and (match[1] is None or _TEST_NAME.match(match[1]) is not None)
    return is_test and line[:1] == "+" and line[1:].strip() not in gone


def _sides(edit: FileEdit) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the old and the new lines of each changed piece, with `-` or `+` in front of what may differ."""
    if edit.hunks:
        for hunk in edit.hunks:
            yield [line for line in hunk.lines if line[:1] in " -"], [line for line in hunk.lines if line[:1] in " +"]
    elif edit.replacements:
        for each in edit.replacements:
            yield _marked(each.old, "-"), _marked(each.new, "+")
    elif edit.before is not None and edit.after is not None:
        yield _marked(edit.before, "-"), _marked(edit.after, "+")


def _marked(text: str, mark: str) -> list[str]:
    return [mark + line for line in text.splitlines()]
