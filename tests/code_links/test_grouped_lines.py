"""Lines of one answer of `why`: adjacent ones of a turn together, those that follow others with them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scopes.code_links.why import _group
from scopes.code_links.why_result import FoundLines


def line(number, turn, *, commit="c", level="certain"):
    """A line whose best edit is one of a turn, in a commit."""
    edit = SimpleNamespace(conversation="conv-001", turn=turn)
    match = SimpleNamespace(level=level, matches=[SimpleNamespace(edit=edit, has_short=False)])
    return FoundLines(number, number, match, SimpleNamespace(id=commit))


@pytest.mark.parametrize(
    ("turns", "groups"),
    [
        ("1 1 1", [(1, 3, 1)]),
        ("1 2", [(1, 1, 1), (2, 2, 2)]),
        ("1 s1 2", [(1, 2, 1), (3, 3, 2)]),  # short, of the turn above
        ("1 s2 2", [(1, 1, 1), (2, 3, 2)]),  # of the turn below
        ("1 s1 s2 s2 2", [(1, 2, 1), (3, 5, 2)]),
        ("1 s2 s1 2", [(1, 3, 1), (4, 4, 2)]),  # what is above one of the turn above stays there
        ("1 s2 1", [(1, 3, 1)]),  # of neither
        ("1 s3 2", [(1, 2, 1), (3, 3, 2)]),
        ("1 s2", [(1, 2, 1)]),  # nothing is below
        ("s1 s2 2", [(1, 1, 1), (2, 3, 2)]),
    ],
)
def test_a_line_that_follows_others_joins_those_above_or_those_below_if_it_is_of_their_turn(turns, groups):
    found = [(line(at, turn.strip("s")), "s" in turn) for at, turn in enumerate(turns.split(), 1)]
    joined = [(each.line, each.last_line, each.match.matches[0].edit.turn) for each in _group(found)]
    assert joined == [(first, last, str(turn)) for first, last, turn in groups]


def test_lines_of_two_commits_or_with_lines_between_them_are_not_joined():
    found = [(line(1, 1), False), (line(2, 1, commit="d"), True), (line(4, 1, commit="d"), True)]
    assert [(each.line, each.last_line) for each in _group(found)] == [(1, 1), (2, 2), (4, 4)]


@pytest.mark.parametrize(
    ("levels", "groups"),
    [
        ("certain sunsure", [(1, 2, "certain")]),
        ("commit-only slikely", [(1, 1, "commit-only"), (2, 2, "likely")]),  # no answer covers a surer one
        ("near slikely likely", [(1, 1, "near"), (2, 3, "likely")]),
        ("certain likely certain", [(1, 1, "certain"), (2, 2, "likely"), (3, 3, "certain")]),
    ],
)
def test_no_line_joins_an_answer_that_is_less_sure_than_its_own(levels, groups):
    words = levels.split()
    plain = [word.removeprefix("s") for word in words]
    found = [
        (line(at, 1, level=name), word != name) for at, (name, word) in enumerate(zip(plain, words, strict=True), 1)
    ]
    assert [(each.line, each.last_line, each.match.level) for each in _group(found)] == groups
