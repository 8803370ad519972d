"""The states of a merge request: every way from open to merged or closed and back, and what is refused on the way."""

from __future__ import annotations

import pytest

from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.merge import (
    FastForwarded,
    MergeConflicted,
    Merged,
    close_merge_request,
    continue_merge,
    list_merge_requests,
    merge,
    merge_request,
    open_merge_request,
    show_merge_request,
)
from scopes.conversation.new_rename_delete import delete_branch, rename_branch
from scopes.conversation.rebase import cherry_pick, rebase
from scopes.conversation.undo import redo, undo
from scopes.errors import Conflicted, NotFound, Refused
from scopes.history.metadata import read_metadata
from scopes.model.message import Author
from tests.support.decisions import decide, decided
from tests.support.history import history, say, texts
from tests.support.store import assert_sound, refs, with_settings

CAROL, DAVE = Author("carol", "human"), Author("dave", "agent")


@pytest.fixture
def branches(repository):
    """Three branches that began at one message and have one message each."""
    return history(repository, "main: a b", "fix@a: x", "rel@a: r")


@pytest.fixture
def conflicting(repository, branches):
    """Main and fix decide differently."""
    decide(repository, "conv-001/main", "jwt", author="alice")
    decide(repository, "conv-001/fix", "sessions", author="bob")


def opened(repository, source="fix", target="main", title="Fix the login", **options):
    options = {"requester": CAROL, **options}
    return open_merge_request(repository, "conv-001", source, target=target, title=title, **options).row.request


def merged(repository, name="1", **options):
    return merge_request(repository, "conv-001", name, **options)


def closed(repository, name="1", **options):
    return close_merge_request(repository, "conv-001", name, **{"author": CAROL, **options}).row.request


def shown(repository, name="1"):
    return show_merge_request(repository, "conv-001", name)


def states(repository):
    """Return the states by number, of the list and of each view: both are always the same."""
    rows = list_merge_requests(repository, "conv-001", state="all").merge_requests
    assert [shown(repository, row.request.id).row for row in rows] == list(rows)
    return {row.request.number: row.state for row in rows}


def refused(repository, action, message, error=Refused):
    """Assert that an action is refused and writes nothing; return the error."""
    before = refs(repository)
    with pytest.raises(error, match=message) as info:
        action()
    assert refs(repository) == before
    return info.value


def resolve_and_continue(repository, take="source"):
    resolve_conflict(repository, "conv-001", "1", take=take, author=DAVE)
    return continue_merge(repository, "conv-001")


@pytest.mark.parametrize("end", ["merged", "closed"])
def test_an_ended_request_can_be_neither_merged_nor_closed(repository, branches, end):
    """S4-21."""
    opened(repository)
    merged(repository) if end == "merged" else closed(repository)
    error = refused(repository, lambda: merged(repository), f"merge request 1 is {end}")
    assert error.exit_code == 1
    error = refused(repository, lambda: closed(repository), f"merge request 1 is already {end}")
    assert error.exit_code == 1
    assert states(repository) == {1: end}


def test_undo_and_redo_go_through_all_states_one_step_at_a_time(repository, branches):
    """S4-21: opening, closing and merging are one operation each."""
    opened(repository)
    closed(repository)
    opened(repository, title="Again")
    merged(repository, "2")
    steps = [{1: "closed", 2: "merged"}, {1: "closed", 2: "open"}, {1: "closed"}, {1: "open"}, {}]
    for number, expected in enumerate(steps):
        assert states(repository) == expected
        if number < len(steps) - 1:
            undo(repository)
    for expected in reversed(steps[:-1]):
        redo(repository)
        assert states(repository) == expected
    assert_sound(repository)


def test_who_merged_or_closed_it_and_why_is_recorded(repository, branches):
    """S4-21."""
    opened(repository)
    opened(repository, "rel", title="Release")
    request = closed(repository, "2", reason="  not this week\n", author=DAVE)
    assert (request.ended_by, request.reason, request.merge) == ("dave", "not this week", None)
    outcome = merged(repository)
    request = shown(repository).row.request
    assert (request.ended_by, request.merge, request.reason) == (repository.caller.actor, outcome.tip, None)


def test_what_show_foresees_is_what_the_merge_does(repository, conflicting):
    """S4-18."""
    opened(repository)
    view = shown(repository)
    outcome = merged(repository)
    assert isinstance(outcome, MergeConflicted)
    assert (view.outcome, view.conflicts, view.messages) == ("conflict", outcome.conflicts, len(outcome.messages))


def test_show_and_list_write_nothing(repository, conflicting):
    opened(repository)
    before = refs(repository)
    shown(repository)
    list_merge_requests(repository)
    assert refs(repository) == before


def test_a_stopped_request_is_open_and_is_not_merged_a_second_time(repository, conflicting):
    """S4-16."""
    opened(repository)
    stopped = merged(repository)
    assert states(repository) == {1: "open"}
    error = refused(repository, lambda: merged(repository), f"in progress on {stopped.branch}")
    assert "scopes merge conv-001 --continue" in error.hint
    refused(repository, lambda: continue_merge(repository, "conv-001"), "open conflict", Conflicted)
    resolve_and_continue(repository)
    assert states(repository) == {1: "merged"}


def test_undo_of_the_continued_merge_opens_the_request_with_its_conflict_resolved(repository, conflicting):
    opened(repository)
    stopped = merged(repository)
    resolve_and_continue(repository)
    undo(repository)
    view = shown(repository)
    assert (view.row.state, view.in_progress) == ("open", stopped.branch)
    assert isinstance(continue_merge(repository, "conv-001"), Merged)
    assert states(repository) == {1: "merged"}


def test_a_request_that_is_closed_while_its_merge_waits_stays_closed(repository, conflicting):
    """Somebody closed it, and somebody merged all the same: the record says what each of them did."""
    opened(repository)
    merged(repository)
    closed(repository, reason="superseded")
    resolve_and_continue(repository)
    assert states(repository) == {1: "closed"}
    assert decided(repository, "conv-001/main") == ["sessions"]


def test_a_target_that_moved_while_the_merge_waited_is_merged_and_completes_the_request(repository, conflicting):
    opened(repository)
    merged(repository)
    say(repository, "conv-001/main", "meanwhile")
    outcome = resolve_and_continue(repository)
    assert shown(repository).row.request.merge == outcome.tip
    assert texts(repository, "conv-001/main").count("meanwhile") == 1


def test_requests_in_both_directions_are_both_merged_by_a_fast_forward_back(repository, branches):
    opened(repository)
    opened(repository, "main", "fix", title="Update")
    merged(repository)
    view = shown(repository, "2")
    assert (view.row.state, view.outcome) == ("open", "fast-forward")
    assert isinstance(merged(repository, "2"), FastForwarded)
    assert states(repository) == {1: "merged", 2: "merged"}


def test_a_cherry_picked_message_does_not_complete_a_request(repository, branches):
    opened(repository)
    cherry_pick(repository, "conv-001", ["fix"], branch="main")
    assert states(repository) == {1: "open"}
    assert isinstance(merged(repository), Merged)
    assert texts(repository, "conv-001/main").count("x") == 1


def test_a_target_that_got_the_source_by_a_rebase_has_merged_it(repository, branches):
    """Nothing recorded it: the history says so."""
    opened(repository)
    rebase(repository, "conv-001", branch="main", onto="fix")
    assert read_metadata(repository, "conv-001").requests[shown(repository).row.request.id].state == "open"
    assert states(repository) == {1: "merged"}
    rebase(repository, "conv-001", branch="main", onto="rel")
    assert states(repository) == {1: "open"}


def test_renamed_branches_keep_an_open_request_and_leave_an_ended_one(repository, branches):
    opened(repository, "fix", "rel")
    closed(repository)
    opened(repository, "fix", "rel", title="Again")
    rename_branch(repository, "conv-001", "rel", "stable")
    rename_branch(repository, "conv-001", "fix", "login")
    named = {
        row.request.number: (row.request.source, row.request.target)
        for row in list_merge_requests(repository, "conv-001", state="all").merge_requests
    }
    assert named == {1: ("fix", "rel"), 2: ("login", "stable")}
    assert merged(repository, "2").branch == "stable"
    undo(repository)
    undo(repository)
    assert shown(repository, "2").row.request.source == "fix"


def test_a_deleted_target_is_named_and_the_request_can_only_be_closed(repository, branches):
    opened(repository, target="rel")
    delete_branch(repository, "conv-001", "rel", force=True)
    view = shown(repository)
    assert (view.row.state, view.gone, view.problem) == ("open", ("rel",), "branch rel does not exist")
    error = refused(repository, lambda: merged(repository), "branch rel of merge request 1", NotFound)
    assert (error.exit_code, error.hint) == (4, "close the request: scopes mr close conv-001 1")
    assert closed(repository).state == "closed"


def test_what_prevents_a_merge_is_the_problem_that_show_names(repository, conflicting):
    """S4-15."""
    opened(repository)
    strict = with_settings(repository, rule_decision_disagreement="fail")
    view = show_merge_request(strict, "conv-001", "1")
    assert (view.outcome, view.problem) == (None, "a rule forbids merging conflicts of type decision-disagreement")
    refused(strict, lambda: merge_request(strict, "conv-001", "1"), "a rule forbids")


def test_a_request_that_history_merged_does_not_stand_in_the_way_of_a_new_one(repository, branches):
    opened(repository)
    merge(repository, "conv-001", "main", target="fix")
    merge(repository, "conv-001", "fix~0", target="main")
    say(repository, "conv-001/fix", "more")
    assert opened(repository, title="The rest").number == 2


@pytest.mark.parametrize("name", ["2", "0", "#2", "zzzz", "", "#", "-1", "1.0", "²", "main", "fix"])
def test_what_is_no_request_is_not_found(repository, branches, name):
    opened(repository)
    for action in (shown, merged, closed):
        error = refused(repository, lambda action=action: action(repository, name), "no merge request", NotFound)
        assert "scopes mr list conv-001 --state all" in error.hint


@pytest.mark.parametrize("name", ["1", "#1", "001"])
def test_a_number_may_be_written_as_people_write_it(repository, branches, name):
    opened(repository)
    assert shown(repository, name).row.request.number == 1
