"""Count the assertions that edits of a test file removed and added, and the tests that they disabled."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple, TypeVar

from scopes.check.comments import pieces_of_edit
from scopes.lazy_patterns import compile_lazily
from scopes.model.tools import FileEdit

_ASSERTION = compile_lazily(
    r"\b(?:assert\w*|expect|should|require|check|verify)\b\s*[.(!]|^\s*assert\b|\bt\.(?:Error|Fatal|Fail)|\bXCTAssert|\bpytest\.raises"
)
_SETUP = compile_lazily(
    r"\bt\.Fatalf?\(\"(?i:failed to|could not|cannot|unable to) .*\berr\)"
)  # of Go: checks no result
# Of Go: a preparation whose error is checked, in `require.NoError(t, x.Set(y))` or `if err := x.Set(y); err != nil {`.
_PREPARATION = compile_lazily(
    r"\s*(?:(?:require|assert)\.NoError\(t, |if err := )((?:\w+\.)+(?:Set|Add|Put|Append|Register)\w*\(.*\))"
    r"(?:\)|; err != nil \{)\s*"
)
# An equality of a whole value, and a check of a part of one.
_EQUALITY = compile_lazily(
    r"\bt\.(?:Error|Fatal)f\(\"(?:[^\"%]*\\n)?got:?(?:\\n| )%[^\"]*(?: |\\n)want:?(?:\\n| )%"
    r"|^\s*assert \w+ == (?!None\b|True\b|False\b)|\bassert(?:Equals?|_eq!)\(|\.(?:toEqual|toStrictEqual)\("
)
_PARTIAL = compile_lazily(
    r"(?i)^\s*assert .+\b(?:not )?in\b|\bassert(?:Not)?In\(|\.starts_?with\(|\.ends_?with\(|contain|\.toMatch\("
    r"|\bt\.(?:Error|Fatal)f?\(\"(?:[^\"]*\b(?:missing|should)\b|expected [^\"%]*\")"
)
_DISABLED = compile_lazily(
    r"@(?:pytest\.mark\.)?(?:skip|xfail|skipif)\b|pytest\.(?:skip|xfail)\(|@unittest\.skip|\b(?:it|describe|test|context)\.(?:skip|only|todo)\b"
    r"|^\s*(?:xit|xdescribe|xtest|fit|fdescribe)\(|\bt\.Skip(?:f|Now)?\(|#\[ignore|@(?:Disabled|Ignore)\b|\bGTEST_SKIP\b"
)
_FUNCTION = compile_lazily(r"^\s*(?:async\s+)?(?:def|func|fn)\s+(?:\([^)]*\)\s*)?(\w+)|^\s*(?:it|test)(?:\.\w+)*\(")
_CALL = compile_lazily(r"(?<!\w)(\w+\.)?(\w+)\(")
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


def find_removed_functions(edits: Iterable[FileEdit]) -> frozenset[str]:
    """Return the names of the functions that edits remove, and that none of them defines again."""
    removed: set[str] = set()
    added: set[str] = set()
    for edit in edits:
        for old, new in pieces_of_edit(edit):
            removed |= _defined(line[1:] for line in old if line[:1] == "-")
            added |= _defined(line[1:] for line in new if line[:1] == "+")
    return frozenset(removed - added)


def read_changes(edits: Iterable[FileEdit], gone: frozenset[str] = frozenset()) -> Changes:
    """Add up the edits of one test file. A test that the same edit adds does not count as disabled.

    gone: functions that the run removes; a removed test that calls one of them is no loss
    """
    removed: Counter[str] = Counter()
    added: Counter[str] = Counter()
    disabled = 0
    for edit in edits:
        for old, new in pieces_of_edit(edit):
            removed_lines = [line[1:] for line in old if line[:1] == "-"]
            added_lines = [line[1:] for line in new if line[:1] == "+"]
            lost = Counter(_assertions(_without_kept(_without_tests_of(gone, removed_lines), added_lines)))
            gained = Counter(_assertions(added_lines))
            removed.update(lost)
            added.update(gained)
            added.update(_joined(lost - gained, gained - lost))
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


def _without_kept(removed_lines: list[str], added_lines: list[str]) -> Iterator[str]:
    """Yield removed lines without the checks of preparations that stay as plain calls: these return no error now."""
    kept = Counter(line.strip() for line in added_lines)
    is_checked = False
    for line in removed_lines:
        match = _PREPARATION.fullmatch(line)
        if match is not None and kept[match[1]]:
            kept[match[1]] -= 1
            is_checked = line.lstrip().startswith("if ")
        elif is_checked:  # what is reported about the error
            is_checked = False
        else:
            yield line


def _defined(lines: Iterable[str]) -> set[str]:
    return {match[1] for line in lines if (match := _FUNCTION.match(line)) is not None and match[1]}


def _without_tests_of(gone: frozenset[str], lines: list[str]) -> list[str]:
    """Return removed lines without the tests that call a function which the run removes.

    Of `x.name(...)` the test must have the name too: `t.Run(...)` calls no function of the run.
    """
    starts = [number for number, line in enumerate(lines) if gone and _FUNCTION.match(line)]
    kept = lines[: starts[0]] if starts else [*lines]
    for start, end in pairwise([*starts, len(lines)]):
        match, body = _FUNCTION.match(lines[start]), lines[start + 1 : end]
        is_test = match is not None and (match[1] is None or _TEST_NAME.match(match[1]) is not None)
        title = lines[start].lower()
        called = {found for line in body for found in _CALL.findall(line)} if is_test else set()
        is_gone = any(name in gone and (not owner or name.lower() in title) for owner, name in called)
        kept += [] if is_gone else lines[start:end]
    return kept


def _joined(lost: Counter[str], gained: Counter[str]) -> Counter[str]:
    """Return the lost assertions that an equality of the whole value replaces; some of them must check parts."""
    has_equality = any(map(_EQUALITY.search, gained))
    surplus = lost.total() - gained.total()
    if not has_equality or surplus <= 0 or not any(map(_PARTIAL.search, lost)):
        return Counter()
    return Counter(list(lost.elements())[:surplus])


def _assertions(lines: Iterable[str]) -> Iterator[str]:
    return (line.strip() for line in lines if _ASSERTION.search(line) and not _SETUP.search(line))


def _count_disabled(lines: list[str], removed_lines: set[str]) -> int:
    """Count the added lines that disable a test that was there before."""
    count = 0
    starts = [position for position, line in enumerate(lines) if _FUNCTION.match(line[1:])]
    for position, line in enumerate(lines):
        if line[:1] != "+" or not _DISABLED.search(line[1:]):
            continue
        is_mark = line[1:].lstrip()[:1] in {"@", "#"}
        place = bisect_left(starts, position)
        near = starts[place : place + 1] if is_mark else starts[max(place - 1, 0) : place]
        owner = None if _FUNCTION.match(line[1:]) or not near else lines[near[0]]
        count += not (owner is not None and _is_new_test(owner, removed_lines))
    return count


def _is_new_test(line: str, removed_lines: set[str]) -> bool:
    match = _FUNCTION.match(line[1:])
    is_test = match is not None and (match[1] is None or _TEST_NAME.match(match[1]) is not None)
    return is_test and line[:1] == "+" and line[1:].strip() not in removed_lines
