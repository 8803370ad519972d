"""`bisect`: the first bad message, by binary search along first parents."""

from __future__ import annotations

import pytest

from scopes.conversation.bisect import bisect, count_steps
from scopes.conversation.merge import merge
from scopes.errors import NotFound, Refused
from tests.support.history import history
from tests.support.tool_calls import call_tool

WORDS = "abcdefghij"


@pytest.fixture
def drawn(repository):
    """A branch with ten messages."""
    return history(repository, f"main: {' '.join(WORDS)}")


def judging(drawn, first_bad, **codes):
    """Return a judge for which all messages from `first_bad` on are bad; `codes` are the exit codes of single ones."""
    words = {oid: word for word, oid in drawn.oids.items()}
    tested = []

    def judge(point):
        word = words.get(point.oid, "root")
        tested.append(word)
        return codes.get(word, int(word != "root" and word >= first_bad))

    judge.tested = tested
    return judge


@pytest.mark.parametrize("first_bad", WORDS)
def test_the_first_bad_message_is_found_wherever_it_is(repository, drawn, first_bad):
    judge = judging(drawn, first_bad)
    found = bisect(repository, "conv-001", judge)
    assert (found.first_bad.subject, found.exit_code, found.candidates) == (first_bad, 0, ())
    assert judge.tested[:2] == ["root", "j"]
    assert len(judge.tested) <= 2 + count_steps(10)


def test_the_ends_may_be_named(repository, drawn):
    judge = judging(drawn, "f")
    found = bisect(repository, "conv-001", judge, good="main~7", bad="main~2", verify=False)
    assert found.first_bad.subject == "f"
    assert set(judge.tested) <= set("defg")
    assert (found.good.head.subject, found.bad.head.subject) == ("c", "h")


@pytest.mark.parametrize(
    ("first_bad", "text"),
    [("z", "is said to be bad, but the command calls it good"), ("root", "said to be good, but the command calls it")],
)
def test_an_end_that_the_judge_contradicts_is_refused(repository, drawn, first_bad, text):
    codes = {"root": 3} if first_bad == "root" else {}
    with pytest.raises(Refused, match=text):
        bisect(repository, "conv-001", judging(drawn, first_bad, **codes))


def test_a_skipped_message_is_stepped_over(repository, drawn):
    found = bisect(repository, "conv-001", judging(drawn, "h", e=125, f=125))
    assert (found.first_bad.subject, found.skipped) == ("h", ())


def test_skipped_messages_that_hide_the_answer_are_listed(repository, drawn):
    found = bisect(repository, "conv-001", judging(drawn, "f", e=125, f=125))
    assert (found.first_bad, found.exit_code) == (None, 1)
    assert [head.subject for head in found.candidates] == ["e", "f", "g"]
    assert [head.subject for head in found.skipped] == ["e", "f"]


@pytest.mark.parametrize("code", [128, 255, -9])
def test_a_high_exit_code_or_a_signal_stops_the_search(repository, drawn, code):
    with pytest.raises(Refused, match="stopped the search at message"):
        bisect(repository, "conv-001", judging(drawn, "f", e=code))


@pytest.mark.parametrize("code", [1, 124, 126, 127])
def test_other_exit_codes_are_bad_as_in_git(repository, drawn, code):
    codes = dict.fromkeys("fghij", code)
    assert bisect(repository, "conv-001", judging(drawn, "z", **codes)).first_bad.subject == "f"


def test_only_first_parents_are_searched(repository):
    drawn = history(repository, "main: a b", "fix@a: c d")
    merge(repository, "conv-001", "fix", target="main")
    judge = judging(drawn, "z")
    found = bisect(repository, "conv-001", lambda point: int(point.head is not None and len(point.head.parents) > 1))
    assert found.first_bad.kind == "merge"
    with pytest.raises(Refused, match="not on the line of first parents"):
        bisect(repository, "conv-001", judge, good="fix")


def test_names_that_are_not_there_are_not_found(repository, drawn):
    with pytest.raises(NotFound):
        bisect(repository, "conv-001", judging(drawn, "f"), bad="nowhere")
    with pytest.raises(Refused, match="no message between"):
        bisect(repository, "conv-001", judging(drawn, "f"), good="main", bad="main")


@pytest.mark.parametrize(
    ("first_bad", "skipped", "candidates"),
    [
        ("a", "", ""),
        ("a", "bcdefghi", ""),
        ("j", "i", "ij"),
        ("j", "abcdefghi", "abcdefghij"),
        ("b", "a", "ab"),
        ("f", "dg", ""),
        ("f", "gh", ""),
    ],
)
def test_skipped_messages_at_the_borders_hide_the_answer_only_before_it(
    repository, drawn, first_bad, skipped, candidates
):
    found = bisect(repository, "conv-001", judging(drawn, first_bad, **dict.fromkeys(skipped, 125)))
    assert "".join(head.subject for head in found.candidates) == candidates
    assert (found.first_bad and found.first_bad.subject) == (None if candidates else first_bad)
    assert found.exit_code == (1 if candidates else 0)


def test_no_message_is_tested_twice(repository, drawn):
    judge = judging(drawn, "d", **dict.fromkeys("cef", 125))
    bisect(repository, "conv-001", judge)
    assert len(judge.tested) == len(set(judge.tested))


def test_messages_with_tool_calls_only_are_named_by_their_calls(repository):
    history(repository, "main: a")
    call_tool(repository, "conv-001/main", "Bash", {"command": "make test"})
    seen = []
    found = bisect(
        repository, "conv-001", lambda point: 0 if point.head is None else 1, on_step=lambda p, _: seen.append(p.head)
    )
    assert found.first_bad.subject == "a"
    result = bisect(repository, "conv-001", lambda point: int(point.oid == found.bad.oid), verify=False)
    assert result.first_bad.subject == "result of → Bash make test"
    assert next(head.subject for head in seen if head is not None) == "result of → Bash make test"
    skipped = bisect(repository, "conv-001", lambda point: 125, verify=False)
    assert [head.subject for head in skipped.candidates] == ["a", "→ Bash make test", "result of → Bash make test"]
