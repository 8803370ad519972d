"""`bisect`: the first bad message, by binary search along first parents."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.log import bisect
from scopes.conversation.merge import merge
from scopes.conversation.rebase import cherry_pick
from scopes.errors import NotFound, Refused
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.store import make_store
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
    assert len(judge.tested) <= 2 + 4


def test_the_ends_may_be_named(repository, drawn):
    judge = judging(drawn, "f")
    found = bisect(repository, "conv-001", judge, good="main~7", bad="main~2", verify=False)
    assert found.first_bad.subject == "f"
    assert set(judge.tested) <= set("defg")
    assert (found.good.head.subject, found.bad.head.subject) == ("c", "h")


@pytest.mark.parametrize(
    ("first_bad", "text"),
    [("z", "the bad end of the search, is good"), ("root", "the good end of the search, is")],
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


@settings(max_examples=examples(60), deadline=None)
@given(
    first_bad=st.integers(0, 9), skipped=st.sets(st.integers(0, 9)), ends=st.tuples(st.integers(0, 4), st.booleans())
)
def test_whatever_is_skipped_the_answer_is_found_or_among_the_candidates(repository_of_ten, first_bad, skipped, ends):
    """The candidates are the answer and skipped messages next to it, oldest first; no message is tested twice."""
    repository, drawn = repository_of_ten
    codes = {WORDS[number]: 125 for number in skipped}
    judge = judging(drawn, WORDS[first_bad], **codes)
    good = None if ends[0] == 0 or ends[0] > first_bad else f"main~{10 - ends[0]}"
    found = bisect(repository, "conv-001", judge, good=good, verify=False)
    names = [head.subject for head in found.candidates] or [found.first_bad.subject]
    assert WORDS[first_bad] in names
    assert "".join(names) in WORDS
    assert all(WORDS.index(name) in skipped for name in names[:-1])
    assert {head.subject for head in found.skipped} <= set(names)
    assert len(judge.tested) == len(set(judge.tested))


@pytest.fixture(scope="module")
def repository_of_ten(tmp_path_factory):
    """A store that all examples search; a search does not change it."""
    repository = make_store(tmp_path_factory.mktemp("bisect") / "store.git")
    return repository, history(repository, f"main: {' '.join(WORDS)}")


def test_messages_that_are_appended_during_a_search_are_not_searched(repository, drawn):
    """The ends are resolved before the first run of the command."""
    judge = judging(drawn, "f")

    def append_and_judge(point):
        say(repository, "conv-001", f"more {len(judge.tested)}")
        return judge(point)

    found = bisect(repository, "conv-001", append_and_judge)
    assert (found.first_bad.subject, found.bad.head.subject) == ("f", "j")


def test_a_message_with_one_id_in_two_conversations_is_searched_in_the_named_one(repository):
    drawn = history(repository, "main: a b c")
    history(repository, "main: x")
    cherry_pick(repository, "conv-002", [f"conv-001/{drawn.ids['b']}"])
    found = bisect(repository, "conv-002", lambda point: int(point.head is not None and point.head.subject == "b"))
    assert (found.first_bad.id, found.conversation) == (drawn.ids["b"], "conv-002")
    assert found.first_bad.oid != drawn.oids["b"]


def test_the_steps_are_the_runs_in_their_order_with_their_verdicts(repository, drawn):
    found = bisect(repository, "conv-001", judging(drawn, "g", e=125))
    assert [step.role for step in found.steps] == ["good", "bad", *[None] * (len(found.steps) - 2)]
    shown = {("root" if step.point.head is None else step.point.head.subject): step.verdict for step in found.steps}
    assert {verdict for name, verdict in shown.items() if name in {"root", *"abcdf"}} == {"good"}
    assert {verdict for name, verdict in shown.items() if name in set("ghij")} == {"bad"}
    assert shown["e"] == "skip"
    assert len(shown) == len(found.steps)
