"""What was made from a purged message goes with it: summaries, compactions, decisions, resolutions, reviews of values."""

from __future__ import annotations

import pytest

from scopes.conversation.conflicts import list_conflicts, resolve_conflict
from scopes.conversation.merge import MergeOptions, merge
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.memory.decision_candidates import accept_candidate, dismiss_candidate, list_candidates
from scopes.memory.summarize import summarize
from scopes.model.message import Author
from scopes.purge.accept import accept_purges, plan_accept
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from tests.memory.talking import WORDS
from tests.support.decisions import decide, decided
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.proposals import MOVES, create
from tests.support.remotes import add, fetch_from, machine, make_bare, push_to

WORD = "Xylophone-Quarantine-4711"
SECRET = f"The {WORD} opens all doors of the building in the north wing. Lunch was pasta."
CAROL = Author("carol", "human")


@pytest.fixture
def drawn(repository):
    return history(repository, "main: a")


def purge_message(repository, places, name, conversation="conv-001"):
    return purge(repository, PurgeRequest(conversation=conversation, messages=(name,)), places)


def assert_gone(repository, done, count, word=WORD):
    assert find_word(word, repository.path) == []
    assert (done.messages, done.left, done.copies, done.exit_code) == (count, (), (), 0)
    assert verify(repository).exit_code == 0


def test_a_summary_and_the_compactions_made_of_it_go_with_their_source(repository, places, drawn):
    spoken = say(repository, drawn.conversation, SECRET)
    assert WORD in summarize(repository, drawn.conversation, WORDS, ratio=0.6).text
    say(repository, drawn.conversation, "more text on locks of the building")
    assert WORD in summarize(repository, drawn.conversation, WORDS, ratio=0.6, compact=True).text
    say(repository, drawn.conversation, "and more on locks")
    assert WORD in summarize(repository, drawn.conversation, WORDS, ratio=0.6, compact=True).text
    assert_gone(repository, purge_message(repository, places, spoken.id), 4)


def test_a_summary_that_was_undone_goes_too_and_one_of_other_messages_stays(repository, places, drawn):
    kept = summarize(repository, drawn.conversation, WORDS)
    spoken = say(repository, drawn.conversation, SECRET)
    assert WORD in summarize(repository, drawn.conversation, WORDS, ratio=0.6).text
    undo(repository)
    assert_gone(repository, purge_message(repository, places, spoken.id), 2)
    assert texts(repository, drawn.conversation) == ["a", kept.text, "[purged]"]


def test_a_compaction_of_an_agent_names_no_source_and_is_named_as_a_copy(repository, places, drawn):
    spoken = say(repository, drawn.conversation, f"the {WORD} of the door")
    other = say(repository, drawn.conversation, f"before: the {WORD} of the door", author="claude", kind="compaction")
    done = purge_message(repository, places, spoken.id)
    assert [each.message for each in done.copies] == [other.id]


def test_a_decision_that_was_accepted_from_the_message_goes_with_it(repository, places, drawn):
    spoken = say(repository, drawn.conversation, f"We decided to use the {WORD} for doors. Lunch was pasta.")
    (candidate,) = list_candidates(repository, drawn.conversation).candidates
    accept_candidate(repository, drawn.conversation, candidate.id, author=CAROL)
    assert decided(repository, drawn.conversation) == [candidate.text]
    assert_gone(repository, purge_message(repository, places, spoken.id), 2)
    assert decided(repository, drawn.conversation) == []


def test_why_a_candidate_was_dismissed_goes_with_its_message(repository, places, drawn):
    spoken = say(repository, drawn.conversation, "We decided to use SQLite for doors.")
    (candidate,) = list_candidates(repository, drawn.conversation).candidates
    dismiss_candidate(repository, drawn.conversation, candidate.id, reason=f"no {WORD}", author=CAROL)
    assert_gone(repository, purge_message(repository, places, spoken.id), 1)


def test_the_applied_values_of_a_purged_proposal_go_with_it(repository, places, drawn):
    made = create(repository, f"status=the {WORD}")
    MOVES["accept"](repository, made.id)
    done = purge_message(repository, places, made.id)
    assert done.messages >= 2
    assert_gone(repository, done, done.messages)


def disagree(repository, source, strategy="automatic"):
    """Make two branches that decide differently, and stop at their merge; return the two decisions."""
    made = history(repository, "main: a", "side@a: x")
    theirs = decide(repository, f"{made.conversation}/side", source, topic="pin")
    ours = decide(repository, f"{made.conversation}/main", "none at all", topic="pin")
    merge(repository, made.conversation, "side", target="main", options=MergeOptions(strategy=strategy))
    return theirs, ours


@pytest.mark.parametrize("secret", ["QZMARLIN-77", "QZMARLIN-77 is the code of the door"])
@pytest.mark.parametrize("take", ["target", "source"])
def test_conflicts_and_resolutions_lose_the_value_of_a_purged_decision(repository, places, secret, take):
    theirs, _ = disagree(repository, secret)
    resolve_conflict(repository, "conv-001", "1", take=take, reason=f"not {secret}", author=CAROL, continue_after=True)
    done = purge_message(repository, places, theirs.id)
    assert_gone(repository, done, 2, "QZMARLIN-77")
    assert [row.conflict.status for row in list_conflicts(repository, "conv-001", include_all=True).conflicts] == [
        "resolved"
    ]


def test_a_merge_that_rejected_the_value_loses_it(repository, places):
    theirs, _ = disagree(repository, f"the {WORD} of the door", strategy="ours")
    assert_gone(repository, purge_message(repository, places, theirs.id), 2)
    assert decided(repository, "conv-001/main") == ["none at all"]


def test_a_conflict_that_is_open_shows_no_value_of_a_purged_decision_and_can_be_resolved(repository, places):
    theirs, _ = disagree(repository, "QZMARLIN-77")
    done = purge_message(repository, places, theirs.id)
    assert_gone(repository, done, 1, "QZMARLIN-77")
    (row,) = list_conflicts(repository, "conv-001").conflicts
    assert [each.value for each in (*row.conflict.source, *row.conflict.target)] == ["[purged]", "none at all"]
    resolve_conflict(repository, "conv-001", "1", take="target", author=CAROL, continue_after=True)
    assert decided(repository, "conv-001/main") == ["none at all"]
    assert verify(repository).exit_code == 0


def test_the_reason_of_a_purged_resolution_goes_and_the_conflict_is_not_open_again(repository, places):
    disagree(repository, "a lock")
    made = resolve_conflict(
        repository, "conv-001", "1", take="target", reason=f"the {WORD} of it", author=CAROL, continue_after=True
    )
    assert_gone(repository, purge_message(repository, places, made.message), 1)
    (row,) = list_conflicts(repository, "conv-001", include_all=True).conflicts
    assert (row.conflict.status, row.conflict.resolution.reason) == ("resolved", "[purged]")


@pytest.mark.slow
def test_who_accepts_a_purge_removes_what_was_made_from_the_message_there(repository, places, drawn, tmp_path):
    bare = make_bare(tmp_path / "bare.git")
    spoken = say(repository, drawn.conversation, SECRET)
    add(repository, bare)
    push_to(repository)
    theirs = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(theirs)
    made = summarize(theirs, "conv-001", WORDS, ratio=0.6, compact=True)
    assert WORD in made.text
    purge_message(repository, places, spoken.id)
    push_to(repository, purged=True)
    fetch_from(theirs)
    assert {each.message for each in plan_accept(theirs).messages} == {spoken.id, made.id}
    accept_purges(theirs, Places(str(tmp_path / "theirs-index")))
    assert find_word(WORD, theirs.path) == []
    push_to(theirs, purged=True)
    fetch_from(repository)
    assert find_word(WORD, repository.path) == []
