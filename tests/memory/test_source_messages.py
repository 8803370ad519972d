"""New messages since a summary, after merges and rebases too."""

from __future__ import annotations

from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.rebase import rebase
from scopes.history.names import list_branch_tips
from scopes.memory.source_messages import headers_beyond, headers_since_summary, read_source_messages
from scopes.memory.summarize import summarize
from scopes.memory.update import update
from tests.memory.talking import CONVERSATION, WORDS, say


def tip_of(repository, name="main"):
    return list_branch_tips(repository, CONVERSATION)[name]


def new_ids(repository, name="main"):
    """Return the ids of the messages since the last summary."""
    return [
        each.head.id
        for each in read_source_messages(repository, headers_since_summary(repository, tip_of(repository, name)))
    ]


def test_merged_messages_that_the_summary_did_not_cover_are_new(repository):
    say(repository, "Before.")
    branch(repository, CONVERSATION, name="fix")
    (aside,) = say(repository, "On the branch.", branch="fix")
    say(repository, "On main.", branch="main")
    summarize(repository, "conv-001/main", WORDS)
    merge(repository, CONVERSATION, "fix", target="main")
    assert aside in new_ids(repository)
    assert len(new_ids(repository)) <= 2  # the branch's message, and what the merge itself says


def test_rebased_messages_are_not_new(repository):
    say(repository, "Before.")
    branch(repository, CONVERSATION, name="fix")
    say(repository, "One on the branch.", "Two on the branch.", branch="fix")
    update(repository, "conv-001/fix", at_once=True)
    (later,) = say(repository, "On main.", branch="main")
    rebase(repository, CONVERSATION, branch="fix", onto="main")
    (entry,) = update(repository, "conv-001/fix", at_once=True).entries
    assert entry.sources.messages == (later,)


def test_without_known_commits_all_messages_are_listed_in_order(repository):
    ids = say(repository, "One.", "Two.")
    assert [head.id for head in headers_beyond(repository, tip_of(repository), ())] == ids
    assert headers_beyond(repository, tip_of(repository), [tip_of(repository)]) == []
