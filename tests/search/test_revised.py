"""Hits whose text was retracted or amended later are marked."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch
from scopes.model.message import Author
from scopes.search.run import search
from tests.render.rendering import document, piped, seen
from tests.support.history import history


@pytest.fixture
def drawn(repository):
    """A conversation of three messages."""
    return history(repository, "main: alpha beta gamma")


@pytest.fixture
def ask(repository, directory):
    """Search the store."""
    return lambda query, **options: search(repository, query, index_directory=str(directory), **options)


def states(found):
    """Return (retracted, amended) by message id."""
    return {hit.head.id: (hit.retracted, hit.amended) for hit in found.hits}


@pytest.mark.parametrize("reason", ["", "it was wrong"])
def test_a_retracted_message_is_found_once_and_marked(repository, ask, drawn, reason):
    retract(repository, "conv-001", drawn.ids["beta"], reason, author=Author("carol"))
    found = ask("beta")
    assert states(found) == {drawn.ids["beta"]: (True, False)}
    assert document(found)["messages_found"][0]["retracted"] is True
    assert piped(found).rstrip("\n").endswith("\t(retracted) beta")
    assert "retracted" in seen(found)


def test_a_retraction_is_found_by_its_own_text_only(repository, ask, drawn):
    plain = retract(repository, "conv-001", drawn.ids["beta"], "", author=Author("carol"))
    reasoned = retract(repository, "conv-001", drawn.ids["gamma"], "it was wrong", author=Author("carol"))
    assert states(ask("retracted kind:notice")) == {plain.id: (False, False)}
    assert states(ask("wrong")) == {reasoned.id: (False, False)}
    assert states(ask("--", regex=True)) == {}


def test_an_amended_message_is_marked_and_the_amendment_is_not(repository, ask, drawn):
    better = amend(repository, "conv-001", drawn.ids["beta"], "beta, but better", author=Author("carol"))
    found = ask("beta")
    assert states(found) == {drawn.ids["beta"]: (False, True), better.id: (False, False)}
    marks = {hit["message"]["id"]: hit.get("amended") for hit in document(found)["messages_found"]}
    assert marks == {drawn.ids["beta"]: True, better.id: None}


def test_a_message_amended_and_then_retracted_is_marked_as_retracted(repository, ask, drawn):
    amend(repository, "conv-001", drawn.ids["beta"], "better", author=Author("carol"))
    retract(repository, "conv-001", drawn.ids["beta"], "", author=Author("carol"))
    assert states(ask("beta")) == {drawn.ids["beta"]: (True, False)}


def test_a_retraction_on_another_branch_does_not_count(repository, ask, drawn):
    branch(repository, "conv-001", name="fix", switch=False)
    retract(repository, "conv-001", drawn.ids["beta"], "", author=Author("carol"), branch="fix")
    [hit] = ask("beta").hits
    assert (hit.branch, hit.retracted) == ("main", False)


def test_an_unchanged_message_is_not_marked(ask, drawn):
    [hit] = document(ask("beta"))["messages_found"]
    assert not {"retracted", "amended"} & hit.keys()
    assert piped(ask("beta")).rstrip("\n").endswith("\tbeta")
