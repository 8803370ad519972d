"""Merge requests in a program: they are asked for, looked at, merged and closed as on the command line."""

from __future__ import annotations

import pytest

import scopes


@pytest.fixture
def changed(conversation):
    """A conversation whose branch fix has a message that main has not."""
    conversation.append("fix", "The cookie is set twice.", author="codex")
    return conversation


@pytest.fixture
def requested(changed):
    """The same with a merge request for fix."""
    changed.request = changed.run(
        "mr", "open", changed.id, "--source", "fix", "--title", "Session cookies", "-m", "All tests pass.", "--json"
    )
    return changed


def test_a_request_is_opened_as_on_the_command_line(changed, same):
    made = same(
        ("mr", "open", changed.id, "--source", "fix", "--title", "Cookies", "-m", "please", "--as", "codex"),
        lambda talk: talk.open_merge_request("fix", "Cookies", message="please", author="codex"),
    )
    assert isinstance(made, scopes.MergeRequestChanged)
    assert (made.change, made.row.state, made.row.request.requester_kind) == ("opened", "open", "agent")


def test_the_requester_is_the_author_of_the_store(changed, open_again):
    talk = open_again(author="alice").conversation(changed.id)
    request = talk.open_merge_request("fix", "Cookies").row.request
    assert (request.requester, request.requester_kind, request.target) == ("alice", "human", "main")


@pytest.mark.parametrize("state", [None, "open", "closed", "merged", "all"])
def test_requests_are_listed_by_state(requested, same, state):
    words = ("mr", "list", requested.id, *(() if state is None else ("--state", state)))
    listed = same(words, lambda talk: talk.merge_requests(state=state))
    assert len(listed.merge_requests) == (state in {None, "open", "all"})


def test_a_store_lists_the_requests_of_all_conversations(requested, store):
    other = store.new("another")
    other.append("hello")
    other.create_branch("fix")
    other.append("more")
    other.open_merge_request("fix", "Another one")
    assert [row.request.title for row in store.merge_requests().merge_requests] == ["Another one", "Session cookies"]
    assert [row.conversation for row in store.merge_requests(state="all").merge_requests] == [other.id, requested.id]


@pytest.mark.parametrize("name", ["number", "text", "id", "prefix"])
def test_a_request_is_shown_by_each_of_its_names(requested, same, name):
    names = {"number": 1, "text": "1", "id": requested.request["id"], "prefix": requested.request["id"][:6]}
    view = same(("mr", "show", requested.id, str(names[name])), lambda talk: talk.merge_request(names[name]))
    assert isinstance(view, scopes.MergeRequestView)
    assert (view.outcome, view.messages, view.gone) == ("fast-forward", 1, ())


def test_a_view_shows_the_conflicts_that_the_merge_would_have(requested, same):
    requested.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    view = same(("mr", "show", requested.id, "1"), lambda talk: talk.merge_request(1))
    assert (view.outcome, [each.key for each in view.conflicts]) == ("conflict", ["decisions/db"])


def test_the_merge_of_a_request_is_the_merge_of_its_branch(requested, same):
    outcome = same(("mr", "merge", requested.id, "1"), lambda talk: talk.merge("mr/1"))
    assert isinstance(outcome, scopes.FastForwarded)
    assert requested.run("mr", "list", requested.id, "--format", "{state}", "--state", "all") == "merged\n"


def test_the_merge_of_a_request_has_the_options_of_a_merge(requested, same):
    outcome = same(
        ("mr", "merge", requested.id, "1", "--no-ff", "-m", "Reviewed by carol"),
        lambda talk: talk.merge("mr/1", fast_forward=False, message="Reviewed by carol"),
    )
    assert isinstance(outcome, scopes.Merged)


def test_a_request_whose_merge_stops_is_merged_when_the_merge_is_continued(requested, talk):
    requested.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    stopped = talk.merge("mr/1")
    assert isinstance(stopped, scopes.MergeConflicted)
    assert talk.merge_request(1).in_progress == stopped.branch
    talk.resolve(1, take="source")
    assert isinstance(talk.continue_merge(), scopes.Merged)
    assert talk.merge_request(1).row.state == "merged"


def test_a_strategy_decides_the_conflicts_of_a_request(requested, talk):
    requested.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    assert isinstance(talk.merge("mr/1", strategy="theirs"), scopes.Merged)
    assert [row.decision for row in talk.decisions().decisions if row.current] == ["files"]


def test_a_request_is_closed_with_a_reason(requested, same):
    closed = same(
        ("mr", "close", requested.id, "1", "--reason", "done on main already", "--as", "codex"),
        lambda talk: talk.close_merge_request(1, "done on main already", author="codex"),
    )
    assert (closed.change, closed.row.state, closed.row.request.ended_by) == ("closed", "closed", "codex")


def test_each_step_is_undone(requested, store, talk):
    talk.close_merge_request(1)
    assert talk.merge_request(1).row.state == "closed"
    store.undo()
    assert talk.merge_request(1).row.state == "open"
    store.undo()
    assert talk.merge_requests(state="all").merge_requests == ()


REFUSED = {
    "an unknown state": (lambda talk: talk.merge_requests(state="stale"), scopes.Invalid),
    "an unknown request": (lambda talk: talk.merge_request(9), scopes.NotFound),
    "the same request again": (lambda talk: talk.open_merge_request("fix", "Again"), scopes.Refused),
    "a branch into itself": (lambda talk: talk.open_merge_request("fix", "x", target="fix"), scopes.Invalid),
    "a branch that does not exist": (lambda talk: talk.open_merge_request("none", "x"), scopes.NotFound),
    "no title": (lambda talk: talk.open_merge_request("fix", " ", target="main"), scopes.Invalid),
    "nothing to merge": (lambda talk: talk.open_merge_request("main", "x", target="fix"), scopes.Refused),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_an_exception_and_changes_nothing(requested, talk, case):
    call, error = REFUSED[case]
    before = requested.run("mr", "list", "--state", "all", "--json")
    with pytest.raises(error):
        call(talk)
    assert requested.run("mr", "list", "--state", "all", "--json") == before


def test_a_closed_request_is_neither_merged_nor_closed_again(requested, talk):
    talk.close_merge_request(1)
    with pytest.raises(scopes.Refused, match="merge request 1 is closed"):
        talk.merge("mr/1")
    with pytest.raises(scopes.Refused, match="merge request 1 is already closed"):
        talk.close_merge_request(1)
