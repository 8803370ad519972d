"""Differences of two texts."""

from __future__ import annotations

import pytest

from scopes.store.text_merge import diff_texts, list_line_changes, merge_texts


def test_the_difference_of_two_texts_is_the_same_every_time():
    """libgit2 reads the texts when the patch is written: they were freed by then, and lines were lost or damaged."""
    old = "".join(f"line {number}\n" for number in range(20))
    new = old.replace("line 9\n", "".join(f"new {number}\n" for number in range(200)))
    found = {diff_texts(old, new, "base/a", "target/a") for _ in range(300)}
    assert len(found) == 1
    assert found.pop().count("\n+new ") == 200


@pytest.mark.parametrize("other", ["\udfffx", "?", "\ufffd", "\U0010fffd00d800", "\U0010fffd"])
def test_lone_surrogates_differ_from_every_other_text(other):
    """They were compared as question marks."""
    one, two = "a\n\ud800\nb\n", f"a\n{other}\nb\n"
    assert list_line_changes(one, two)
    assert f"-\ud800\n+{other}\n" in diff_texts(one, two, "base/a", "target/a")
    assert merge_texts("a\nx\nb\n", one, two).conflicts


@pytest.mark.parametrize("line", ["\ud800", "\udfff\ud800", "\U0010fffd", "\U0010fffd00d800"])
def test_a_merged_text_keeps_lone_surrogates(line):
    base = f"{line}\n1\n2\n3\n4\n5\n"
    merged = merge_texts(base, base.replace("1", f"1{line}"), base.replace("5", line))
    assert merged == (f"{line}\n1{line}\n2\n3\n4\n{line}\n", False)


@pytest.mark.parametrize(("target", "source"), [("", "a\n"), ("a\n", ""), ("", "")])
def test_a_merged_text_may_be_empty(target, source):
    """pygit2 raised an error."""
    assert merge_texts("a\n", target, source) == ("", False)
