"""Resolving a revision to one message: by position, time, id or tag."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from scopes import clock
from scopes.conversation.append import append
from scopes.conversation.branch import branch, rewind, tag
from scopes.conversation.log import log
from scopes.conversation.new_rename_delete import new
from scopes.conversation.show import cat
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.names import Revision, resolve_revision
from scopes.ids import MessageId
from scopes.model.message import Author, Message, text_parts
from tests.support.history import history


@pytest.fixture
def drawn(repository):
    """Draw the history that most tests look things up in."""
    return history(repository, "main: a b c d", "analysis/security@b: e f", "analysis/speed@b: g")


@pytest.fixture
def later(monkeypatch):
    """Set the clock two hours ahead, because git's reflogs have the time of the machine."""
    moment = time.time_ns() + 7200 * 1_000_000_000
    monkeypatch.setattr(clock, "read_clock", lambda: moment)


def oid_at(repository, text, conversation=None):
    return resolve_revision(repository, text, conversation).oid


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
def test_a_message_is_found_by_its_position(repository, drawn, text, word):
    assert oid_at(repository, text) == drawn.oids[word]


@pytest.mark.parametrize("text", ["conv-001/main~1", "conv/main~1", "c/m~1", "main~1", "conv-001~1"])
def test_inside_a_conversation_a_revision_may_still_be_written_in_full(repository, drawn, text):
    """S4-55: also with a prefix of the conversation's id."""
    new(repository, conversation_id="conv-002")
    assert oid_at(repository, text, drawn.conversation) == drawn.oids["c"]


def test_a_branch_may_be_called_like_its_conversation(repository):
    drawn = history(repository, "main: a", "conv-001: b c", "c/main: e")
    assert oid_at(repository, "conv-001", drawn.conversation) == drawn.oids["c"]
    assert oid_at(repository, "conv-001/conv-001") == drawn.oids["c"]
    assert oid_at(repository, "conv-001/conv-001~1") == drawn.oids["b"]
    assert oid_at(repository, "c/main", drawn.conversation) == drawn.oids["e"]
    assert oid_at(repository, "conv-001") == drawn.oids["a"]
    assert rewind(repository, "conv-001/conv-001").messages == 1
    tag(repository, "conv-001", "co/x", "main")
    assert oid_at(repository, "co/x", drawn.conversation) == drawn.oids["a"]


def test_one_step_back_for_each_message_leads_to_the_root(repository, drawn):
    assert oid_at(repository, "conv-001~4") == drawn.root
    with pytest.raises(NotFound, match="not that many messages") as refusal:
        resolve_revision(repository, "conv-001~5")
    assert refusal.value.hint == "see: scopes log conv-001"
    with pytest.raises(NotFound):
        resolve_revision(repository, "conv-001~999999999")


def test_a_revision_has_the_branch_it_was_named_by(repository, drawn):
    assert resolve_revision(repository, "conv/analysis/sp~1") == Revision("conv-001", "analysis/speed", drawn.oids["b"])
    assert resolve_revision(repository, drawn.ids["g"]) == Revision("conv-001", None, drawn.oids["g"])


@pytest.mark.parametrize("length", [4, 8, 12, 26])
def test_a_message_is_found_by_an_id_prefix_in_and_outside_its_conversation(repository, drawn, length):
    """S4-55."""
    prefix = drawn.ids["e"][:length]
    assert oid_at(repository, prefix) == drawn.oids["e"]
    assert oid_at(repository, prefix, drawn.conversation) == drawn.oids["e"]
    assert oid_at(repository, f"conv-001/{prefix}") == drawn.oids["e"]
    assert oid_at(repository, f"{prefix}~1") == drawn.oids["b"]


@pytest.mark.parametrize("length", [4, 8, 12, 40])
def test_a_message_is_found_by_a_prefix_of_its_commit_id(repository, drawn, length):
    """S4-55; `git log` and the hint of undo show these ids."""
    prefix = drawn.oids["g"][:length]
    assert oid_at(repository, prefix) == drawn.oids["g"]
    assert oid_at(repository, prefix, drawn.conversation) == drawn.oids["g"]
    assert oid_at(repository, f"conv-001/{prefix}^") == drawn.oids["b"]
    assert cat(repository, prefix).message.text == "g"


def test_the_id_of_a_root_commit_names_the_conversation_and_in_it_the_root(repository, drawn):
    """Remotes name conversations by their roots."""
    for prefix in (drawn.root, drawn.root[:12]):
        assert resolve_revision(repository, prefix) == resolve_revision(repository, "conv-001")
        assert [entry.head.oid for entry in log(repository, prefix).items] == [drawn.oids[name] for name in "dcba"]
    assert oid_at(repository, drawn.root[:12], drawn.conversation) == drawn.root


def test_a_prefix_of_two_messages_is_ambiguous(repository, drawn):
    """S4-55: one matches by its id, the other by its commit id."""
    prefix = drawn.oids["a"][:4]
    twin = Message(id=MessageId(prefix + "a" * 22), author=Author("carol"), parts=text_parts("twin"))
    append(repository, "conv-001", twin)
    for conversation in (None, drawn.conversation):
        with pytest.raises(Ambiguous, match=f"{prefix!r} matches several: {drawn.oids['a']}, {twin.id}|{twin.id}, "):
            resolve_revision(repository, prefix, conversation)


def test_a_message_of_several_conversations_is_found_in_the_first_or_the_named_one(repository):
    history(repository, "main: a")
    second = history(repository, "main: b c")
    assert resolve_revision(repository, second.ids["b"][:8]).conversation == "conv-002"
    with pytest.raises(NotFound, match="there is no"):
        resolve_revision(repository, second.ids["b"], "conv-001")


def test_an_unknown_id_is_refused(repository, drawn):
    with pytest.raises(NotFound, match="there is no conversation or message 'zzzzzzzz'") as refusal:
        resolve_revision(repository, "zzzzzzzz")
    assert "create a conversation: scopes new" in refusal.value.hint


def test_an_unknown_name_is_refused_with_a_hint(repository):
    """S1-23: the hint lists what to do next."""
    new(repository, conversation_id="loginbug")
    with pytest.raises(NotFound, match="no conversation or message 'nosuch'") as refusal:
        resolve_revision(repository, "nosuch")
    assert "create a conversation: scopes new" in refusal.value.hint
    with pytest.raises(NotFound) as refusal:
        resolve_revision(repository, "loginbag")
    assert refusal.value.hint == "did you mean loginbug?"


def test_three_characters_are_too_few_for_an_id(repository, drawn):
    """A short prefix would soon be ambiguous."""
    with pytest.raises(NotFound, match="no conversation"):
        resolve_revision(repository, drawn.ids["a"][:3])


def test_a_conversation_wins_over_a_message_with_the_same_id_prefix(repository, drawn):
    prefix = drawn.ids["a"][:4]
    new(repository, conversation_id=f"{prefix}-talk")
    assert resolve_revision(repository, prefix).conversation == f"{prefix}-talk"
    assert oid_at(repository, prefix, drawn.conversation) == drawn.oids["a"]


def test_a_tag_is_accepted_wherever_a_message_is_named(repository, drawn):
    tag(repository, "conv-001", "v1.0", "main~2")
    assert oid_at(repository, "conv-001/v1.0") == drawn.oids["b"]
    assert oid_at(repository, "v1.0", drawn.conversation) == drawn.oids["b"]
    assert oid_at(repository, "conv-001/v1.0~1") == drawn.oids["a"]
    assert resolve_revision(repository, "conv-001/v1.0").branch is None


def test_a_branch_wins_over_a_tag_of_the_same_name(repository, drawn):
    tag(repository, "conv-001", "later", "main~2")
    branch(repository, "conv-001", name="later", start="main", switch=False)
    assert oid_at(repository, "conv-001/later") == drawn.oids["d"]


def test_a_time_names_the_tip_of_the_branch_at_that_time(repository, drawn, later):
    assert oid_at(repository, "conv-001@{1 hour ago}") == drawn.oids["d"]
    assert oid_at(repository, "conv-001/analysis/security@{now}~1") == drawn.oids["e"]


def test_a_time_finds_rewound_messages(repository, drawn, monkeypatch):
    """The reflog keeps every append."""
    log = Path(repository.path, "logs/refs/heads/conv-001/main")
    log.write_text(re.sub("> ([0-9]+) ", lambda match: f"> {int(match[1]) - 7200} ", log.read_text()))
    rewind(repository, "conv-001", count=3)
    monkeypatch.setattr(clock, "read_clock", lambda: time.time_ns() + 60 * 1_000_000_000)
    assert oid_at(repository, "conv-001@{1 hour ago}") == drawn.oids["d"]
    assert oid_at(repository, "conv-001@{now}") == drawn.oids["a"]


def test_a_time_before_the_branch_is_refused(repository, drawn, later):
    with pytest.raises(NotFound, match="no reflog entry for conv-001/main at 2"):
        resolve_revision(repository, "conv-001@{3 years ago}")


def test_an_invalid_time_or_a_time_without_a_branch_is_refused(repository, drawn):
    with pytest.raises(Invalid, match="'the day before' is not a valid time") as refusal:
        resolve_revision(repository, "conv-001@{the day before}")
    assert "yesterday" in refusal.value.hint
    with pytest.raises(Invalid, match="needs a branch") as refusal:
        resolve_revision(repository, f"{drawn.ids['a']}@{{yesterday}}")
    assert refusal.value.hint.startswith("for example: conv-001/main@{")
