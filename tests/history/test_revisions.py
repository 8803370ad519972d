"""From what people type to conversations and branches."""

from __future__ import annotations

import re

import pytest

from scopes.conversation.branch import branch, switch
from scopes.conversation.new_rename_delete import delete, new
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history import names as revisions
from scopes.history.names import (
    conversation_ids,
    list_branch_tips,
    read_active_branch,
    resolve_branch,
    resolve_branch_name,
    resolve_conversation,
    resolve_revision,
)
from tests.support.history import history
from tests.support.store import git


@pytest.fixture
def drawn(repository):
    """Draw the history that most tests look things up in."""
    return history(repository, "main: a b c d", "analysis/security@b: e f", "analysis/speed@b: g")


@pytest.mark.parametrize("text", ["conv-001", "conv-00", "conv", "c"])
def test_a_conversation_is_found_by_every_unique_prefix(repository, drawn, text):
    """S4-55."""
    assert resolve_conversation(repository, text) == "conv-001"


def test_a_conversation_that_another_process_deletes_during_the_search_is_skipped(repository, drawn, monkeypatch):
    """P6: the ids were listed before it was deleted."""
    real = revisions.conversation_ids
    monkeypatch.setattr(revisions, "conversation_ids", lambda store: ["aaa-gone", *real(store), "zzz-gone"])
    with pytest.raises(NotFound, match="play-3"):
        resolve_conversation(repository, "play-3")


@pytest.mark.parametrize("text", ["@{99999999999}", "@{-1}", "@{yesterday}", "@{}"])
def test_an_impossible_position_is_named_in_the_error(repository, drawn, text):
    with pytest.raises(NotFound, match=re.escape(f"there is no conversation {text!r}")):
        resolve_revision(repository, text)


def test_an_ambiguous_prefix_names_its_candidates(repository):
    """A-2, S4-55."""
    for name in ("conv-b", "conv-a", "other"):
        new(repository, conversation_id=name)
    with pytest.raises(Ambiguous, match="'conv' matches several: conv-a, conv-b") as refusal:
        resolve_conversation(repository, "conv")
    assert refusal.value.hint == "type a few more letters"
    assert resolve_conversation(repository, "o") == "other"


def test_of_very_many_candidates_eight_are_named(repository):
    for number in range(11):
        new(repository, conversation_id=f"x{number:02}")
    with pytest.raises(Ambiguous, match=r"x00, x01, .*, x07 and 3 more"):
        resolve_conversation(repository, "x")


def test_an_exact_id_wins_over_longer_ones(repository):
    for name in ("log", "login", "login-2"):
        new(repository, conversation_id=name)
    assert resolve_conversation(repository, "log") == "log"
    assert resolve_conversation(repository, "login") == "login"
    assert resolve_revision(repository, "login/main").conversation == "login"


def test_an_unknown_conversation_is_refused_with_the_nearest_names(repository, drawn):
    with pytest.raises(NotFound, match="there is no conversation 'cov-001'") as refusal:
        resolve_conversation(repository, "cov-001")
    assert refusal.value.hint == "did you mean conv-001?"
    with pytest.raises(NotFound) as refusal:
        resolve_conversation(repository, "zebra")
    assert "list" in refusal.value.hint


def test_the_ids_of_conversations_come_sorted_and_without_deleted_ones(repository):
    for name in ("b", "a", "c"):
        new(repository, conversation_id=name)
    delete(repository, "b")
    assert conversation_ids(repository) == ["a", "c"]


def test_a_branch_is_found_by_name_by_unique_prefix_or_as_the_active_one(repository, drawn):
    """S4-55."""
    assert resolve_branch_name(repository, drawn.conversation, None) == "main"
    assert resolve_branch_name(repository, drawn.conversation, "analysis/speed") == "analysis/speed"
    assert resolve_branch_name(repository, drawn.conversation, "refs/heads/analysis/speed") == "analysis/speed"
    assert resolve_branch_name(repository, drawn.conversation, "analysis/se") == "analysis/security"
    assert resolve_branch_name(repository, drawn.conversation, "m") == "main"


def test_an_ambiguous_or_unknown_branch_is_refused_with_the_branches_there_are(repository, drawn):
    """A-2."""
    with pytest.raises(Ambiguous, match="analysis/security, analysis/speed"):
        resolve_branch_name(repository, drawn.conversation, "analysis")
    with pytest.raises(NotFound) as refusal:
        resolve_branch_name(repository, drawn.conversation, "zzz")
    assert refusal.value.hint == "branches of conv-001: analysis/security, analysis/speed, main"
    branch(repository, drawn.conversation, name="conflict-resolution/x-into-main", start="main", switch=False)
    for resolve in (resolve_branch_name, lambda store, name, text: resolve_revision(store, text, name)):
        with pytest.raises(NotFound) as refusal:
            resolve(repository, drawn.conversation, "zzz")
        assert refusal.value.hint.endswith("branches of conv-001: analysis/security, analysis/speed, main")
    with pytest.raises(NotFound) as refusal:
        resolve_branch_name(repository, drawn.conversation, "analysis/sped")
    assert "did you mean analysis/speed" in refusal.value.hint


def test_an_exact_branch_wins_over_longer_ones(repository):
    history(repository, "main: a", "fix:", "fix-2:")
    assert resolve_branch_name(repository, "conv-001", "fix") == "fix"
    assert resolve_revision(repository, "conv-001/fix").branch == "fix"


def test_of_very_many_branches_none_is_named_in_the_hint(repository):
    history(repository, "main: a", *(f"x{number}:" for number in range(9)))
    with pytest.raises(NotFound) as refusal:
        resolve_branch_name(repository, "conv-001", "zzz")
    assert refusal.value.hint == "list them: scopes branch conv-001"


def test_a_conversation_deleted_after_it_was_resolved_has_no_active_branch(repository):
    with pytest.raises(NotFound, match="conversation conv-009 no longer exists") as refusal:
        read_active_branch(repository, "conv-009")
    assert refusal.value.hint == "restore it: scopes undo"


def test_the_active_branch_is_main_if_none_is_set_or_it_was_deleted(repository, drawn):
    switch(repository, "conv-001", "analysis/speed")
    git(repository, "update-ref", "-d", "refs/heads/conv-001/analysis/speed")
    assert read_active_branch(repository, drawn.conversation) == "main"
    git(repository, "symbolic-ref", "--delete", "refs/scopes/active/conv-001")
    assert read_active_branch(repository, drawn.conversation) == "main"
    git(repository, "update-ref", "-d", "refs/heads/conv-001/main")
    assert read_active_branch(repository, drawn.conversation) == "analysis/security"


def test_an_empty_name_is_refused(repository, drawn):
    """An unset variable of a script must not mean something."""
    for lookup in (lambda: resolve_conversation(repository, ""), lambda: resolve_revision(repository, "")):
        with pytest.raises(Invalid) as refusal:
            lookup()
        assert refusal.value.hint
    with pytest.raises(Invalid, match="name is empty"):
        resolve_branch_name(repository, drawn.conversation, "")


def test_tips_are_those_of_the_conversation_alone(repository):
    """`conv-1` is no part of `conv-10`."""
    one = history(repository, "main: a", conversation="conv-1")
    history(repository, "main: b", "x: c", conversation="conv-10")
    assert list_branch_tips(repository, one.conversation) == {"main": one.oids["a"]}


def test_names_are_looked_up_as_they_are_written(repository):
    history(repository, "main: a", conversation="Login")
    branch(repository, "Login", name="Fix", switch=False)
    with pytest.raises(NotFound):
        resolve_conversation(repository, "login")
    with pytest.raises(NotFound):
        resolve_branch_name(repository, "Login", "fix")


def test_a_conversation_and_a_branch_are_found_together(repository):
    history(repository, "main: a", "fix: b")
    assert resolve_branch(repository, "conv", None) == ("conv-001", "main")
    assert resolve_branch(repository, "conv/fi", None) == ("conv-001", "fix")
    assert resolve_branch(repository, "conv-001", "f") == ("conv-001", "fix")
    with pytest.raises(Invalid, match="name is empty"):
        resolve_branch(repository, "conv-001", "")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("conv-39", "did you mean conv-039?"),
        ("conv-0399", "did you mean conv-039?"),
        ("conv-999", "list them: scopes list"),
        ("cnov-039", "did you mean conv-039 or conv-059 or conv-053?"),
    ],
)
def test_only_the_nearest_conversations_are_suggested(repository, text, hint):
    for number in (39, 49, 53, 59):
        new(repository, conversation_id=f"conv-{number:03}")
    with pytest.raises(NotFound) as refusal:
        resolve_conversation(repository, text)
    assert refusal.value.hint == hint
