"""Decisions in the text of messages are candidates until somebody accepts or dismisses them."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.decisions import decisions
from scopes.conversation.merge import MergeConflicted, Merged, merge
from scopes.conversation.new_rename_delete import rename_branch
from scopes.conversation.show import cat
from scopes.conversation.store import gc
from scopes.conversation.undo import undo
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.memory.decision_candidates import accept_candidate, dismiss_candidate, list_candidates
from scopes.model.message import Author
from tests.support.decisions import decided
from tests.support.history import history, say

CAROL = Author("carol", "human")
PERSON = {"name": "carol", "kind": "human"}


@pytest.fixture
def branches(repository):
    return history(repository, "main: a", "fix@a: x")


def listed(repository, where="conv-002"):
    return [(each.text, each.branch, each.why) for each in list_candidates(repository, where).candidates]


def accepted(repository, name, topic="db", **options):
    return accept_candidate(repository, "conv-002", name, topic=topic, author=CAROL, **options)


def test_candidates_have_text_message_branch_and_why(repository, branches):
    first = say(
        repository, "conv-002/main", "It was slow. We decided to use SQLite. Is that agreed on? We agreed on tabs."
    )
    say(repository, "conv-002/fix", "Let's use Postgres.", author=PERSON)
    say(repository, "conv-002/fix", "Let's use MySQL.", author="codex")
    assert listed(repository) == [
        ("We decided to use SQLite.", "main", "states a decision"),
        ("We agreed on tabs.", "main", "states a decision"),
        ("Let's use Postgres.", "fix", "choice of a person"),
    ]
    assert [each.id for each in list_candidates(repository, "conv-002/main").candidates] == [
        f"{first.id}.1",
        f"{first.id}.2",
    ]
    assert listed(repository, "conv-002/fix") == [("Let's use Postgres.", "fix", "choice of a person")]


def test_a_typed_decision_is_not_a_candidate(repository, branches):
    say(repository, "conv-002", "We decided", kind="decision", decision={"topic": "db", "decision": "we decided on it"})
    assert listed(repository) == []


def test_to_accept_a_candidate_appends_a_decision_that_names_its_message(repository, branches):
    source = say(repository, "conv-002/fix", "We decided to use SQLite.")
    result = accepted(repository, source.id)
    message = cat(repository, f"conv-002/{result.id}").message
    assert (message.kind, message.author, message.reply_to) == ("decision", CAROL, source.id)
    assert message.payload == {"topic": "db", "decision": "We decided to use SQLite."}
    assert (result.branch, message.extra) == ("fix", {"accepts": f"{source.id}.1"})
    assert listed(repository) == []
    assert decided(repository, "conv-002/fix") == ["We decided to use SQLite."]
    assert [row.topic for row in decisions(repository, "conv-002").decisions] == ["db"]


def test_undo_takes_back_what_was_accepted(repository, branches):
    source = say(repository, "conv-002/main", "We decided to use SQLite.")
    accepted(repository, source.id)
    undo(repository)
    assert len(listed(repository)) == 1
    assert decided(repository, "conv-002/main") == []


def test_a_retracted_acceptance_makes_it_a_candidate_again(repository, branches):
    source = say(repository, "conv-002/main", "We decided to use SQLite.")
    result = accepted(repository, source.id)
    retract(repository, "conv-002", result.id, "", author=CAROL)
    assert len(listed(repository)) == 1


def test_a_dismissed_candidate_is_not_listed_until_that_is_undone(repository, branches):
    source = say(repository, "conv-002/main", "We decided to use SQLite. We agreed on tabs.")
    with pytest.raises(Ambiguous, match="2 candidates"):
        dismiss_candidate(repository, "conv-002", source.id, author=CAROL)
    dismiss_candidate(repository, "conv-002", f"{source.id[:6]}.1", reason="a joke", author=CAROL)
    assert [text for text, _, _ in listed(repository)] == ["We agreed on tabs."]
    rename_branch(repository, "conv-002", "fix", "other")
    assert len(listed(repository)) == 1
    undo(repository)
    undo(repository)
    assert len(listed(repository)) == 2


def test_a_dismissed_candidate_stays_dismissed_after_an_expire(repository, branches):
    sentence = say(repository, "conv-002/main", "We decided to use SQLite.").id + ".1"
    dismiss_candidate(repository, "conv-002", sentence, author=CAROL)
    gc(repository, expire_before="now")
    assert listed(repository) == []
    with pytest.raises(Refused, match="dismissed already"):
        accept_candidate(repository, "conv-002", sentence, author=CAROL)


def test_merges_compare_only_what_was_accepted(repository, branches):
    ours = say(repository, "conv-002/main", "We decided to use SQLite.")
    theirs = say(repository, "conv-002/fix", "We decided to use Postgres.")
    assert isinstance(merge(repository, "conv-002", "fix", target="main", dry_run=True), Merged)
    accepted(repository, ours.id)
    assert isinstance(merge(repository, "conv-002", "fix", target="main", dry_run=True), Merged)
    accepted(repository, theirs.id)
    stopped = merge(repository, "conv-002", "fix", target="main", dry_run=True)
    assert isinstance(stopped, MergeConflicted)
    assert [conflict.key for conflict in stopped.conflicts] == ["decisions/db"]


def test_amended_and_retracted_sentences_are_not_candidates(repository, branches):
    first = say(repository, "conv-002/main", "We decided to use SQLite.")
    second = say(repository, "conv-002/main", "We agreed on tabs.")
    amend(repository, "conv-002", first.id, "We decided to use Postgres.", author=CAROL)
    retract(repository, "conv-002", second.id, "", author=CAROL)
    assert [text for text, _, _ in listed(repository)] == ["We decided to use Postgres."]


def test_the_topic_is_made_of_words_of_the_sentence(repository, branches):
    source = say(repository, "conv-002/main", "We decided to use SQLite for sessions.")
    assert accepted(repository, source.id, topic=None).topic == "decided sqlite sessions"


def test_an_empty_topic_and_an_unknown_candidate_are_refused(repository, branches):
    source = say(repository, "conv-002/main", "We decided to use SQLite.")
    with pytest.raises(Invalid, match="needs a topic"):
        accepted(repository, source.id, topic=" ")
    for name in (f"{source.id}.2", "zzzz", "", ".1"):
        with pytest.raises(NotFound, match="no decision candidate"):
            accepted(repository, name)
    accepted(repository, source.id)
    with pytest.raises(Refused):
        accepted(repository, source.id)


def test_a_candidate_can_be_accepted_on_another_branch(repository, branches):
    source = say(repository, "conv-002/fix", "We decided to use SQLite.")
    assert accepted(repository, source.id, branch="main").branch == "main"
    assert decided(repository, "conv-002/main") == ["We decided to use SQLite."]
