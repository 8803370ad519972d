"""Differences of two texts."""

from __future__ import annotations

from scopes.store.text_merge import diff_texts


def test_the_difference_of_two_texts_is_the_same_every_time():
    """libgit2 reads the texts when the patch is written: they were freed by then, and lines were lost or damaged."""
    old = "".join(f"line {number}\n" for number in range(20))
    new = old.replace("line 9\n", "".join(f"new {number}\n" for number in range(200)))
    found = {diff_texts(old, new, "base/a", "target/a") for _ in range(300)}
    assert len(found) == 1
    assert found.pop().count("\n+new ") == 200
