"""Which messages keep their original text, which are amended, and which are retracted."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend, retract
from scopes.exporters.selection import select_messages
from scopes.history.messages import Amendment, find_amendments, find_claim, latest, read_message
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from tests.exporters.building import join, message, point
from tests.support.history import history


def revisions(repository, where="conv-001"):
    """Return the amendments in effect on a branch."""
    selection = select_messages(repository, where, all_branches=False)
    return find_amendments(repository, selection.slices[0].tip, selection.heads)


@pytest.fixture
def drawn(repository):
    """Draw two branches with a common first message."""
    return history(repository, "main: a b", "fix@a: c")


def text_now(repository, drawn, word, where="conv-001"):
    """Return the amended text of a message."""
    current = latest(read_message(repository, drawn.oids[word]), revisions(repository, where))
    return None if current is None else current.text


def test_without_amendments_every_message_has_its_original_text(repository, drawn):
    assert revisions(repository) == {}
    assert text_now(repository, drawn, "a") == "a"


def test_an_amended_message_has_the_new_text(repository, drawn):
    done = amend(repository, "conv-001", drawn.ids["a"], "better", author=Author("dave"))
    found = revisions(repository)[drawn.ids["a"]]
    assert (found.by.id, found.by.text, found.retracted) == (done.id, "better", False)


def test_of_two_amendments_the_one_in_the_state_counts(repository, drawn):
    amend(repository, "conv-001", drawn.ids["a"], "better", author=Author("dave"))
    amend(repository, "conv-001", drawn.ids["a"], "best", author=Author("dave"))
    assert text_now(repository, drawn, "a") == "best"


def test_an_amendment_of_an_amendment_counts_for_both(repository, drawn):
    first = amend(repository, "conv-001", drawn.ids["a"], "better", author=Author("dave"))
    amend(repository, "conv-001", first.id, "best", author=Author("dave"))
    assert text_now(repository, drawn, "a") == "best"


def test_of_amendments_on_both_sides_of_a_merge_the_chosen_one_counts(repository, drawn):
    """The merge keeps its claim, whichever side comes last in the log."""
    ours = amend(repository, "conv-001", drawn.ids["a"], "ours", author=Author("dave"))
    theirs = amend(repository, "conv-001/fix", drawn.ids["a"], "theirs", author=Author("erin"))
    point(repository, "main", join(repository, ours.oid, theirs.oid, message("m", "both", kind="human")))
    assert text_now(repository, drawn, "a") == "ours"


def test_a_retraction_that_a_merge_did_not_keep_does_not_count(repository, drawn):
    ours = amend(repository, "conv-001", drawn.ids["b"], "ours", author=Author("dave"))
    theirs = retract(repository, "conv-001/fix", drawn.ids["a"], "", author=Author("erin"))
    point(repository, "main", join(repository, ours.oid, theirs.oid, message("m", "both", kind="human")))
    assert text_now(repository, drawn, "a") == "a"


def test_a_retracted_message_does_not_count(repository, drawn):
    done = retract(repository, "conv-001", drawn.ids["a"], "wrong", author=Author("dave"))
    assert revisions(repository)[drawn.ids["a"]].by.id == done.id
    assert text_now(repository, drawn, "a") is None


def test_an_amended_message_whose_amendment_was_retracted_does_not_count(repository, drawn):
    first = amend(repository, "conv-001", drawn.ids["a"], "better", author=Author("dave"))
    retract(repository, "conv-001", first.id, "neither", author=Author("dave"))
    assert text_now(repository, drawn, "a") is None


def test_an_amendment_on_one_branch_does_not_apply_to_another(repository, drawn):
    amend(repository, "conv-001/fix", drawn.ids["a"], "better", author=Author("dave"))
    assert text_now(repository, drawn, "a") == "a"
    assert text_now(repository, drawn, "a", "conv-001/fix") == "better"
    assert text_now(repository, drawn, "a", "conv-001/fix~1") == "a"


def test_messages_that_amend_each_other_cause_no_endless_loop():
    """No command writes them, but a store may come from elsewhere."""
    one, two = message("b", "one"), message("c", "two")
    circle = {one.id: Amendment(two, retracted=False), two.id: Amendment(one, retracted=False)}
    assert latest(one, circle) in (one, two)


def test_amendments_of_one_message_are_read_from_its_branch_alone(repository, drawn):
    amend(repository, "conv-001", drawn.ids["a"], "better", author=Author("dave"))
    retract(repository, "conv-001", drawn.ids["b"], "", author=Author("dave"))
    tips = list_branch_tips(repository, drawn.conversation)
    claims = {word: find_claim(repository, tips["main"], drawn.ids[word]).keys() for word in "ab"}
    assert claims == {"a": {"amended"}, "b": {"retracted"}}
    assert find_claim(repository, tips["fix"], drawn.ids["a"]) == {}
