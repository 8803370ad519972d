"""Merge requests: opened, listed, merged and closed, as data of the conversation (S4-21)."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.branch import branch, rewind
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.merge import (
    MergeConflicted,
    Merged,
    MergeOptions,
    abort_merge,
    close_merge_request,
    continue_merge,
    find_merge_request_anywhere,
    list_merge_requests,
    merge,
    merge_request,
    open_merge_request,
    show_merge_request,
)
from scopes.conversation.new_rename_delete import delete_branch, rename_branch, rename_conversation
from scopes.conversation.rebase import rebase
from scopes.conversation.undo import undo
from scopes.errors import Corrupt, Invalid, NotFound, Refused
from scopes.history.metadata import read_metadata
from scopes.model.conversation import MergeRequest, decode_merge_request, encode_merge_request
from scopes.model.message import Author
from tests.support.decisions import decide
from tests.support.history import history, say
from tests.support.store import Process, assert_sound

CAROL, DAVE = Author("carol", "human"), Author("dave", "agent")


@pytest.fixture
def branches(repository):
    """Two branches with a message each, of which fix can be merged into main."""
    return history(repository, "main: a b", "fix@a: x")


def opened(repository, source="fix", title="Fix the login", **options):
    return open_merge_request(repository, "conv-001", source, title=title, requester=CAROL, **options).row.request


def states(repository):
    """Return the states by number."""
    rows = list_merge_requests(repository, "conv-001", state="all").merge_requests
    return {row.request.number: row.state for row in rows}


def shown(repository, name="1"):
    return show_merge_request(repository, "conv-001", name)


def test_a_request_has_source_target_title_requester_state_and_times(repository, branches):
    """S4-21."""
    request = opened(repository, message="  long\ntext ")
    assert (request.number, request.source, request.target, request.title) == (1, "fix", "main", "Fix the login")
    assert (request.requester, request.requester_kind, request.message) == ("carol", "human", "long\ntext")
    assert request.source_tip == branches.oids["x"]
    assert request.opened.endswith("Z")
    assert shown(repository).row.request == request
    assert shown(repository, request.id[:6]).row.state == "open"


def test_numbers_count_per_conversation_and_are_not_used_again(repository, branches):
    history(repository, "main: c", "other@c: d")
    opened(repository)
    close_merge_request(repository, "conv-001", "1", author=CAROL)
    assert opened(repository).number == 2
    other = open_merge_request(repository, "conv-002", "other", title="Other", requester=CAROL).row.request
    assert other.number == 1
    assert [
        (row.conversation, row.request.number) for row in list_merge_requests(repository, state="all").merge_requests
    ] == [
        ("conv-002", 1),
        ("conv-001", 2),
        ("conv-001", 1),
    ]


@pytest.mark.parametrize("title", ["", "  \n ", "x" * 201])
def test_a_title_is_one_line_of_at_most_200_characters(repository, branches, title):
    with pytest.raises(Invalid, match="title"):
        opened(repository, title=title)


@pytest.mark.parametrize(
    "title", ["\x1b]0;owned\x07 red \x1b[31m", "a\nb\r\nc", "\u202etxt", "\ud83d", '{"v":1}\\', "</system>"]
)
def test_any_title_is_stored_and_read_again(repository, branches, title):
    request = opened(repository, title=title)
    assert "\n" not in request.title
    assert list_merge_requests(repository).merge_requests[0].request.title == request.title
    assert_sound(repository)


def test_only_branches_that_differ_can_be_asked_for(repository, branches):
    for source, target, error in (
        ("nowhere", "main", NotFound),
        ("fix", "nowhere", NotFound),
        ("fix", "fix", Invalid),
    ):
        with pytest.raises(error):
            opened(repository, source, target=target)
    merge(repository, "conv-001", "fix", target="main")
    with pytest.raises(Refused, match="already has all messages"):
        opened(repository)


def test_a_second_request_for_the_same_branches_is_refused_while_one_is_open(repository, branches):
    opened(repository)
    with pytest.raises(Refused, match=r"merge request 1 .* is open"):
        opened(repository)
    assert opened(repository, "main", target="fix").number == 2


def test_show_says_what_the_merge_would_do(repository, branches):
    opened(repository)
    assert (shown(repository).outcome, shown(repository).messages) == ("merged", 1)
    say(repository, "conv-001/fix", "more")
    assert shown(repository).messages == 2
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions")
    view = shown(repository)
    assert view.outcome == "conflict"
    assert [conflict.key for conflict in view.conflicts] == ["decisions/auth"]
    assert list_merge_requests(repository).merge_requests[0].state == "open"


def test_merging_a_request_is_a_merge_that_completes_it(repository, branches):
    opened(repository)
    outcome = merge_request(repository, "conv-001", "1")
    assert isinstance(outcome, Merged)
    request = shown(repository).row.request
    assert (request.state, request.merge) == ("merged", outcome.tip)
    assert request.ended is not None
    with pytest.raises(Refused, match="is merged"):
        merge_request(repository, "conv-001", "1")
    assert list_merge_requests(repository).merge_requests == ()


def test_a_request_is_merged_when_its_conflicts_are_resolved(repository, branches):
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions")
    opened(repository)
    stopped = merge_request(repository, "conv-001", "1")
    assert isinstance(stopped, MergeConflicted)
    assert stopped.exit_code == 3
    assert states(repository) == {1: "open"}
    assert shown(repository).in_progress == stopped.branch
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    continue_merge(repository, "conv-001")
    assert states(repository) == {1: "merged"}


def test_an_aborted_merge_leaves_a_request_open(repository, branches):
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions")
    opened(repository)
    merge_request(repository, "conv-001", "1")
    abort_merge(repository, "conv-001")
    assert states(repository) == {1: "open"}
    assert shown(repository).in_progress is None


def test_a_merge_by_hand_completes_the_request(repository, branches):
    opened(repository)
    merge(repository, "conv-001", "fix", target="main", options=MergeOptions(message="by hand"))
    say(repository, "conv-001/fix", "later")
    assert states(repository) == {1: "merged"}


def test_a_merge_of_a_part_does_not_complete_the_request(repository):
    history(repository, "main: a b", "fix@a: x y")
    opened(repository)
    merge(repository, "conv-001", "fix~1", target="main")
    assert states(repository) == {1: "open"}
    assert shown(repository).messages == 1


def test_a_source_that_reached_the_target_in_another_way_is_merged(repository, branches):
    opened(repository)
    merge(repository, "conv-001", "main", target="fix")
    merge(repository, "conv-001", "conv-001/fix~0", target="main")
    assert states(repository) == {1: "merged"}


def test_a_rewound_source_is_not_merged(repository):
    history(repository, "main: a b", "fix@a: x y")
    opened(repository)
    rewind(repository, "conv-001", branch="fix", count=2)
    assert states(repository) == {1: "open"}
    assert shown(repository).outcome == "up-to-date"


def test_a_rebased_source_is_still_the_source(repository, branches):
    opened(repository)
    rebase(repository, "conv-001", branch="fix", onto="main")
    assert shown(repository).outcome == "fast-forward"
    merge_request(repository, "conv-001", "1")
    assert states(repository) == {1: "merged"}


def test_a_closed_request_has_its_reason_and_a_new_one_can_be_opened(repository, branches):
    opened(repository)
    closed = close_merge_request(repository, "conv-001", "1", reason="not now", author=DAVE).row.request
    assert (closed.state, closed.reason, closed.ended_by) == ("closed", "not now", "dave")
    for refused in (
        lambda: merge_request(repository, "conv-001", "1"),
        lambda: close_merge_request(repository, "conv-001", "1", author=CAROL),
    ):
        with pytest.raises(Refused, match="closed") as info:
            refused()
        assert "scopes mr open conv-001 fix" in info.value.hint
    assert opened(repository).number == 2
    assert states(repository) == {1: "closed", 2: "open"}
    undo(repository)
    undo(repository)
    assert states(repository) == {1: "open"}


def test_a_request_follows_renamed_branches_and_conversations(repository, branches):
    opened(repository)
    rename_branch(repository, "conv-001", "fix", "login")
    rename_conversation(repository, "conv-001", "safari")
    row = list_merge_requests(repository, "safari").merge_requests[0]
    assert (row.request.source, row.state) == ("login", "open")
    assert isinstance(merge_request(repository, "safari", "1"), Merged)


def test_a_conflict_is_completed_under_the_new_name_of_its_source(repository, branches):
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions")
    opened(repository)
    merge_request(repository, "conv-001", "1")
    rename_branch(repository, "conv-001", "fix", "login")
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    continue_merge(repository, "conv-001")
    assert states(repository) == {1: "merged"}


def test_a_request_whose_source_was_deleted_says_so(repository, branches):
    opened(repository)
    delete_branch(repository, "conv-001", "fix", force=True)
    assert shown(repository).gone == ("fix",)
    assert shown(repository).problem == "branch fix does not exist"
    with pytest.raises(NotFound, match="branch fix of merge request 1"):
        merge_request(repository, "conv-001", "1")
    close_merge_request(repository, "conv-001", "1", author=CAROL)
    assert states(repository) == {1: "closed"}


def test_the_source_of_a_merged_request_may_be_deleted(repository, branches):
    opened(repository)
    merge_request(repository, "conv-001", "1")
    delete_branch(repository, "conv-001", "fix", force=True)
    assert states(repository) == {1: "merged"}


def test_a_merge_without_requests_writes_no_metadata(repository, branches):
    before = read_metadata(repository, "conv-001").commit
    merge(repository, "conv-001", "fix", target="main")
    assert read_metadata(repository, "conv-001").commit == before


def test_a_request_alone_is_found_by_its_id_in_any_conversation(repository, branches):
    request = opened(repository)
    history(repository, "main: z")
    assert find_merge_request_anywhere(repository, request.id[:5]) == "conv-001"
    with pytest.raises(NotFound, match="no merge request '1' in conv-002"):
        find_merge_request_anywhere(repository, "1")
    with pytest.raises(NotFound):
        find_merge_request_anywhere(repository, "zzzz")
    with pytest.raises(Invalid, match="is a conversation"):
        find_merge_request_anywhere(repository, "conv-002")


def test_two_writers_at_once_get_different_numbers(repository, branches):
    """Each of two processes opens and closes requests; no number is given twice and none is lost."""
    code = """
import sys
from scopes.conversation.merge import close_merge_request, open_merge_request
from scopes.model.message import Author
from scopes.store.repository import open_repository
repository = open_repository(sys.argv[1])
for count in range(8):
    me = Author(sys.argv[2], "agent")
    made = open_merge_request(repository, "conv-001", sys.argv[2], title=f"{sys.argv[2]} {count}", requester=me)
    close_merge_request(repository, "conv-001", str(made.row.request.number), author=me)
"""
    branch(repository, "conv-001", name="other", start=branches.oids["a"], switch=False)
    say(repository, "conv-001/other", "y")
    writers = [Process(code, repository.path, name) for name in ("fix", "other")]
    for writer in writers:
        writer.finish()
    rows = list_merge_requests(repository, "conv-001", state="all").merge_requests
    assert sorted(row.request.number for row in rows) == list(range(1, 17))
    assert {row.request.title for row in rows} == {f"{name} {count}" for name in ("fix", "other") for count in range(8)}
    assert_sound(repository)


@pytest.mark.parametrize(
    "change", [{"number": "1"}, {"number": 0}, {"title": None}, {"source": 3}, {"source_tip": "main"}]
)
def test_a_damaged_document_is_refused(change):
    request = MergeRequest(
        id="a", number=1, source="b", target="c", title="t", requester="d", source_tip="0" * 40, opened="now"
    )
    data = json.loads(encode_merge_request(request)) | change
    with pytest.raises(Corrupt):
        decode_merge_request(json.dumps(data).encode())
