from __future__ import annotations

from dataclasses import replace

from scopes.conversation.diff import ChangedClaim
from tests.render.rendering import seen_lines
from tests.render.results import DIFFERENCE


def _claim(key, left, right, changed_in=None):
    sides = {"in_left": left is not None, "in_right": right is not None}
    return ChangedClaim(key=key, agent=None, left=left, right=right, changed_in=changed_in, **sides)


def test_only_what_both_sides_changed_differs_and_the_rest_is_counted():
    """A fresh fork had 'claims that differ', each with the same text twice."""
    edit = {"operation": "edit"}
    claims = (
        _claim("decisions/size", "2000", "20000"),
        _claim("decisions/db", None, "SQLite", "right"),
        _claim("files/a.py", edit, {"operation": "create"}, "left"),
        _claim("files/b.py", edit, edit, "left"),
        _claim("files/c.py", edit, {**edit, "by": "x"}),
    )
    lines = seen_lines(replace(DIFFERENCE, claims=claims, changed=()))
    assert "Claims that differ: 1" in lines
    assert "Changed on both sides (merge --dry-run compares the contents): 1" in lines
    assert lines[lines.index("Changed on both sides (merge --dry-run compares the contents): 1") + 1] == "  files/c.py"
    assert "Changed only in main: 2 files" in lines
    assert "Changed only in fix: 1 decision" in lines
    start = lines.index("Changed only in main: 2 files") + 1
    assert lines[start : start + 2] == ["  a.py", "  b.py"]
    assert lines[lines.index("Changed only in fix: 1 decision") + 1] == "  decisions/db: SQLite"
    assert sum("a.py" in line or "b.py" in line for line in lines) == 2


def test_what_one_side_changed_is_named_up_to_three_claims_and_ten_files():
    """`1 decision` did not tell which."""
    decisions = [_claim(f"decisions/{name}", "old" if name == "d1" else None, None, "right") for name in ("d1",)]
    decisions += [_claim(f"decisions/{name}", None, "new", "right") for name in ("d2", "d3", "d4", "d5")]
    files = [_claim(f"files/{name}.py", None, {"operation": "edit"}, "right") for name in "abcdefghijkl"]
    lines = seen_lines(replace(DIFFERENCE, claims=(*decisions, *files), changed=()))
    start = lines.index("Changed only in fix: 5 decisions, 12 files") + 1
    assert lines[start : start + 15] == [
        "  decisions/d1: removed",
        "  decisions/d2: new",
        "  decisions/d3: new",
        "  and 2 more",
        *(f"  {name}.py" for name in "abcdefghij"),
        "  and 2 more",
    ]


def test_a_long_value_is_wrapped_between_words():
    """A terminal broke it within a word."""
    value = " ".join(["sessions are kept on the server"] * 4)
    claim = ChangedClaim(
        key="decisions/auth",
        agent=None,
        left=value,
        right="none",
        in_left=True,
        in_right=True,
    )
    lines = seen_lines(replace(DIFFERENCE, claims=(claim,), changed=()), 80)
    start = next(number for number, line in enumerate(lines) if line.startswith("  - sessions"))
    rows = lines[start : start + 2]
    assert max(map(len, lines)) <= 80
    assert rows[1].startswith("    ")
    assert " ".join(row.strip(" -") for row in rows) == value
