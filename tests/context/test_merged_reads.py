"""Reads of merged histories: every command that reads sees both sides, and each message once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.context.context import context
from scopes.context.history_block import HistoryRequest
from scopes.context.history_block import history as write_history
from scopes.context.request import Request
from scopes.conversation.changes import blame, changes
from scopes.conversation.decisions import decisions
from scopes.conversation.diff import range_diff
from scopes.conversation.log import bisect, log
from scopes.conversation.merge import merge
from scopes.conversation.stats import files, stats
from scopes.memory.summaries import list_summaries
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.support.examples import examples
from tests.support.history import history, say, texts
from tests.support.store import files_of, make_store


def read_context(repository, where="conv-001/main", **options):
    cache = f"{repository.path}.cache"
    request = Request(**{"where": where, "max_tokens": 4000, **options})
    return context(repository, request, choose_tokenizer(RankFilePaths(cache)), cache)


def read_block(repository, where="conv-001/main", **options):
    choice = choose_tokenizer(RankFilePaths(f"{repository.path}.cache"))
    return write_history(repository, HistoryRequest(where=where, mark="3" * 30, **options), choice)


@pytest.fixture
def merged(repository):
    """A branch with a decision and a file was merged, and main went on."""
    history(repository, "main: a b", "fix@a: c")
    decision = {"topic": "db", "decision": "sqlite"}
    say(repository, "conv-001/fix", "db!", kind="decision", decision=decision, files=[{"path": "db.py", "op": "edit"}])
    merge(repository, "conv-001", "fix", target="main")
    say(repository, "conv-001/main", "e")
    return repository


def test_a_log_has_the_messages_of_both_sides_once(merged):
    shown = texts(merged, "conv-001/main")
    assert sorted(shown) == sorted(["a", "b", "c", "db!", "Merge 2 messages", "e"])
    assert shown.index("a") < shown.index("c") < shown.index("db!") < shown.index("Merge 2 messages") < shown.index("e")


def test_a_context_has_what_a_log_has_without_the_notice_of_the_merge(merged):
    turns = [turn.text.splitlines()[0] for turn in read_context(merged).messages]
    assert turns == [text for text in texts(merged, "conv-001/main") if not text.startswith("Merge ")]


def test_a_block_of_history_has_the_turns_of_the_context(merged):
    block = read_block(merged)
    assert (block.messages, block.total) == (5, 5)
    positions = [block.text.index(f": {text}\n") for text in ("a", "b", "c", "e")]
    assert positions == sorted(positions)


@pytest.mark.parametrize(("branch", "current"), [("conv-001", True), ("conv-001/main", True), ("conv-001/fix", True)])
def test_a_decision_of_the_merged_branch_is_in_effect_on_both(merged, branch, current):
    (row,) = decisions(merged, branch).decisions
    assert (row.topic, row.current, row.state) == ("db", current, "in-effect")


def test_a_file_of_the_merged_branch_is_listed_once(merged):
    assert [row.path for row in files(merged, "conv-001").files] == ["db.py"]


def test_blame_names_the_message_of_the_branch_and_not_the_merge(merged):
    found = blame(merged, "conv-001/main", key="decisions/db")
    assert [row.head.kind for row in found.rows] == ["decision"]


def test_statistics_count_a_message_of_both_branches_once(merged):
    both, main = stats(merged, "conv-001"), stats(merged, "conv-001/main")
    assert both.messages == main.messages
    assert stats(merged, "conv-001/fix").messages == 3


def test_changes_list_the_merge_with_its_operation(merged):
    listed = [change for change in changes(merged, "conv-001").items if "Merge 2 messages" in str(change.after)]
    assert [change.cause for change in listed] == ["system"]


def test_a_range_of_a_merged_branch_has_its_own_messages_before_the_merge(merged):
    found = range_diff(merged, ["main@{2}", "fix"], conversation="conv-001")
    assert [pair.mark for pair in found.pairs] == ["<", ">", ">"]


def test_a_search_along_first_parents_goes_over_the_merge(merged):
    found = bisect(merged, "conv-001/main", lambda point: int(point.head is not None and point.head.subject == "e"))
    tested = [step.point.head.subject for step in found.steps if step.point.head]
    assert found.first_bad.subject == "e"
    assert not {"c", "db!"} & set(tested)


def test_merged_messages_are_not_covered_by_a_summary_yet(merged):
    """Those of the merged branch count like those of the target; the merge is one of them."""
    assert list_summaries(merged, "conv-001/main").uncovered == 6
    assert list_summaries(merged, "conv-001/fix").uncovered == 3


def test_reading_a_merged_history_changes_nothing(merged):
    """S1-27."""
    before = files_of(merged.path)
    read_context(merged), read_block(merged), stats(merged, "conv-001"), list(log(merged, "conv-001/main").items)
    assert files_of(merged.path) == before


HISTORIES = st.lists(st.sampled_from(["main", "fix", "side", "merge fix", "merge side", "fix from main"]), max_size=9)


@settings(max_examples=examples(25), deadline=None)
@given(HISTORIES)
def test_the_context_of_any_merged_history_has_the_messages_of_its_log_in_order(tmp_path_factory, steps):
    """Two branches are merged into main, main into one of them, in any order and any number of times."""
    repository = make_store(tmp_path_factory.mktemp("merged") / "store.git")
    history(repository, "main: a", "fix: ", "side: ")
    for number, step in enumerate(steps):
        if step in {"main", "fix", "side"}:
            say(repository, f"conv-001/{step}", f"{step}-{number}")
        elif step == "fix from main":
            merge(repository, "conv-001", "main", target="fix")
        else:
            merge(repository, "conv-001", step.removeprefix("merge "), target="main")
    expected = [text for text in texts(repository, "conv-001/main") if not text.startswith("Merge ")]
    found = read_context(repository)
    assert [turn.text for turn in found.messages] == expected
    assert len(set(expected)) == len(expected)
    assert read_block(repository).messages == len(expected)
    assert stats(repository, "conv-001/main").messages == len(texts(repository, "conv-001/main"))
