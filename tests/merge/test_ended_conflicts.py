"""Every conflict is listed and shown for ever, however it ended (M15, S4-56, S4-57)."""

from __future__ import annotations

import pytest

from scopes.clock import format_seconds, now_nanoseconds
from scopes.conversation.conflicts import (
    escalate_conflict,
    find_conflict_anywhere,
    list_conflicts,
    resolve_conflict,
    show_conflict,
)
from scopes.conversation.merge import MergeOptions, abort_merge, continue_merge, merge
from scopes.conversation.rebase import Replayed, abort_cherry_pick, abort_rebase
from scopes.conversation.show import cat
from scopes.conversation.undo import undo
from scopes.errors import NotFound, Refused
from scopes.merge import conflicts as conflict_list
from scopes.model.message import Author
from scopes.render.phrases import ago
from scopes.store.objects import read_commit
from tests.merge.test_recorded_conflicts import fork
from tests.render.rendering import seen
from tests.support.history import history
from tests.support.replays import replay
from tests.support.store import with_settings

CAROL = Author("carol")


def ended(repository):
    """Return status and strategy of each conflict that is listed with --all only; each of them can be shown."""
    rows = list_conflicts(repository, "conv-001", include_all=True).conflicts
    shown = [show_conflict(repository, "conv-001", row.conflict.id).row.conflict for row in rows]
    assert [(each.id, each.status) for each in shown] == [(row.conflict.id, row.conflict.status) for row in rows]
    return [(each.status, each.resolution and each.resolution.strategy) for each in shown]


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
@pytest.mark.parametrize("rule", ["first", "second", "skip"])
def test_a_conflict_that_a_rule_resolved_during_a_replay_is_listed(repository, verb, rule):
    """M15: it was stored nowhere."""
    fork(repository)
    done = replay(with_settings(repository, rule_decision_disagreement=rule), verb)
    assert isinstance(done, Replayed)
    assert not list_conflicts(repository, "conv-001").conflicts
    assert ended(repository) == [("resolved", f"rule {rule}")]
    (row,) = list_conflicts(repository, "conv-001", status="resolved").conflicts
    assert (row.branch, row.conflict.key, row.since[:4]) == (done.branch, "decisions/db", "2026")
    assert {each.value for each in (*row.conflict.source, *row.conflict.target)} == {"pg", "my"}


@pytest.mark.parametrize("verb", ["merge", "rebase", "cherry-pick"])
def test_the_conflicts_of_an_aborted_merge_or_replay_are_listed_as_aborted(repository, verb):
    """M15."""
    fork(repository)
    stopped = merge(repository, "conv-001", "fix", target="main") if verb == "merge" else replay(repository, verb)
    escalate_conflict(repository, "conv-001", "1", to="lead", author=CAROL)
    abort = {"merge": abort_merge, "rebase": abort_rebase, "cherry-pick": abort_cherry_pick}[verb]
    abort(repository, "conv-001")
    assert not list_conflicts(repository, "conv-001").conflicts
    assert ended(repository) == [("aborted", None)]
    assert len(list_conflicts(repository, "conv-001", status="aborted").conflicts) == 1
    view = show_conflict(repository, "conv-001", stopped.conflicts[0].id)
    assert (view.row.branch, view.escalated_to, view.sides) == (stopped.branch, "lead", ())
    with pytest.raises(Refused, match="aborted") as error:
        resolve_conflict(repository, "conv-001", stopped.conflicts[0].id, take="source", author=CAROL)
    assert "scopes undo" in error.value.hint
    undo(repository)
    assert ended(repository) == [("escalated", None)]


def test_a_conflict_that_was_aborted_and_resolved_later_is_listed_once(repository):
    fork(repository)
    merge(repository, "conv-001", "fix", target="main")
    abort_merge(repository, "conv-001")
    merge(repository, "conv-001", "fix", target="main", options=MergeOptions(strategy="theirs"))
    assert ended(repository) == [("resolved", "theirs")]


def count_calls(monkeypatch, module, name):
    """Count the calls of a function of a module."""
    calls = []
    original = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args: calls.append(args) or original(*args))
    return calls


def test_the_operation_log_is_read_once_for_all_conversations(repository, monkeypatch):
    """It was read once for each conversation."""
    for number in (1, 2, 3):
        history(repository, "main: a", conversation=f"conv-00{number}")
    read = count_calls(monkeypatch, conflict_list, "walk_operations")
    list_conflicts(repository, include_all=True)
    assert len(read) == 1


@pytest.mark.parametrize("name", ["nothing", "abcdefabcdefa", "Abc"])
def test_a_word_that_cannot_be_an_id_is_not_searched_in_all_conversations(repository, monkeypatch, name):
    for number in (1, 2, 3):
        history(repository, "main: a", conversation=f"conv-00{number}")
    read = count_calls(monkeypatch, conflict_list, "walk_operations")
    with pytest.raises(NotFound, match="there is no conflict"):
        find_conflict_anywhere(repository, name)
    assert len(read) == 1  # the latest conversation can have a key of that name


def test_a_resolved_conflict_has_the_times_of_its_opening_and_its_resolution(repository):
    """It had the creation time of the branch that holds its record."""
    fork(repository)
    merge(repository, "conv-001", "fix", target="main")
    (row,) = list_conflicts(repository, "conv-001").conflicts
    opened = row.since
    assert row.resolved is None
    message = resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL).message
    (during,) = list_conflicts(repository, "conv-001", include_all=True).conflicts
    continue_merge(repository, "conv-001")
    (after,) = list_conflicts(repository, "conv-001", include_all=True).conflicts
    resolved = cat(repository, message).message.time[:19] + "Z"
    assert (during.resolved, after.resolved) == (resolved, resolved)
    assert during.since == after.since <= opened < resolved
    shown = seen(show_conflict(repository, "conv-001", row.conflict.id))
    assert (
        f"Status: resolved, {ago(resolved, now_nanoseconds())}\nOpened: {ago(after.since, now_nanoseconds())}" in shown
    )


def test_a_conflict_that_a_merge_resolved_by_itself_has_the_time_of_the_merge(repository):
    fork(repository)
    done = merge(with_settings(repository, rule_decision_disagreement="first"), "conv-001", "fix", target="main")
    (row,) = list_conflicts(repository, "conv-001", include_all=True).conflicts
    time = format_seconds(read_commit(repository, done.tip).time)
    assert (row.since, row.resolved) == (time, time)
