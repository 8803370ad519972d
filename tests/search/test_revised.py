"""A hit says when its text was retracted or amended since."""

from __future__ import annotations

import pytest

from scopes.conversation.amend import amend, retract
from scopes.conversation.branch import branch
from scopes.search.search import search
from tests.render.showing import document, piped, seen
from tests.support.history import history


@pytest.fixture
def drawn(repository):
    """A conversation of three messages."""
    return history(repository, "main: alpha beta gamma")


@pytest.fixture
def ask(repository, directory):
    """Search the store, and return what was found."""
    return lambda query, **options: search(repository, query, index_directory=str(directory), **options)


def states(found):
    """Return the ids of what was found, each with what has become of it."""
    return {hit.head.id: (hit.retracted, hit.amended) for hit in found.hits}


@pytest.mark.parametrize("reason", ["", "it was wrong"])
def test_a_retracted_text_is_found_once_and_marked(repository, ask, drawn, reason):
    retract(repository, "conv-001", drawn.ids["beta"], reason, author="carol")
    found = ask("beta")
    assert states(found) == {drawn.ids["beta"]: (True, False)}
    assert document(found)["messages_found"][0]["retracted"] is True
    assert piped(found).rstrip("\n").endswith("\t(retracted) beta")
    assert piped(found, template="{state}") == "retracted\n"
    assert "· retracted" in seen(found)


def test_a_notice_is_found_by_what_it_says_itself(repository, ask, drawn):
    plain = retract(repository, "conv-001", drawn.ids["beta"], "", author="carol")
    reasoned = retract(repository, "conv-001", drawn.ids["gamma"], "it was wrong", author="carol")
    assert states(ask("retracted kind:notice")) == {plain.id: (False, False)}
    assert states(ask("wrong")) == {reasoned.id: (False, False)}
    assert states(ask("--", regex=True)) == {}


def test_an_amended_text_is_marked_and_the_new_one_is_not(repository, ask, drawn):
    better = amend(repository, "conv-001", drawn.ids["beta"], "beta, but better", author="carol")
    found = ask("beta")
    assert states(found) == {drawn.ids["beta"]: (False, True), better.id: (False, False)}
    marks = {hit["message"]["id"]: hit.get("amended") for hit in document(found)["messages_found"]}
    assert marks == {drawn.ids["beta"]: True, better.id: None}


def test_what_was_retracted_after_it_was_amended_is_retracted(repository, ask, drawn):
    amend(repository, "conv-001", drawn.ids["beta"], "better", author="carol")
    retract(repository, "conv-001", drawn.ids["beta"], "", author="carol")
    assert states(ask("beta")) == {drawn.ids["beta"]: (True, False)}


def test_another_branch_does_not_count(repository, ask, drawn):
    branch(repository, "conv-001", name="fix", switch=False)
    retract(repository, "conv-001", drawn.ids["beta"], "", author="carol", branch="fix")
    [hit] = ask("beta").hits
    assert (hit.branch, hit.retracted) == ("main", False)


def test_nothing_is_said_of_what_stands(ask, drawn):
    [hit] = document(ask("beta"))["messages_found"]
    assert not {"retracted", "amended"} & hit.keys()
    assert piped(ask("beta")).rstrip("\n").endswith("\tbeta")
