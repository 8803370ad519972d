"""From what people type to conversations, branches and messages."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from scopes import clock
from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.cat import cat
from scopes.conversation.delete import delete
from scopes.conversation.lookup import (
    Place,
    branch_tips,
    conversation_ids,
    find_active_branch,
    find_branch,
    find_conversation,
    find_place,
)
from scopes.conversation.new import new
from scopes.conversation.rewind import rewind
from scopes.conversation.switch import switch
from scopes.conversation.tag import tag
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.ids import MessageId
from scopes.model.message import Author, Message, text_parts
from tests.conversation.stores import git
from tests.support.history import history


@pytest.fixture
def drawn(repository):
    """Draw the history that most tests look things up in."""
    return history(repository, "main: a b c d", "analysis/security@b: e f", "analysis/speed@b: g")


@pytest.fixture
def later(monkeypatch):
    """Let the clock stand two hours after now, as git's reflogs have the time of the machine."""
    moment = time.time_ns() + 7200 * 1_000_000_000
    monkeypatch.setattr(clock, "read_clock", lambda: moment)


def oid_at(repository, text, conversation=None):
    return find_place(repository, text, conversation).oid


@pytest.mark.parametrize("text", ["conv-001", "conv-00", "conv", "c"])
def test_a_conversation_is_found_by_every_unique_prefix(repository, drawn, text):
    """S4-55."""
    assert find_conversation(repository, text) == "conv-001"


def test_an_ambiguous_prefix_names_its_candidates(repository):
    """S4-55."""
    for name in ("conv-b", "conv-a", "other"):
        new(repository, conversation_id=name)
    with pytest.raises(Ambiguous, match="'conv' fits several: conv-a, conv-b") as refusal:
        find_conversation(repository, "conv")
    assert refusal.value.hint == "type a few more letters"
    assert find_conversation(repository, "o") == "other"


def test_of_very_many_candidates_eight_are_named(repository):
    for number in range(11):
        new(repository, conversation_id=f"x{number:02}")
    with pytest.raises(Ambiguous, match=r"x00, x01, .*, x07 and 3 more"):
        find_conversation(repository, "x")


def test_an_exact_id_wins_over_longer_ones(repository):
    for name in ("log", "login", "login-2"):
        new(repository, conversation_id=name)
    assert find_conversation(repository, "log") == "log"
    assert find_conversation(repository, "login") == "login"
    assert find_place(repository, "login/main").conversation == "login"


def test_an_unknown_conversation_is_refused_with_the_nearest_names(repository, drawn):
    with pytest.raises(NotFound, match="there is no conversation 'conv-002'") as refusal:
        find_conversation(repository, "conv-002")
    assert refusal.value.hint == "did you mean conv-001?"
    with pytest.raises(NotFound) as refusal:
        find_conversation(repository, "zebra")
    assert "list" in refusal.value.hint


def test_the_ids_of_conversations_come_sorted_and_without_deleted_ones(repository):
    for name in ("b", "a", "c"):
        new(repository, conversation_id=name)
    delete(repository, "b")
    assert conversation_ids(repository) == ["a", "c"]


def test_a_branch_is_found_by_name_by_unique_prefix_or_as_the_active_one(repository, drawn):
    """S4-55."""
    assert find_branch(repository, drawn.conversation, None) == "main"
    assert find_branch(repository, drawn.conversation, "analysis/speed") == "analysis/speed"
    assert find_branch(repository, drawn.conversation, "analysis/se") == "analysis/security"
    assert find_branch(repository, drawn.conversation, "m") == "main"


def test_an_ambiguous_or_unknown_branch_is_refused_with_the_branches_there_are(repository, drawn):
    with pytest.raises(Ambiguous, match="analysis/security, analysis/speed"):
        find_branch(repository, drawn.conversation, "analysis")
    with pytest.raises(NotFound) as refusal:
        find_branch(repository, drawn.conversation, "zzz")
    assert refusal.value.hint == "branches of conv-001: analysis/security, analysis/speed, main"
    with pytest.raises(NotFound) as refusal:
        find_branch(repository, drawn.conversation, "analysis/sped")
    assert "did you mean analysis/speed" in refusal.value.hint


def test_an_exact_branch_wins_over_longer_ones(repository):
    history(repository, "main: a", "fix:", "fix-2:")
    assert find_branch(repository, "conv-001", "fix") == "fix"
    assert find_place(repository, "conv-001/fix").branch == "fix"


def test_the_active_branch_is_main_where_none_is_set_or_the_set_one_is_gone(repository, drawn):
    switch(repository, "conv-001", "analysis/speed")
    git(repository, "update-ref", "-d", "refs/heads/conv-001/analysis/speed")
    assert find_active_branch(repository, drawn.conversation) == "main"
    git(repository, "symbolic-ref", "--delete", "refs/scopes/active/conv-001")
    assert find_active_branch(repository, drawn.conversation) == "main"
    git(repository, "update-ref", "-d", "refs/heads/conv-001/main")
    assert find_active_branch(repository, drawn.conversation) == "analysis/security"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("conv-001", "d"),
        ("conv", "d"),
        ("conv-001/main", "d"),
        ("conv-001/", "d"),
        ("conv/m", "d"),
        ("conv-001~1", "c"),
        ("conv-001~", "c"),
        ("conv-001^", "c"),
        ("conv-001~0", "d"),
        ("conv-001/main~3", "a"),
        ("conv-001/main~1~2", "a"),
        ("conv-001/main~~^", "a"),
        ("conv-001/analysis/security", "f"),
        ("conv-001/analysis/sec~2", "b"),
    ],
)
def test_a_message_is_found_by_its_place(repository, drawn, text, word):
    assert oid_at(repository, text) == drawn.oids[word]


def test_as_many_steps_back_as_there_are_messages_lead_to_the_root(repository, drawn):
    assert oid_at(repository, "conv-001~4") == drawn.root
    with pytest.raises(NotFound, match="not that many messages") as refusal:
        find_place(repository, "conv-001~5")
    assert refusal.value.hint == "see: scopes conv log conv-001"
    with pytest.raises(NotFound):
        find_place(repository, "conv-001~999999999")


def test_a_place_knows_the_branch_that_it_was_named_by(repository, drawn):
    assert find_place(repository, "conv/analysis/sp~1") == Place("conv-001", "analysis/speed", drawn.oids["b"])
    assert find_place(repository, drawn.ids["g"]) == Place("conv-001", None, drawn.oids["g"])


@pytest.mark.parametrize("length", [4, 8, 12, 26])
def test_a_message_is_found_by_the_start_of_its_id_in_and_outside_its_conversation(repository, drawn, length):
    """S4-55."""
    prefix = drawn.ids["e"][:length]
    assert oid_at(repository, prefix) == drawn.oids["e"]
    assert oid_at(repository, prefix, drawn.conversation) == drawn.oids["e"]
    assert oid_at(repository, f"conv-001/{prefix}") == drawn.oids["e"]
    assert oid_at(repository, f"{prefix}~1") == drawn.oids["b"]


@pytest.mark.parametrize("length", [4, 8, 12, 40])
def test_a_message_is_found_by_the_start_of_its_commits_id(repository, drawn, length):
    """S4-55; it is what `git log` shows, and what undo's hint names."""
    prefix = drawn.oids["g"][:length]
    assert oid_at(repository, prefix) == drawn.oids["g"]
    assert oid_at(repository, prefix, drawn.conversation) == drawn.oids["g"]
    assert oid_at(repository, f"conv-001/{prefix}^") == drawn.oids["b"]
    assert cat(repository, prefix).message.text == "g"


def test_the_commit_that_a_conversation_begins_with_is_found_by_its_id(repository, drawn):
    assert oid_at(repository, drawn.root) == drawn.root
    assert oid_at(repository, drawn.root[:12], drawn.conversation) == drawn.root


def test_a_prefix_of_two_messages_is_ambiguous(repository, drawn):
    """S4-55: one fits by its id, the other by its commit's."""
    prefix = drawn.oids["a"][:4]
    twin = Message(id=MessageId(prefix + "a" * 22), author=Author("carol"), parts=text_parts("twin"))
    append(repository, "conv-001", twin)
    for conversation in (None, drawn.conversation):
        with pytest.raises(Ambiguous, match=f"{prefix!r} fits several: {drawn.oids['a']}, {twin.id}|{twin.id}, "):
            find_place(repository, prefix, conversation)


def test_a_message_of_several_conversations_is_found_in_the_first_or_the_named_one(repository):
    history(repository, "main: a")
    second = history(repository, "main: b c")
    assert find_place(repository, second.ids["b"][:8]).conversation == "conv-002"
    with pytest.raises(NotFound, match="there is no"):
        find_place(repository, second.ids["b"], "conv-001")


def test_an_unknown_id_is_refused(repository, drawn):
    with pytest.raises(NotFound, match="there is no message 'zzzzzzzz'") as refusal:
        find_place(repository, "zzzzzzzz")
    assert refusal.value.hint == "see: scopes conv log"


def test_three_letters_are_no_id(repository, drawn):
    """Too few to mean one message for long."""
    with pytest.raises(NotFound, match="no conversation"):
        find_place(repository, drawn.ids["a"][:3])


def test_a_conversation_wins_over_a_message_whose_id_begins_alike(repository, drawn):
    prefix = drawn.ids["a"][:4]
    new(repository, conversation_id=f"{prefix}-talk")
    assert find_place(repository, prefix).conversation == f"{prefix}-talk"
    assert oid_at(repository, prefix, drawn.conversation) == drawn.oids["a"]


def test_a_tag_names_a_message_wherever_one_is_named(repository, drawn):
    tag(repository, "conv-001", "v1.0", "main~2")
    assert oid_at(repository, "conv-001/v1.0") == drawn.oids["b"]
    assert oid_at(repository, "v1.0", drawn.conversation) == drawn.oids["b"]
    assert oid_at(repository, "conv-001/v1.0~1") == drawn.oids["a"]
    assert find_place(repository, "conv-001/v1.0").branch is None


def test_a_branch_wins_over_a_tag_of_the_same_name(repository, drawn):
    tag(repository, "conv-001", "main", "main~2")
    assert oid_at(repository, "conv-001/main") == drawn.oids["d"]


def test_a_moment_names_where_the_branch_stood_then(repository, drawn, later):
    assert oid_at(repository, "conv-001@{1 hour ago}") == drawn.oids["d"]
    assert oid_at(repository, "conv-001/analysis/security@{now}~1") == drawn.oids["e"]


def test_a_moment_remembers_what_was_rewound(repository, drawn, monkeypatch):
    """The reflog keeps every append."""
    log = Path(repository.path, "logs/refs/heads/conv-001/main")
    log.write_text(re.sub("> ([0-9]+) ", lambda match: f"> {int(match[1]) - 7200} ", log.read_text()))
    rewind(repository, "conv-001", count=3)
    monkeypatch.setattr(clock, "read_clock", lambda: time.time_ns() + 60 * 1_000_000_000)
    assert oid_at(repository, "conv-001@{1 hour ago}") == drawn.oids["d"]
    assert oid_at(repository, "conv-001@{now}") == drawn.oids["a"]


def test_a_moment_before_the_branch_is_refused(repository, drawn, later):
    with pytest.raises(NotFound, match="nothing is known of conv-001/main at 2"):
        find_place(repository, "conv-001@{3 years ago}")


def test_a_moment_that_is_none_or_has_no_branch_is_refused(repository, drawn):
    with pytest.raises(Invalid, match="'the day before' is no moment") as refusal:
        find_place(repository, "conv-001@{the day before}")
    assert "yesterday" in refusal.value.hint
    with pytest.raises(Invalid, match="needs a branch") as refusal:
        find_place(repository, f"{drawn.ids['a']}@{{yesterday}}")
    assert refusal.value.hint.startswith("for example: conv-001/main@{")


def test_an_empty_name_is_refused(repository, drawn):
    """An unset variable of a script must not mean something."""
    for lookup in (lambda: find_conversation(repository, ""), lambda: find_place(repository, "")):
        with pytest.raises(Invalid) as refusal:
            lookup()
        assert refusal.value.hint
    with pytest.raises(Invalid, match="name is empty"):
        find_branch(repository, drawn.conversation, "")


def test_tips_are_those_of_the_conversation_alone(repository):
    """`conv-1` is no part of `conv-10`."""
    one = history(repository, "main: a", conversation="conv-1")
    history(repository, "main: b", "x: c", conversation="conv-10")
    assert branch_tips(repository, one.conversation) == {"main": one.oids["a"]}


def test_names_are_looked_up_as_they_are_written(repository):
    history(repository, "main: a", conversation="Login")
    branch(repository, "Login", name="Fix", switch=False)
    with pytest.raises(NotFound):
        find_conversation(repository, "login")
    with pytest.raises(NotFound):
        find_branch(repository, "Login", "fix")
