"""The evidence of records in words: each fact once, and every call that made or amended the commit."""

from __future__ import annotations

import pytest

from scopes.code_links.link import CodeLink, CommitId
from scopes.code_links.recorded_evidence import SHELL, RecordedFact, with_evidence
from scopes.ids import ConversationId, MessageId

FIRST, AMENDED, REBASED = (CommitId(digit * 40) for digit in "abc")
MOVED = ", in which HEAD moved to it"


def fact(commit, detour="", *, turn=1, call_id=None):
    """Return what a hook recorded, or with a call what the end of a turn did."""
    return RecordedFact(commit, detour, call_id is None, turn, turn and MessageId(f"m{turn}"), call_id)


def worded(*facts):
    link = CodeLink(commit=REBASED, conversation=ConversationId("conv-001"), role="made", level="certain", turn=1)
    return with_evidence(link, facts)


def texts(*facts):
    return [each.text for each in worded(*facts).evidence]


def test_a_commit_that_was_amended_and_rebased_names_each_fact_once():
    """It had two sentences for each of its earlier forms, and the turn that amended it was not named."""
    facts = [
        fact(FIRST, "rewritten"), fact(FIRST, "rewritten", call_id="c1"),
        fact(AMENDED, "rewritten", turn=2), fact(AMENDED, "rewritten", turn=2, call_id="c2"),
    ]  # fmt: skip
    assert texts(*facts) == [
        f"{SHELL}, rewritten from aaaaaaaa, bbbbbbbb",
        "recorded in turn 1, in which HEAD moved to aaaaaaaa", "recorded in turn 2, in which HEAD moved to bbbbbbbb",
    ]  # fmt: skip
    link = worded(*facts)
    assert [each.call_id for each in link.evidence] == [None, "c1", "c2"]
    assert link.turns == ((1, "m1"), (2, "m2"))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([fact(REBASED)], [SHELL]),
        ([fact(REBASED, call_id="c1")], [f"recorded in this turn{MOVED}"]),
        ([fact(REBASED), fact(REBASED, call_id="c1")], [SHELL, f"recorded in this turn{MOVED}"]),
        ([fact(FIRST, "same")], [f"{SHELL}; aaaaaaaa has the same author, time and subject"]),
        (
            [fact(FIRST, "same"), fact(AMENDED, "same")],
            [f"{SHELL}; aaaaaaaa, bbbbbbbb have the same author, time and subject"],
        ),
        ([fact(AMENDED, "same", turn=2), fact(REBASED)], [SHELL]),
    ],
)
def test_the_words_of_the_records_of_a_commit(facts, expected):
    assert texts(*facts) == expected


def test_who_only_made_a_commit_with_the_same_subject_did_not_make_this_one():
    assert worded(fact(FIRST), fact(AMENDED, "same", turn=2)).turns == ((1, "m1"),)


def test_a_record_of_an_unknown_turn_names_none():
    link = worded(fact(REBASED, turn=None, call_id="c1"))
    assert ([each.text for each in link.evidence], link.turns) == ([f"recorded in this turn{MOVED}"], ())


def test_a_turn_that_began_in_the_second_of_a_commit_did_not_make_what_a_shell_made_in_another_one():
    """Git records whole seconds: both turns had the commit, and both were called certain."""
    link = worded(fact(REBASED), fact(REBASED, call_id="c1"), fact(REBASED, turn=2, call_id="c2"))
    assert [each.text for each in link.evidence] == [SHELL, f"recorded in this turn{MOVED}"]
    assert link.turns == ((1, "m1"),)


def test_a_turn_counts_of_a_commit_of_which_no_shell_knows_the_turn():
    unknown, amended = fact(REBASED, turn=None), fact(AMENDED, "rewritten", turn=2, call_id="c2")
    assert worded(unknown, fact(REBASED, turn=2, call_id="c2")).turns == ((2, "m2"),)
    assert worded(fact(FIRST, "rewritten"), amended).turns == ((1, "m1"), (2, "m2")), "that is another commit"


def test_a_turn_without_a_call_did_not_make_what_a_person_rewrote_in_it():
    """`git rebase -i` with reword, just after the turn, gave it the commit of an earlier one."""
    moved = RecordedFact(REBASED, "", False, 3, MessageId("m3"), None)
    assert worded(fact(FIRST, "rewritten", turn=2), moved).turns == ((2, "m2"),)
    assert worded(fact(FIRST, "rewritten", turn=2), moved._replace(call_id="c3")).turns == ((2, "m2"), (3, "m3"))
    assert worded(moved).turns == ((3, "m3"),)
