"""A purged message and its original are one message: merge, rebase and pull join them without a conflict."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.merge import Merged, UpToDate, merge
from scopes.conversation.rebase import rebase
from scopes.history.names import list_branch_tips
from scopes.history.sources import Purged, hash_of
from scopes.history.transaction import RefTransaction
from scopes.model.message import Author, Message, Part, decode, encode, is_purged_copy, purge_message, text_parts
from scopes.purge.all_commits import walk_all_commits
from scopes.purge.rewrite_history import HistoryRewriter
from scopes.store.refs import HEADS
from scopes.store.transactions import exclusive_write
from tests.support.decisions import decide
from tests.support.history import history, say, texts
from tests.support.random_ids import spread_ids  # noqa: F401 - messages have different ids

NAME = "conv-001"


def purge_copy(repository, branch, *messages, parts=None):
    """Let a branch be what it is on a machine that has purged messages, while the others keep them."""
    tip = list_branch_tips(repository, NAME)[branch]
    rewriter = HistoryRewriter(repository, Purged({hash_of(each): parts for each in messages}))
    for commit, data in walk_all_commits(repository, [tip]):
        rewriter.rewrite(commit, data)
    with exclusive_write(repository):
        transaction = RefTransaction(repository)
        transaction.move_ref(f"{HEADS}{NAME}/{branch}", tip, rewriter.commits[tip])
        transaction.commit("test", "purge on another machine")


@pytest.fixture
def drawn(repository):
    """Two branches that share a, b and c, and have a message of their own."""
    return history(repository, "main: a b c own", "theirs@c: news")


@pytest.mark.parametrize(("purged", "target", "source"), [("theirs", "main", "theirs"), ("main", "main", "theirs")])
def test_a_merge_of_a_purged_message_with_its_original_has_no_conflict(repository, drawn, purged, target, source):
    purge_copy(repository, purged, drawn.ids["b"], drawn.ids["c"])
    outcome = merge(repository, NAME, source, target=target)
    assert isinstance(outcome, Merged)
    assert outcome.conflicts == ()
    assert outcome.messages == (drawn.ids["news" if source == "theirs" else "own"],)


def test_a_rebase_onto_purged_messages_keeps_them_purged(repository, drawn):
    purge_copy(repository, "theirs", drawn.ids["b"], drawn.ids["c"])
    outcome = rebase(repository, NAME, onto="theirs", branch="main")
    assert list(outcome.messages) == [drawn.ids["own"]]
    assert texts(repository, f"{NAME}/main") == ["a", "[purged]", "[purged]", "news", "own"]


def test_a_rebase_of_purged_messages_onto_their_originals_has_no_conflict(repository, drawn):
    purge_copy(repository, "main", drawn.ids["b"])
    outcome = rebase(repository, NAME, onto="theirs", branch="main")
    assert not getattr(outcome, "conflicts", ())


def test_a_branch_with_nothing_but_originals_of_purged_messages_adds_nothing(repository):
    drawn = history(repository, "main: a b c", "theirs@c:")
    purge_copy(repository, "main", drawn.ids["b"])
    before = list_branch_tips(repository, NAME)["main"]
    assert isinstance(merge(repository, NAME, "theirs", target="main"), UpToDate)
    assert list_branch_tips(repository, NAME)["main"] == before


def test_a_purged_decision_is_no_conflict_with_itself(repository):
    history(repository, "main: a")
    made = decide(repository, NAME, "SQLite")
    say(repository, NAME, "b")
    branch(repository, NAME, name="theirs", start="main", switch=False)
    say(repository, f"{NAME}/theirs", "news")
    say(repository, NAME, "own")
    purge_copy(repository, "theirs", made.id)
    outcome = merge(repository, NAME, "theirs", target="main")
    assert isinstance(outcome, Merged)
    assert outcome.conflicts == ()


def test_a_file_whose_call_was_purged_in_part_is_no_conflict(repository):
    history(repository, "main: a")
    call = {"type": "tool_call", "call_id": "c1", "name": "Write", "input": {"file_path": ".env", "content": "KEY=1"}}
    made = say(repository, NAME, "", author={"name": "claude", "kind": "agent"}, parts=[call])
    branch(repository, NAME, name="theirs", start="main", switch=False)
    say(repository, f"{NAME}/theirs", "news")
    say(repository, NAME, "own")
    purge_copy(repository, "theirs", made.id, parts=frozenset({0}))
    outcome = merge(repository, NAME, "theirs", target="main")
    assert outcome.conflicts == ()


def test_only_what_a_purge_leaves_of_a_message_is_its_copy():
    original = Message(id="m" * 26, author=Author("carol"), parts=text_parts("a"), kind="plain", time=None)
    other = Message(id="m" * 26, author=Author("dave"), parts=text_parts("a"), kind="plain", time=None)
    copy = decode(purge_message(encode(original)))
    assert is_purged_copy(copy, original)
    assert not is_purged_copy(copy, other)
    assert not is_purged_copy(original, other)
    assert not is_purged_copy(original, copy)


def test_a_copy_without_some_parts_is_one_only_of_the_message_with_the_same_other_parts():
    def message(*words):
        parts = tuple(Part("text", {"text": word}) for word in words)
        return Message(id="m" * 26, author=Author("carol"), parts=parts, kind="plain", time=None)

    copy = decode(purge_message(encode(message("secret", "open")), {0}))
    assert is_purged_copy(copy, message("secret", "open"))
    assert is_purged_copy(copy, message("other secret", "open"))
    assert not is_purged_copy(copy, message("secret", "other"))
    assert not is_purged_copy(copy, message("secret"))
