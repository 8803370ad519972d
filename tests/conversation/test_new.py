"""`new`: create a conversation."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch, rewind, tag
from scopes.conversation.new_rename_delete import delete, new, rename_conversation
from scopes.conversation.show import show
from scopes.conversation.undo import list_operations, undo
from scopes.errors import Invalid, Refused
from scopes.history.names import conversation_ids, list_branch_tips
from tests.support.history import history, say, texts
from tests.support.store import git, refs


def test_a_new_conversation_has_an_id_participants_the_branch_main_and_no_messages(repository):
    """S4-1."""
    made = new(repository, title="Login", participants=["carol", "reviewer"])
    seen = show(repository, made.id)
    assert (made.id, made.branch, made.participants) == ("conv-001", "main", ("carol", "reviewer"))
    assert (seen.participants, seen.messages, seen.title) == (("carol", "reviewer"), 0, "Login")
    assert [(b.name, b.messages, b.active) for b in seen.branches] == [("main", 0, True)]
    assert seen.uuid == made.uuid
    assert texts(repository, made.id) == []


def test_a_conversation_starts_with_a_root_commit(repository):
    """Storage format: it holds the immutable data and is not a message."""
    new(repository)
    assert git(repository, "log", "--format=%an <%ae> %at %s", "conv-001/main") == (
        "scopes <scopes@systems.scopes> 1767225600 Conversation begins\n"
    )
    assert '"kind":"root"' in git(repository, "show", "conv-001/main:message.json")


def test_conversations_are_numbered_from_one_on(repository):
    assert [new(repository).id for _ in range(3)] == ["conv-001", "conv-002", "conv-003"]


def test_a_number_in_a_capitalized_id_counts_as_used(repository):
    """Storage pitfall 10: names that differ only in case would conflict."""
    new(repository, conversation_id="CONV-001")
    assert new(repository).id == "conv-002"


def test_the_next_number_follows_the_highest_used_one(repository):
    new(repository, conversation_id="conv-041")
    assert new(repository).id == "conv-042"
    new(repository, conversation_id="conv-999")
    assert new(repository).id == "conv-1000"


@pytest.mark.parametrize("name", ["conv-7", "conv-99x", "my-conv-500", "conv-1234567890"])
def test_an_id_that_only_resembles_a_number_is_ignored(repository, name):
    new(repository, conversation_id=name)
    assert new(repository).id == "conv-001"


def test_the_number_of_a_deleted_conversation_is_not_reused(repository):
    for expected in ("conv-001", "conv-002", "conv-003"):
        assert new(repository).id == expected
        delete(repository, expected)
    assert conversation_ids(repository) == []


def test_a_taken_id_is_refused(repository):
    new(repository, conversation_id="login")
    with pytest.raises(Refused, match="conversation login already exists") as refusal:
        new(repository, conversation_id="login")
    assert refusal.value.hint == "choose another name"
    assert len(list_operations(repository).operations) == 1


def test_the_id_of_a_deleted_conversation_may_be_used_again(repository):
    first = history(repository, "main: a", conversation="login")
    delete(repository, "login")
    second = history(repository, "main: b", conversation="login")
    assert texts(repository, "login") == ["b"]
    assert first.root != second.root


def test_ids_that_differ_in_case_only_are_refused(repository):
    """On many file systems they are the same name."""
    new(repository, conversation_id="Login")
    with pytest.raises(Invalid, match="cannot exist together with 'Login'") as refusal:
        new(repository, conversation_id="login")
    assert "upper and lower case" in refusal.value.hint


@pytest.mark.parametrize(
    "name", ["a", "0", "x" * 200, "A.b_C-d.9", "2026-01-31", "a--b", "main", "refs", "heads", "conv-"]
)
def test_every_valid_id_works_in_every_command(repository, name):
    drawn = history(repository, "main: a b", "fix: c", conversation=name)
    assert drawn.conversation == name
    branch(repository, name, purpose="analysis", agent="carol")
    say(repository, name, "d")
    tag(repository, name, "v1")
    rewind(repository, name)
    rename_conversation(repository, name, "other")
    undo(repository)
    delete(repository, name)
    undo(repository)
    assert texts(repository, f"{name}/fix") == ["a", "b", "c"]
    assert sorted(list_branch_tips(repository, drawn.conversation)) == ["analysis/carol", "fix", "main"]
    assert git(repository, "fsck", "--strict") == ""


@pytest.mark.parametrize(
    "name", ["", "a/b", "-a", ".a", "_a", "a b", "a~1", "é", "a.lock", "a.", "a..b", "HEAD", "con", "x" * 201]
)
def test_an_invalid_id_is_refused(repository, name):
    """A-4, A-5, A-6, A-7."""
    with pytest.raises(Invalid, match="is not a valid conversation id") as refusal:
        new(repository, conversation_id=name)
    assert refusal.value.hint == "for example: conv-001, login-bug"
    assert refs(repository) == {}


def test_a_blank_participant_is_refused_and_nothing_is_created(repository):
    with pytest.raises(Invalid, match="an author needs a name") as refusal:
        new(repository, participants=["carol", "  "])
    assert refusal.value.hint == "for example: --as carol"
    assert refs(repository) == {}


def test_a_participant_given_twice_is_listed_once(repository):
    assert new(repository, participants=["b", "a", "b"]).participants == ("b", "a")
    assert show(repository, "conv-001").participants == ("a", "b")


def test_a_conversation_needs_no_title(repository):
    assert new(repository).title is None
    assert show(repository, "conv-001").title is None


@pytest.mark.parametrize(("title", "kept"), [("", None), ("  ", None), (" Login\n", "Login")])
def test_a_title_is_stripped_as_by_rename(repository, title, kept):
    assert new(repository, title=title).title == kept
    assert show(repository, "conv-001").title == kept


def test_creation_is_one_operation(repository):
    made = new(repository)
    [operation] = list_operations(repository).operations
    assert (operation.id, operation.kind, operation.summary) == (made.operation, "new", "create conv-001")
    assert operation.actor == "carol"
    assert operation.command == "scopes test"
