"""A candidate becomes one decision, whoever accepts it, on whichever branch, and however often."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch, switch
from scopes.conversation.changes import changes
from scopes.conversation.decisions import decisions, withdraw_decision
from scopes.conversation.merge import Merged, merge
from scopes.conversation.new_rename_delete import delete_branch, rename_branch, rename_conversation
from scopes.conversation.rebase import rebase
from scopes.conversation.undo import redo, undo
from scopes.errors import Invalid, NotFound, Refused
from scopes.memory.decision_candidates import accept_candidate, dismiss_candidate, list_candidates
from scopes.model.message import Author
from tests.support.decisions import decided
from tests.support.history import history, say
from tests.support.store import assert_sound, overtake

CAROL, DAVE = Author("carol", "human"), Author("dave", "agent")


@pytest.fixture
def sentence(repository):
    """The id of a candidate on main; the branch fix begins before its message."""
    history(repository, "main: a", "fix@a: x")
    return say(repository, "conv-002/main", "We decided to use SQLite.").id + ".1"


def accepted(repository, name, *, where="conv-002", author=CAROL, topic="db", **options):
    return accept_candidate(repository, where, name, topic=topic, author=author, **options)


def listed(repository, where="conv-002"):
    return [each.id for each in list_candidates(repository, where).candidates]


def count_decisions(repository):
    return len(decisions(repository, "conv-002").decisions)


def test_the_second_who_accepts_a_candidate_learns_who_was_first(repository, sentence):
    """Two decisions with one text looked like two opinions."""
    first = accepted(repository, sentence)
    with pytest.raises(Refused, match="was accepted already by carol") as error:
        accepted(repository, sentence, author=DAVE)
    assert error.value.exit_code == 1
    assert error.value.hint == f"see the decision: scopes cat conv-002/{first.id}"
    assert count_decisions(repository) == 1


@pytest.mark.parametrize("options", [{"where": "conv-002/main"}, {"branch": "fix"}, {"topic": "storage"}])
def test_a_candidate_is_accepted_once_whatever_branch_or_topic_is_named(repository, sentence, options):
    accepted(repository, sentence)
    with pytest.raises(Refused, match="accepted already"):
        accepted(repository, sentence, author=DAVE, **options)
    assert count_decisions(repository) == 1


def test_what_was_accepted_on_another_branch_is_no_candidate_of_this_one(repository, sentence):
    """With CONV/BRANCH only the decisions in the history of that branch counted."""
    accepted(repository, sentence, branch="fix")
    assert listed(repository, "conv-002/main") == []
    with pytest.raises(Refused, match="accepted already"):
        accepted(repository, sentence, where="conv-002/main")


@pytest.mark.parametrize("branch_of_other", ["main", "fix"])
def test_of_two_people_who_accept_at_one_moment_the_second_is_refused(repository, sentence, branch_of_other):
    """Dave accepts it after carol's command has read the candidates, and before it writes."""
    overtake(repository, lambda store: accepted(store, sentence, author=DAVE, branch=branch_of_other))
    with pytest.raises(Refused, match="accepted already by dave"):
        accepted(repository, sentence)
    assert count_decisions(repository) == 1
    assert_sound(repository)


def test_a_candidate_that_is_dismissed_meanwhile_is_not_accepted(repository, sentence):
    overtake(repository, lambda store: dismiss_candidate(store, "conv-002", sentence, author=DAVE))
    with pytest.raises(Refused, match="dismissed already"):
        accepted(repository, sentence)
    assert count_decisions(repository) == 0


def test_a_message_of_somebody_else_meanwhile_does_not_stop_an_acceptance(repository, sentence):
    overtake(repository, lambda store: say(store, "conv-002/main", "hurry"))
    accepted(repository, sentence)
    assert decided(repository, "conv-002/main") == ["We decided to use SQLite."]
    assert_sound(repository)


def test_a_candidate_can_be_accepted_again_after_undo_and_not_after_redo(repository, sentence):
    accepted(repository, sentence)
    undo(repository)
    assert listed(repository) == [sentence]
    accepted(repository, sentence, topic="storage")
    assert [row.topic for row in decisions(repository, "conv-002").decisions] == ["storage"]
    undo(repository)
    redo(repository)
    with pytest.raises(Refused, match="accepted already"):
        accepted(repository, sentence)
    assert count_decisions(repository) == 1


def test_undo_leaves_a_message_that_came_after_the_acceptance(repository, sentence):
    accepted(repository, sentence)
    say(repository, "conv-002/main", "good")
    undo(repository)
    with pytest.raises(Refused, match="accepted already"):
        accepted(repository, sentence)


def test_an_acceptance_is_one_operation_and_one_appended_message(repository, sentence):
    """S4-49."""
    result = accepted(repository, sentence)
    (change,) = [each for each in changes(repository, "conv-002", field="messages").items if each.source == result.id]
    assert (change.operation, change.cause) == ("APPEND", "user:carol")
    undone = undo(repository)
    assert (undone.target.kind, undone.target.summary) == ("accept", "accept a decision candidate of conv-002")


def test_a_retracted_acceptance_counts_where_it_was_not_retracted(repository, sentence):
    """The branch other still has the decision, so that a second one would repeat it there."""
    first = accepted(repository, sentence)
    branch(repository, "conv-002", name="other", start="main", switch=False)
    retract(repository, "conv-002", first.id, "", author=CAROL, branch="main")
    assert decided(repository, "conv-002/other") == ["We decided to use SQLite."]
    with pytest.raises(Refused, match="accepted already"):
        accepted(repository, sentence)
    retract(repository, "conv-002", first.id, "", author=CAROL, branch="other")
    accepted(repository, sentence)
    assert decided(repository, "conv-002/main") == ["We decided to use SQLite."]


def test_a_withdrawn_decision_is_still_what_became_of_its_candidate(repository, sentence):
    accepted(repository, sentence)
    withdraw_decision(repository, "conv-002", "db", author=CAROL)
    assert listed(repository) == []
    with pytest.raises(Refused, match="accepted already"):
        accepted(repository, sentence)


def test_a_candidate_is_free_again_when_the_only_branch_with_its_decision_is_deleted(repository, sentence):
    accepted(repository, sentence, branch="fix")
    delete_branch(repository, "conv-002", "fix", force=True)
    assert listed(repository) == [sentence]
    undo(repository)
    assert listed(repository) == []


def test_a_merged_acceptance_is_one_decision(repository, sentence):
    accepted(repository, sentence, branch="fix")
    assert isinstance(merge(repository, "conv-002", "fix", target="main"), Merged)
    assert decided(repository, "conv-002/main") == ["We decided to use SQLite."]
    with pytest.raises(Refused, match="accepted already"):
        accepted(repository, sentence)


def test_a_rebased_acceptance_still_counts(repository, sentence):
    accepted(repository, sentence, branch="fix")
    rebase(repository, "conv-002", branch="fix", onto="main")
    assert listed(repository) == []
    with pytest.raises(Refused, match="accepted already"):
        accepted(repository, sentence)


def test_renamed_branches_and_conversations_keep_what_was_accepted_and_dismissed(repository, sentence):
    second = say(repository, "conv-002/fix", "We agreed on tabs.").id + ".1"
    accepted(repository, sentence)
    dismiss_candidate(repository, "conv-002", second, author=DAVE)
    rename_branch(repository, "conv-002", "fix", "style")
    rename_conversation(repository, "conv-002", "safari")
    assert listed(repository, "safari") == []
    with pytest.raises(Refused, match="accepted already"):
        accepted(repository, sentence, where="safari")
    with pytest.raises(Refused, match="dismissed already"):
        accepted(repository, second, where="safari")


def test_a_dismissed_candidate_is_neither_accepted_nor_dismissed_again(repository, sentence):
    dismiss_candidate(repository, "conv-002", sentence, reason="a quotation", author=DAVE)
    for again in (
        lambda: accepted(repository, sentence),
        lambda: dismiss_candidate(repository, "conv-002", sentence, author=CAROL),
    ):
        with pytest.raises(Refused, match="dismissed already") as error:
            again()
        assert error.value.hint.endswith("to undo it: scopes op -a")
    assert decided(repository, "conv-002/main") == []


def test_an_accepted_candidate_is_not_dismissed(repository, sentence):
    accepted(repository, sentence)
    with pytest.raises(Refused, match="accepted already by carol"):
        dismiss_candidate(repository, "conv-002", sentence, author=DAVE)
    assert decided(repository, "conv-002/main") == ["We decided to use SQLite."]


def test_a_prefix_names_the_candidate_of_a_message_that_is_left(repository, sentence):
    both = say(repository, "conv-002/main", "We decided to use tabs. We agreed on pytest.").id
    accepted(repository, f"{both}.1", topic="style")
    assert accepted(repository, both[:8], topic="tests").candidate.text == "We agreed on pytest."
    with pytest.raises(Refused, match="accepted already"):
        accepted(repository, both[:8])


def test_each_branch_has_its_candidate_if_two_messages_say_the_same(repository, sentence):
    """Two people who said it are two sentences: to accept both is agreement and no conflict."""
    other = say(repository, "conv-002/fix", "We decided to use SQLite.").id + ".1"
    accepted(repository, sentence)
    accepted(repository, other, author=DAVE)
    assert isinstance(merge(repository, "conv-002", "fix", target="main"), Merged)
    assert decided(repository, "conv-002/main") == ["We decided to use SQLite."]


def test_an_amended_sentence_is_a_new_candidate(repository, sentence):
    accepted(repository, sentence)
    amend(repository, "conv-002", sentence[:-2], "We decided to use Postgres.", author=CAROL)
    (new,) = listed(repository)
    assert new != sentence
    accepted(repository, new)
    assert decided(repository, "conv-002/main") == ["We decided to use Postgres."]


def test_a_candidate_is_accepted_on_the_branch_that_it_is_on_and_not_on_the_active_one(repository, sentence):
    switch(repository, "conv-002", "fix")
    assert accepted(repository, sentence).branch == "main"
    assert decided(repository, "conv-002/fix") == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"branch": "nowhere"}, NotFound),
        ({"where": "conv-002/nowhere"}, NotFound),
        ({"where": "conv-009"}, NotFound),
        ({"topic": " \t"}, Invalid),
        ({"author": Author("", "human")}, Invalid),
    ],
)
def test_a_refused_acceptance_writes_nothing(repository, sentence, options, error):
    before = repository.list_refs()
    with pytest.raises(error):
        accepted(repository, sentence, **options)
    assert repository.list_refs() == before


@pytest.mark.parametrize("accepts", [None, 5, ["x"], {"id": "x"}, "", "\x1b[31m\u202e", "x" * 100_000])
def test_a_received_decision_may_name_anything_as_its_candidate(repository, sentence, accepts):
    """A store that somebody else made has decisions with any `accepts`."""
    decision = {"topic": "os", "decision": "linux"}
    say(repository, "conv-002/main", "we use linux", kind="decision", decision=decision, accepts=accepts)
    assert listed(repository) == [sentence]
    with pytest.raises(NotFound):
        accepted(repository, "zzzz")
    accepted(repository, sentence)
    assert decided(repository, "conv-002/main") == ["We decided to use SQLite.", "linux"]


def test_a_merge_with_an_acceptance_can_be_redone(repository, sentence):
    accepted(repository, sentence)
    assert isinstance(merge(repository, "conv-002", "main", target="fix"), Merged)
    undo(repository)
    redo(repository)
    assert count_decisions(repository) == 1
