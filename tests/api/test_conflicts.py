"""Conflicts in a program: open and ended ones are listed, shown and resolved as on the command line."""

from __future__ import annotations

import json

import pytest

import scopes

DATABASE = ({"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})


@pytest.fixture
def stopped(conversation):
    """A conversation with a merge that stopped on a conflict about a decision, and on one about a file."""
    conversation.append_on_both("decision", *DATABASE)
    for branch in ("main", "fix"):
        conversation.append(branch, branch, "--data", f'{{"files": [{{"op": "edit", "path": "{branch}.py"}}]}}')
    conversation.merge(code=3)
    return conversation


@pytest.fixture
def ended(stopped):
    """The same with the conflict resolved and the merge finished."""
    stopped.resolve(stopped.list_conflicts()[0], "--take", "source", "--reason", "measured")
    stopped.continue_merge()
    return stopped


def test_open_conflicts_are_listed(stopped, same):
    listed = same(("conflicts", "list", stopped.id), lambda talk: talk.conflicts())
    assert [(row.number, row.conflict.key) for row in listed.conflicts] == [(1, "decisions/db")]


def test_conflicts_that_have_ended_are_listed_when_asked_for(ended, same):
    assert same(("conflicts", "list", ended.id), lambda talk: talk.conflicts()).conflicts == ()
    listed = same(("conflicts", "list", ended.id, "--all"), lambda talk: talk.conflicts(include_all=True))
    (row,) = listed.conflicts
    assert (row.conflict.status, row.conflict.resolution.reason) == ("resolved", "measured")


@pytest.mark.parametrize("status", ["open", "debate", "escalated", "resolved", "aborted"])
def test_conflicts_are_listed_by_status(ended, same, status):
    words = ("conflicts", "list", ended.id, "--status", status)
    assert len(same(words, lambda talk: talk.conflicts(status=status)).conflicts) == (status == "resolved")


def test_an_aborted_conflict_is_listed_with_all_others(stopped, talk):
    talk.abort_merge()
    assert talk.conflicts().conflicts == ()
    assert [row.conflict.status for row in talk.conflicts(include_all=True).conflicts] == ["aborted"]


def test_a_store_lists_the_conflicts_of_all_conversations(stopped, store):
    stopped.run("new", "another")
    assert [row.conversation for row in store.conflicts().conflicts] == [stopped.id]
    store.conversation(stopped.id).resolve(1, take="target")
    assert store.conflicts().conflicts == ()
    assert len(store.conflicts(include_all=True).conflicts) == 1
    assert len(store.conflicts(status="resolved").conflicts) == 1


@pytest.mark.parametrize("name", [1, "1", "decisions/db"])
def test_a_conflict_is_shown_by_each_of_its_names(stopped, same, name):
    view = same(("conflicts", "show", stopped.id, str(name)), lambda talk: talk.conflict(name))
    assert view.sides == ("source", "target")
    assert sorted(view.texts.values()) == ["my decision", "my decision"]


def change_file(conversation, branch, name, **change):
    """Append a call of a tool on the file a.py, and its result."""
    call_id = f"{branch}-{name}"
    call = {"type": "tool_call", "call_id": call_id, "name": name, "input": {"file_path": "a.py", **change}}
    result = {"type": "tool_result", "call_id": call_id, "output": "done"}
    conversation.append(branch, "--kind", "answer", "--data", json.dumps({"parts": [call]}), author="claude")
    conversation.append(branch, "--kind", "tool-results", "--data", json.dumps({"parts": [result]}), author="tool")


def test_the_changes_of_a_file_are_shown(conversation, same):
    change_file(conversation, "main", "Write", content="port = 1\n")
    conversation.run("conv", "branch", conversation.id, "other", "--json")
    change_file(conversation, "main", "Edit", old_string="port = 1", new_string="port = 2")
    change_file(conversation, "other", "Edit", old_string="port = 1", new_string="port = 3")
    conversation.run("conv", "merge", conversation.id, "other", "--strict", "--json", code=3)
    words = ("conflicts", "show", conversation.id, "1")
    whole = same(words, lambda talk: talk.conflict(1))
    assert whole.row.conflict.key == "files/a.py"
    assert "+port = 2" in whole.file.target_patch
    assert "+port = 3" in whole.file.source_patch


@pytest.mark.parametrize("options", [{"take": "theirs"}, {"take": "target"}, {"value": "both, one after the other"}])
def test_a_conflict_is_resolved_as_on_the_command_line(stopped, same, options):
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    result = same(
        ("conflicts", "resolve", stopped.id, "1", *words, "--reason", "measured", "--as", "judge"),
        lambda talk: talk.resolve(1, **options, reason="measured", author="judge"),
    )
    assert (result.conflict.status, result.remaining, result.conflict.resolution.actor) == ("resolved", 0, "judge")


@pytest.fixture
def again(ended):
    """The same conflict once more, on two new branches, after it was resolved."""
    for branch, decision in zip(("one", "two"), DATABASE, strict=True):
        ended.run("conv", "branch", ended.id, branch, "--from", ended.first, "--json")
        ended.append_typed(branch, "decision", decision, "alice")
    return ended


def test_a_conflict_that_was_resolved_before_is_resolved_as_before(again, talk):
    talk.merge("two", target="one")
    assert [each.choice for each in talk.conflict(1).row.conflict.earlier] == ["source"]
    done = talk.resolve(1, as_before=True, continue_after=True)
    assert isinstance(done.continued, scopes.Merged)
    assert [row.decision for row in talk.decisions("one").decisions if row.current] == ["files"]


def test_a_conflict_that_was_never_resolved_cannot_be_resolved_as_before(stopped, talk):
    with pytest.raises(scopes.Refused):
        talk.resolve(1, as_before=True)
    assert len(talk.conflicts().conflicts) == 1


REFUSED = {
    "an unknown status": (lambda talk: talk.conflicts(status="settled"), scopes.Invalid),
    "an unknown conflict": (lambda talk: talk.conflict(9), scopes.NotFound),
    "no side": (lambda talk: talk.resolve(1), scopes.Invalid),
    "two ways at once": (lambda talk: talk.resolve(1, take="source", value="x"), scopes.Invalid),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_an_exception_and_resolves_nothing(stopped, talk, case):
    call, error = REFUSED[case]
    with pytest.raises(error):
        call(talk)
    assert len(talk.conflicts().conflicts) == 1
