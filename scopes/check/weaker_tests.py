"""Count the assertions that edits of a test file removed and added, and the tests that they disabled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from scopes.loading import compile_lazily
from scopes.model.file_edits import FileEdit, pieces_of_edit

_ASSERTION = compile_lazily(
    r"\b(?:assert\w*|expect|should|require|check|verify)\b\s*[.(!]|^\s*assert\b|\bt\.(?:Error|Fatal|Fail)|\bXCTAssert|\bpytest\.raises"
)
_SETUP = compile_lazily(
    r"\bt\.Fatalf?\(\"(?i:failed to|could not|cannot|unable to) .*\berr\)"
)  # of Go: checks no result
_DISABLED = compile_lazily(
    r"@(?:pytest\.mark\.)?(?:skip|xfail|skipif)\b|pytest\.(?:skip|xfail)\(|@unittest\.skip|\b(?:it|describe|test|context)\.(?:skip|only|todo)\b"
    r"|^\s*(?:xit|xdescribe|xtest|fit|fdescribe)\(|\bt\.Skip(?:f|Now)?\(|#\[ignore|@(?:Disabled|Ignore)\b|\bGTEST_SKIP\b"
)
_FUNCTION = compile_lazily(r"^\s*(?:async\s+)?(?:def|func|fn)\s+(?:\([^)]*\)\s*)?(\w+)|^\s*(?:it|test)(?:\.\w+)*\(")
_TEST_NAME = compile_lazily(r"(?i)test\w*")
_Key = TypeVar("_Key", bound=Hashable)


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
    """Add up the edits of one test file. A test that the same edit adds does not count as disabled."""
    removed: Counter[str] = Counter()
    added: Counter[str] = Counter()
    disabled = 0
    for edit in edits:
        for old, new in pieces_of_edit(edit):
            removed_lines = [line[1:] for line in old if line[:1] == "-"]
            removed.update(_assertions(removed_lines))
            added.update(_assertions(line[1:] for line in new if line[:1] == "+"))
            disabled += _count_disabled(new, {line.strip() for line in removed_lines})
            disabled -= sum(_DISABLED.search(line) is not None for line in removed_lines)
    return Changes(removed, added, disabled)


def count_lost(files: Mapping[_Key, Changes]) -> dict[_Key, int]:
    """Return how many assertions fewer each of some files has.

    An assertion that another file gained was moved there; each of those accounts for one that was removed.
    """
    gained: Counter[str] = Counter()
    for changes in files.values():
        gained.update(changes.added - changes.removed)
    result: dict[_Key, int] = {}
    for key, changes in files.items():
        lost = max(0, changes.lost)
        for assertion, count in (changes.removed - changes.added).items():
            moved = min(lost, count, gained[assertion])
            gained[assertion] -= moved
            lost -= moved
        result[key] = lost
    return result


def _assertions(lines: Iterable[str]) -> Iterator[str]:
    return (line.strip() for line in lines if _ASSERTION.search(line) and not _SETUP.search(line))


def _count_disabled(lines: list[str], removed_lines: set[str]) -> int:
    """Count the added lines that disable a test that was there before."""
    count = 0
    for position, line in enumerate(lines):
        if line[:1] != "+" or not _DISABLED.search(line[1:]):
            continue
        is_mark = line[1:].lstrip()[:1] in {"@", "#"}
        rest = lines[position + 1 :] if is_mark else reversed(lines[:position])
        owner = None if _FUNCTION.match(line[1:]) else next((each for each in rest if _FUNCTION.match(each[1:])), None)
        count += not (owner is not None and _is_new_test(owner, removed_lines))
    return count


def _is_new_test(line: str, removed_lines: set[str]) -> bool:
    match = _FUNCTION.match(line[1:])
    is_test = match is not None and (match[1] is None or _TEST_NAME.match(match[1]) is not None)
    return is_test and line[:1] == "+" and line[1:].strip() not in removed_lines
