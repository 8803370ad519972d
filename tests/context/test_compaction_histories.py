"""Compactions over time: branches, merges, rebases, undo and expiry of the store do not lose a message."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.context.context import context
from scopes.context.history_block import HistoryRequest
from scopes.context.history_block import history as write_history
from scopes.context.request import Request
from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch, rewind
from scopes.conversation.log import log
from scopes.conversation.merge import merge
from scopes.conversation.rebase import rebase
from scopes.conversation.stats import stats
from scopes.conversation.undo import undo
from scopes.errors import NotFound, Refused
from scopes.memory.summaries import list_summaries
from scopes.memory.summarize import summarize
from scopes.model.message import Author
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.support.examples import examples
from tests.support.history import history, say, texts
from tests.support.store import make_store

COUNTER = SimpleNamespace(method="exact", count=len, prepare=list)
CAROL = Author("carol", "human")
MAIN = "conv-001/main"


def compact(repository, where=MAIN):
    return summarize(repository, where, COUNTER, ratio=0.9, compact=True)


def read(repository, where=MAIN, **options):
    cache = f"{repository.path}.cache"
    request = Request(**{"where": where, "max_tokens": 4000, **options})
    return context(repository, request, choose_tokenizer(RankFilePaths(cache)), cache)


def turns(repository, where=MAIN, **options):
    """Return the texts of the turns of a context."""
    return [turn.text for turn in read(repository, where, **options).messages]


def newest(repository, where=MAIN):
    """Return the newest row of the list of summaries."""
    return list_summaries(repository, where).summaries[0]


@pytest.fixture
def compacted(repository):
    """Three messages, a compaction and one more message on main; fix began at the second one."""
    history(repository, "main: alpha beta gamma", "fix@beta: ")
    compact(repository)
    say(repository, MAIN, "delta")
    return repository


def test_only_the_branch_with_the_compaction_starts_from_it(compacted):
    assert turns(compacted) == ["delta"]
    assert turns(compacted, "conv-001/fix") == ["alpha", "beta"]


def test_a_branch_that_begins_before_the_compaction_has_the_full_history(compacted):
    branch(compacted, "conv-001", name="early", start="main~2", switch=False)
    branch(compacted, "conv-001", name="late", start="main~1", switch=False)
    assert turns(compacted, "conv-001/early") == ["alpha", "beta", "gamma"]
    assert (turns(compacted, "conv-001/late"), read(compacted, "conv-001/late").summary is not None) == ([], True)


def test_every_message_is_still_in_the_log_and_in_the_counts(compacted):
    shown = texts(compacted, MAIN)
    assert [text for text in shown if text in {"alpha", "beta", "gamma", "delta"}] == [
        "alpha",
        "beta",
        "gamma",
        "delta",
    ]
    assert stats(compacted, MAIN).messages == 5


def test_a_question_about_an_older_message_finds_it_before_the_compaction(compacted):
    """S4-37: with a task all messages are candidates."""
    assert "alpha" in turns(compacted, task="alpha")


def test_a_context_at_an_earlier_message_ignores_the_later_compaction(compacted):
    assert turns(compacted, at="main~2") == ["alpha", "beta", "gamma"]


def retract_compactions(repository, where=MAIN, count=None):
    """Retract the newest compactions of a branch, or all: contexts begin earlier again."""
    rows = [row for row in list_summaries(repository, where).summaries if row.head.kind == "compaction"]
    for row in rows[:count]:
        retract(repository, "conv-001", row.head.id, "", author=CAROL, branch=where.partition("/")[2])


def test_a_block_of_history_begins_with_the_summary_of_the_compaction(compacted):
    choice = choose_tokenizer(RankFilePaths(f"{compacted.path}.cache"))
    block = write_history(compacted, HistoryRequest(where=MAIN, mark="3" * 30), choice)
    assert block.text.index("Summary: ") < block.text.index("delta")
    assert block.messages == 1
    retract_compactions(compacted)
    block = write_history(compacted, HistoryRequest(where=MAIN, mark="3" * 30), choice)
    assert (block.messages, "Summary: " in block.text) == (4, False)


def test_newer_messages_make_a_compaction_stale_and_a_new_one_is_fresh(compacted):
    assert (newest(compacted).stale, newest(compacted).newer) == (True, 1)
    compact(compacted)
    assert [(row.stale, row.newer) for row in list_summaries(compacted, MAIN).summaries] == [(False, 0), (True, 1)]


@pytest.mark.parametrize("change", ["amend", "retract"])
def test_a_compaction_names_its_messages_that_were_changed_since(repository, change):
    drawn = history(repository, "main: alpha beta")
    compact(repository)
    assert newest(repository).changed == ()
    if change == "amend":
        amend(repository, MAIN, drawn.ids["alpha"], "another text", author=CAROL)
    else:
        retract(repository, MAIN, drawn.ids["alpha"], "wrong", author=CAROL)
    assert newest(repository).changed == (drawn.ids["alpha"],)


def test_a_rebased_compaction_still_starts_the_context(compacted):
    """Its sources are named by their ids, which a rebase keeps."""
    branch(compacted, "conv-001", name="work", start="main", switch=False)
    say(compacted, "conv-001/work", "epsilon")
    compact(compacted, "conv-001/work")
    say(compacted, "conv-001/work", "zeta")
    say(compacted, MAIN, "eta")
    rebase(compacted, "conv-001/work", onto="main")
    assert turns(compacted, "conv-001/work") == ["zeta"]
    assert [row.head.kind for row in list_summaries(compacted, "conv-001/work").summaries] == ["compaction"] * 2


def test_a_merge_takes_over_the_messages_after_the_compaction_of_the_target(compacted):
    say(compacted, "conv-001/fix", "epsilon")
    merge(compacted, "conv-001", "fix", target="main")
    assert set(turns(compacted)) >= {"delta", "epsilon"}
    retract_compactions(compacted)
    assert set(turns(compacted)) == {"alpha", "beta", "gamma", "delta", "epsilon"}


def test_a_rewind_to_before_the_compaction_removes_it_and_undo_restores_it(compacted):
    rewind(compacted, "conv-001", branch="main", count=2)
    assert turns(compacted) == ["alpha", "beta", "gamma"]
    undo(compacted)
    assert turns(compacted) == ["delta"]


def test_undo_of_a_compaction_leaves_the_messages(repository):
    history(repository, "main: alpha beta")
    compact(repository)
    assert turns(repository) == []
    undo(repository)
    assert turns(repository) == ["alpha", "beta"]


def test_a_summary_that_is_no_compaction_does_not_change_a_context(repository):
    history(repository, "main: alpha beta")
    summarize(repository, MAIN, COUNTER, ratio=0.9)
    assert turns(repository)[:2] == ["alpha", "beta"]


def test_removing_the_last_compaction_goes_back_one_at_a_time(compacted):
    compact(compacted)
    assert turns(compacted) == []
    retract_compactions(compacted, count=1)
    assert turns(compacted) == ["delta"]
    retract_compactions(compacted, count=1)
    assert turns(compacted) == ["alpha", "beta", "gamma", "delta"]


def test_a_compaction_on_a_merged_branch_can_be_removed_there_without_the_target(compacted):
    branch(compacted, "conv-001", name="work", start="main", switch=False)
    retract_compactions(compacted, "conv-001/work")
    assert turns(compacted, "conv-001/work") == ["alpha", "beta", "gamma", "delta"]
    assert turns(compacted) == ["delta"]
    merge(compacted, "conv-001", "work", target="main")
    assert turns(compacted) == ["alpha", "beta", "gamma", "delta"]  # the notice was merged, too


STEPS = st.lists(st.sampled_from(["say", "compact", "retract", "undo"]), min_size=1, max_size=8)


@settings(max_examples=examples(25), deadline=None)
@given(STEPS)
def test_after_any_compactions_a_context_has_what_came_after_the_last_one(tmp_path_factory, steps):
    """And `--all` has every message, whatever was compacted."""
    repository = make_store(tmp_path_factory.mktemp("compactions") / "store.git")
    history(repository, "main: first")
    for number, step in enumerate(steps):
        try:
            if step == "say":
                say(repository, MAIN, f"message-{number}")
            elif step == "compact":
                compact(repository)
            elif step == "undo":
                undo(repository)
            else:
                retract_compactions(repository, count=1)
        except (NotFound, Refused):
            continue
    written = list_plain(repository)
    if not written:
        return  # the first message was undone
    kinds = [row.head.kind for row in list_summaries(repository, MAIN).summaries]
    everything, after = (
        [turn.id for turn in read(repository, include_all=include_all).messages if turn.id in written]
        for include_all in (True, False)
    )
    assert everything == written
    assert after == written[len(written) - len(after) :]
    assert (len(after) == len(written)) is ("compaction" not in kinds)


def list_plain(repository):
    """Return the ids of the messages of main that nobody made of others, oldest first; none if they were undone."""
    try:
        return [e.head.id for e in log(repository, MAIN, oldest_first=True).items if e.head.kind == "plain"]
    except NotFound:
        return []
