"""`uncompact`: contexts start from the full history again, and undo restores the compaction."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scopes.context.context import context
from scopes.context.request import Request
from scopes.conversation.append import retract
from scopes.conversation.branch import branch
from scopes.conversation.log import log
from scopes.conversation.undo import redo, undo
from scopes.errors import Invalid, Refused
from scopes.memory.summaries import list_summaries
from scopes.memory.summarize import summarize
from scopes.memory.uncompact import uncompact
from scopes.model.message import Author
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.support.history import say
from tests.support.store import files_of

CONVERSATION, CAROL = "conv-001", Author("carol", "human")
COUNTER = SimpleNamespace(method="exact", count=len, prepare=list)


def turns(repository):
    """Return the texts of the turns of a context, and whether it starts with a summary."""
    cache = f"{repository.path}.cache"
    built = context(
        repository, Request(where=CONVERSATION, max_tokens=2000), choose_tokenizer(RankFilePaths(cache)), cache
    )
    return " ".join(message.text for message in built.messages), built.summary is not None


def compact(repository):
    return summarize(repository, CONVERSATION, COUNTER, ratio=0.9, compact=True)


@pytest.fixture
def compacted(repository):
    """A conversation with a compaction after b and a message after it."""
    say(repository, CONVERSATION, "alpha")
    say(repository, CONVERSATION, "beta")
    compact(repository)
    say(repository, CONVERSATION, "gamma")
    return repository


def test_contexts_start_at_the_first_message_again_and_undo_restores_the_compaction(compacted):
    assert turns(compacted) == ("gamma", True)
    done = uncompact(compacted, CONVERSATION, author=CAROL)
    assert (len(done.compactions), done.remaining, done.operation is not None) == (1, None, True)
    assert turns(compacted) == ("alpha beta gamma", False)
    undo(compacted)
    assert turns(compacted) == ("gamma", True)


def test_the_compaction_stays_in_the_history_with_a_notice(compacted):
    done = uncompact(compacted, CONVERSATION, author=CAROL)
    entries = {entry.head.kind: entry.message for entry in log(compacted, CONVERSATION).items}
    assert entries["notice"].retracts == done.compactions[0].id == entries["compaction"].id
    assert entries["notice"].author == CAROL


def test_only_the_last_compaction_is_removed_on_request(compacted):
    first = list_summaries(compacted, CONVERSATION).summaries[0].head.id
    compact(compacted)
    say(compacted, CONVERSATION, "delta")
    done = uncompact(compacted, CONVERSATION, author=CAROL, only_last=True)
    assert (done.remaining, turns(compacted)) == (first, ("gamma delta", True))


def test_without_an_option_all_compactions_are_removed_in_one_operation(compacted):
    compact(compacted)
    done = uncompact(compacted, CONVERSATION, author=CAROL)
    assert (len(done.compactions), done.remaining) == (2, None)
    assert turns(compacted) == ("alpha beta gamma", False)
    undo(compacted)
    assert turns(compacted) == ("", True)


def test_a_branch_without_a_compaction_is_refused(compacted):
    uncompact(compacted, CONVERSATION, author=CAROL)
    with pytest.raises(Refused, match="conv-001/main has no compaction"):
        uncompact(compacted, CONVERSATION, author=CAROL)


def test_a_dry_run_changes_nothing(compacted):
    before = files_of(compacted.path)
    done = uncompact(compacted, CONVERSATION, author=CAROL, dry_run=True)
    assert (len(done.compactions), done.operation, done.dry_run) == (1, None, True)
    assert files_of(compacted.path) == before


def test_the_next_compaction_is_made_of_the_whole_history(compacted):
    uncompact(compacted, CONVERSATION, author=CAROL)
    assert list_summaries(compacted, CONVERSATION).summaries == ()
    assert list_summaries(compacted, CONVERSATION).uncovered == 3
    again = compact(compacted)
    assert (again.messages, again.earlier) == (3, None)


def test_a_compaction_that_was_retracted_by_hand_counts_no_more(compacted):
    compaction = list_summaries(compacted, CONVERSATION).summaries[0].head.id
    retract(compacted, CONVERSATION, compaction, "wrong", author=CAROL)
    assert turns(compacted) == ("alpha beta gamma", False)


def test_a_summary_after_it_is_made_of_all_messages(compacted):
    uncompact(compacted, CONVERSATION, author=CAROL)
    assert summarize(compacted, CONVERSATION, COUNTER, ratio=0.9, dry_run=True).messages == 3


def test_the_notice_has_the_reason_and_the_author(compacted):
    uncompact(compacted, CONVERSATION, reason="it forgot the schema", author=CAROL)
    notice = next(iter(log(compacted, CONVERSATION).items)).message
    assert (notice.kind, notice.text, notice.author) == ("notice", "it forgot the schema", CAROL)


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_author_that_is_not_valid_is_refused(compacted, dry_run):
    with pytest.raises(Invalid):
        uncompact(compacted, CONVERSATION, author=Author("carol", "robot"), dry_run=dry_run)


def test_undo_and_redo_move_between_the_summary_and_the_full_history(compacted):
    uncompact(compacted, CONVERSATION, author=CAROL)
    say(compacted, CONVERSATION, "delta")
    undo(compacted)
    undo(compacted)
    assert turns(compacted) == ("gamma", True)
    redo(compacted)
    assert turns(compacted) == ("alpha beta gamma", False)
    redo(compacted)
    assert turns(compacted) == ("alpha beta gamma delta", False)


def test_another_branch_keeps_its_compaction(compacted):
    branch(compacted, CONVERSATION, name="other", start="main", switch=False)
    uncompact(compacted, f"{CONVERSATION}/main", author=CAROL)
    assert turns(compacted) == ("alpha beta gamma", False)
    assert list_summaries(compacted, f"{CONVERSATION}/other").summaries[0].head.kind == "compaction"
