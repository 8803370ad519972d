"""Comparisons in a program: range-diff, bisect with a function as judge, contexts of earlier messages, their diff."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import pytest

import scopes

WORDS = ("one", "two", "it is broken", "four", "five")


@pytest.fixture
def searched(conversation):
    """A conversation in which the fourth message of six is the first with the word broken."""
    for text in WORDS:
        conversation.append("main", text)
    return conversation


@pytest.fixture
def rebased(conversation):
    """A conversation in which fix was rebased onto a longer main."""
    conversation.append("fix", "on fix")
    conversation.append("main", "on main")
    conversation.run("conv", "rebase", f"{conversation.id}/fix", "--onto", "main")
    return conversation


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("main", "fix@{1}", "fix"), 0),
        (("main~1..fix@{1}", "main..fix"), 0),
        (("main...fix",), 1),
        (("main", "fix"), 1),
        (("fix@{1}", "fix"), 1),
    ],
)
def test_two_ranges_are_compared_as_on_the_command_line(rebased, same, names, code):
    same(("range-diff", rebased.id, *names), lambda talk: talk.range_diff(*names), code=code)


def test_the_pairs_of_a_range_diff_are_read_as_values(rebased, talk):
    rebased.append("fix", "three")
    found = talk.range_diff("main", "fix@{1}", "fix")
    assert isinstance(found, scopes.RangeDifference)
    assert [(pair.mark, pair.new.subject) for pair in found.pairs] == [("=", "on fix"), (">", "three")]
    assert {type(pair) for pair in found.pairs} == {scopes.RangePair}


def test_the_changed_lines_can_be_left_out(rebased, talk, same):
    for name, text in (("x", "one two three four"), ("y", "one two three five")):
        rebased.run("conv", "branch", rebased.id, name)
        rebased.append(name, text)
    shown = same(("range-diff", rebased.id, "x", "y"), lambda talk: talk.range_diff("x", "y"), code=1)
    assert shown.pairs[0].lines[-1] == "+one two three five"
    assert talk.range_diff("x", "y", patch=False).pairs == (replace(shown.pairs[0], lines=()),)


def test_two_runs_in_two_conversations_are_compared(store):
    for title, answer in (("run 1", "It is the cookie."), ("run 2", "It is the clock.")):
        run = store.new(title)
        run.append("Why does the login fail?")
        run.append(answer, author="codex")
    names = [conversation.id for conversation in store.conversations()][-2:]
    found = store.conversation(names[0]).range_diff(*names)
    assert [pair.mark for pair in found.pairs] == ["=", "!"]
    assert [found.old.conversation, found.new.conversation] == names


def test_names_that_are_no_range_are_refused(rebased, talk):
    with pytest.raises(scopes.Invalid, match=r"A\.\.B C\.\.D"):
        talk.range_diff("main")
    with pytest.raises(scopes.NotFound):
        talk.range_diff("main", "none")


def is_good(talk):
    """Return a judge that finds the context up to a message good if nothing is broken in it."""
    return lambda point: "broken" not in talk.context(at=point.oid).formatted_history


def test_a_function_judges_as_a_command_does(searched, same):
    command = ("--", sys.executable, "-c", "import sys; sys.exit('broken' in sys.stdin.read())")
    found = same(("bisect", searched.id, *command), lambda talk: talk.bisect(is_good(talk)))
    assert isinstance(found, scopes.Bisection)
    assert found.first_bad.subject == "it is broken"
    assert [step.role for step in found.steps[:2]] == ["good", "bad"]


def test_a_judge_gets_the_header_of_a_message_and_none_before_the_first(searched, talk):
    seen = []

    def judge(point):
        seen.append(None if point.head is None else point.head.subject)
        return seen[-1] is None or seen[-1] in WORDS[:2] or "How" in seen[-1]

    assert talk.bisect(judge).first_bad.subject == "it is broken"
    assert seen[:2] == [None, "five"]


def test_a_judge_may_look_at_the_whole_message(searched, store, talk):
    def judge(point):
        return point.head is None or "broken" not in store.message(point.head.id).message.text

    assert talk.bisect(judge, bad="main~2").first_bad.subject == "it is broken"


def test_messages_that_cannot_be_tested_hide_the_first_bad_one(searched, talk):
    found = talk.bisect(lambda point: point.head is None or (False if point.head.subject == "five" else None))
    assert (found.first_bad, found.exit_code, len(found.skipped)) == (None, 1, 5)
    assert [head.subject for head in found.candidates][-2:] == ["four", "five"]


def test_the_ends_of_the_search_can_be_named_and_their_check_left_out(searched, talk):
    tested = []

    def judge(point):
        tested.append(point.head.subject)
        return point.head.subject in WORDS[:2]

    assert talk.bisect(judge, branch="main", good="main~4", bad="main~1", verify=False).first_bad.subject == (
        "it is broken"
    )
    assert set(tested) <= {"two", "it is broken"}


def test_an_end_that_is_not_what_it_should_be_is_refused(searched, talk):
    with pytest.raises(scopes.Refused, match="the bad end of the search, is good"):
        talk.bisect(lambda _point: True)
    with pytest.raises(scopes.Refused, match="not on the line of first parents"):
        talk.bisect(lambda _point: True, good="main", bad="main~2")


@pytest.mark.parametrize("verdict", [0, 1, "good", 125])
def test_a_judge_that_returns_an_exit_code_is_a_mistake(searched, talk, verdict):
    """0 is good for a command and false in Python."""
    with pytest.raises(TypeError, match=re.escape("True (good), False (bad) or None")):
        talk.bisect(lambda _point: verdict)


def test_an_exception_of_the_judge_ends_the_search(searched, talk):
    def judge(_point):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        talk.bisect(judge)


def test_a_context_of_an_earlier_message_is_that_of_the_command_line(searched, talk):
    built = talk.context(at="main~2", max_tokens=4000)
    printed = searched.run("context", f"{searched.id}/main~2", "--max-tokens", "4000", "--json")
    assert [turn.text for turn in built.messages] == [turn["text"] for turn in printed["messages"]]
    assert built.messages[-1].text == "it is broken"
