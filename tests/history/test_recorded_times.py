"""Merges and notices of scopes are shown with the time of the operation that wrote them, if the log has it."""

from __future__ import annotations

import pytest

from scopes.clock import format_seconds, known_seconds, parse_time
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, resolve_conflict, show_conflict
from scopes.conversation.list import list_conversations
from scopes.conversation.log import LogFilter, log
from scopes.conversation.merge import MergeOptions, abort_merge, continue_merge, merge
from scopes.conversation.new_rename_delete import delete_branch
from scopes.conversation.show import cat, show
from scopes.conversation.undo import undo
from scopes.history.messages import RecordedTimes, display_time
from scopes.history.names import list_branch_tips, list_latest, resolve_conversation
from scopes.model.message import Author
from scopes.store.objects import Identity, read_commit
from scopes.store.operations import walk_operation_commits, walk_operations
from scopes.store.refs import OPERATIONS
from tests.support.history import history, say
from tests.support.store import git

OLD = "2025-06-01T10:00:00Z"
CAROL = Author("carol")


@pytest.fixture
def forked(repository):
    """Make two old branches that disagree about a topic."""
    history(repository, conversation="c")
    say(repository, "c/main", "we begin", time=OLD)
    branch(repository, "c", name="fix", start="main", switch=False)
    for name, choice in (("main", "pg"), ("fix", "my")):
        fields = {"kind": "decision", "decision": {"topic": "db", "decision": choice}}
        say(repository, f"c/{name}", f"we use {choice}", time=OLD, **fields)


def newest_operation(repository):
    _, operation = next(walk_operations(repository))
    return f"{operation.time[:19]}Z"


def newest_head(repository, where="c"):
    return next(iter(log(repository, where, bodies=False).items)).head


def test_a_clean_merge_is_shown_at_the_time_of_its_operation(repository):
    history(repository, "main: ", conversation="c")
    say(repository, "c/main", "we begin", time=OLD)
    branch(repository, "c", name="fix", start="main", switch=False)
    for name in ("main", "fix"):
        say(repository, f"c/{name}", name, time=OLD)
    merge(repository, "c", "fix", target="main")
    head = newest_head(repository, "c/main")
    assert (display_time(head), known_seconds(head.time)) == (newest_operation(repository), OLD)
    assert cat(repository, "c/main").head.recorded == head.recorded
    assert show(repository, "c").recent[-1].head.recorded == head.recorded


def test_a_merge_that_stops_and_its_notice_are_shown_at_the_time_of_the_operation(repository, forked):
    merge(repository, "c", "fix", target="main")
    heads = [entry.head for entry in log(repository, "c", bodies=False).items]
    own = [head for head in heads if head.author == "scopes"]
    assert [head.kind for head in own] == ["merge", "system"]
    assert {display_time(head) for head in own} == {newest_operation(repository)}
    assert all(head.recorded is None for head in heads if head not in own)


def test_the_object_of_a_merge_does_not_depend_on_the_time(repository, forked):
    first = merge(repository, "c", "fix", target="main")
    undo(repository)
    second = merge(repository, "c", "fix", target="main")
    assert first.tip == second.tip
    assert display_time(newest_head(repository)) == newest_operation(repository)


def test_a_log_since_the_merge_has_it(repository, forked):
    merge(repository, "c", "fix", target="main")
    only = LogFilter(since=newest_operation(repository))
    assert [entry.head.kind for entry in log(repository, "c", only=only).items] == ["merge", "system"]


def test_a_fast_forward_does_not_change_the_time_of_an_earlier_merge(repository, forked):
    merge(repository, "c", "fix", target="main", options=MergeOptions(strategy="theirs"))
    written = newest_operation(repository)
    branch(repository, "c", name="copy", start="main~1", switch=False)
    merge(repository, "c", "main", target="copy")
    assert display_time(newest_head(repository, "c/copy")) == written


def test_without_the_operation_log_the_stored_time_is_shown(repository, forked):
    merge(repository, "c", "fix", target="main")
    git(repository, "update-ref", "-d", OPERATIONS)
    head = newest_head(repository)
    assert display_time(head) == known_seconds(head.time) == OLD
    assert list_conversations(repository).conversations[0].recorded_at is None


def test_a_list_is_sorted_by_the_time_of_the_merge_and_names_it(repository, forked):
    history(repository, conversation="d")
    say(repository, "d", "later", time="2025-07-01T00:00:00Z")
    merge(repository, "c", "fix", target="main")
    row, other = list_conversations(repository).conversations
    assert (row.id, row.activity) == ("c", newest_operation(repository))
    assert (other.id, other.recorded_at) == ("d", None)
    assert list_latest(repository) == ["c", "d"]
    assert resolve_conversation(repository, "@") == "c"


def test_the_latest_conversation_is_the_first_of_the_list_if_the_clock_of_an_agent_is_ahead(repository):
    """The merge was written before the time in its commit, and its source, with the same time, is deleted."""
    history(repository, "main: a", conversation="c")
    now = newest_operation(repository)
    ahead, between = (format_seconds(parse_time(now) // 10**9 + hours * 3600) for hours in (2, 1))
    branch(repository, "c", name="fix", start="main", switch=False)
    say(repository, "c/fix", "b", time=ahead)
    say(repository, "c/main", "c", time=now)
    merge(repository, "c", "fix", target="main")
    delete_branch(repository, "c", "fix", force=True)
    history(repository, conversation="d")
    say(repository, "d", "later", time=between)
    assert [row.id for row in list_conversations(repository).conversations] == list_latest(repository) == ["c", "d"]


def test_a_conflict_is_dated_by_the_operation_that_opened_it(repository, forked):
    merge(repository, "c", "fix", target="main")
    opened = newest_operation(repository)
    resolve_conflict(repository, "c", "1", take="source", author=CAROL)
    row = show_conflict(repository, "c", "1").row
    assert (row.since, row.opened_at[:19] + "Z") == (OLD, opened)
    assert row.changed_at > row.opened_at
    continue_merge(repository, "c")
    (row,) = list_conflicts(repository, "c", include_all=True).conflicts
    assert row.opened_at[:19] + "Z" == opened


def test_an_open_conflict_without_a_merge_in_progress_is_dated_by_the_operation(repository, forked):
    stopped = merge(repository, "c", "fix", target="main")
    opened = newest_operation(repository)
    branch(repository, "c", name="talk", start=stopped.branch, switch=False)
    abort_merge(repository, "c")
    (row,) = list_conflicts(repository, "c").conflicts
    assert (row.kind, row.since, row.changed_at) == ("branch", OLD, opened)


def test_a_conflict_that_a_merge_resolved_by_itself_is_dated_by_its_operation(repository, forked):
    merge(repository, "c", "fix", target="main", options=MergeOptions(strategy="theirs"))
    (row,) = list_conflicts(repository, "c", include_all=True).conflicts
    assert (row.since, row.changed_at) == (OLD, newest_operation(repository))


def test_only_operations_after_the_stored_time_are_read(repository, forked, monkeypatch):
    merge(repository, "c", "fix", target="main")
    tip = read_commit(repository, list_branch_tips(repository, "c")["main"])
    read = []
    monkeypatch.setattr(
        "scopes.history.messages.walk_operation_commits",
        lambda repository: (read.append(each) or each for each in walk_operation_commits(repository)),
    )
    times = RecordedTimes(repository)
    newest = next(walk_operation_commits(repository)).time
    assert times.find(tip.oid, newest + 3 * 86_400) is None
    assert len(read) == 1
    assert times.find_newest([tip._replace(author=Identity("carol", "carol@humans.scopes"))]) == 0
    assert format_seconds(newest) == newest_operation(repository)


def test_a_merge_that_was_continued_is_shown_at_the_time_at_which_it_stopped(repository, forked):
    merge(repository, "c", "fix", target="main")
    began = newest_operation(repository)
    resolve_conflict(repository, "c", "1", take="source", author=CAROL)
    finished = continue_merge(repository, "c")
    merged = next(entry.head for entry in log(repository, "c", bodies=False).items if entry.head.kind == "merge")
    assert merged.id == finished.message
    assert display_time(merged) == began < newest_operation(repository)
    assert (merged.subject, merged.shown_subject) == ("Merge 1 message", "Merge branch 'fix' into main (1 message)")
    notice = next(entry.head for entry in log(repository, "c", bodies=False).items if entry.head.kind == "system")
    assert display_time(notice) == began


def test_a_merge_names_its_branches_but_not_over_a_text_of_its_own(repository, forked):
    merge(repository, "c", "fix", target="main")
    assert newest_head(repository).shown_subject == "Merge branch 'fix' into main (1 message)"
    abort_merge(repository, "c")
    merge(repository, "c", "fix", target="main", options=MergeOptions(strategy="theirs", message="all in"))
    assert newest_head(repository).shown_subject == "all in"
