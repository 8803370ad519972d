"""What a push has named can be allowed by its id, also where no scan looks: subjects, heads and states."""

from __future__ import annotations

import pytest

from scopes.errors import NotFound
from scopes.history.messages import plain_message, read_below, write_commit_over, write_message_blob
from scopes.history.names import list_branch_tips
from scopes.history.transaction import RefTransaction
from scopes.secrets.allow import allow
from scopes.secrets.list import explain
from scopes.store.objects import update_tree
from scopes.store.refs import branch_ref
from scopes.store.transactions import exclusive_write
from scopes.sync.outgoing_secrets import find_outgoing_secrets
from tests.support.planted import KINDS, leaked_parts
from tests.support.remotes import push_to
from tests.sync.test_push_secrets import commit_with

KIND, TOKEN = KINDS[1]


def put_into_a_state(store):
    """Write a claim that no message states."""
    tip = list_branch_tips(store, "conv-001")["main"]
    message = plain_message("carol", "b")
    files = {"decisions/auth=": f'{{"decision":"{TOKEN}"}}\n'.encode()}
    state = update_tree(store, read_below(store, tip).state, files)
    commit = write_commit_over(store, (tip,), message, write_message_blob(store, message), state, time=5)
    with exclusive_write(store):
        tx = RefTransaction(store)
        tx.move_ref(branch_ref("conv-001", "main"), tip, commit)
        tx.commit("test", "a state")


PLACES = {
    "a state": put_into_a_state,
    "a subject": lambda store: commit_with(store, "conv-001", "nothing here", f"use {TOKEN}"),
    "a subject that cuts it": lambda store: commit_with(store, "conv-001", "nothing here", f"{'w ' * 30}{TOKEN}"[:72]),
    "the author of a commit": lambda store: commit_with(store, "conv-001", "b", "b", author=TOKEN),
}


@pytest.fixture(params=PLACES)
def named(request, repository, bare, tmp_path):
    """A store with a secret in one of these places, the id that a push has named, and where the index is."""
    from tests.support.history import history
    from tests.support.remotes import add

    add(repository, bare)
    history(repository, "main: a")
    PLACES[request.param](repository)
    (row,) = push_to(repository).conversations
    return repository, row.reason.partition("github-token (")[2][:8], str(tmp_path / "index")


def test_the_id_that_a_push_names_can_be_allowed(named):
    store, name, index = named
    with pytest.raises(NotFound):
        allow(store, name, index_directory=index)
    done = allow(store, name, index_directory=index, find_elsewhere=find_outgoing_secrets)
    assert (done.change, done.secret.rule) == ("allowed", "github-token")
    (row,) = push_to(store).conversations
    assert (row.status, row.reason) == ("new", None)
    assert find_outgoing_secrets(store) == []


def test_the_id_that_a_push_names_is_explained_without_the_secret(named):
    store, name, index = named
    found = explain(store, name, index_directory=index, find_elsewhere=find_outgoing_secrets)
    assert {(place.conversation, place.rule) for place in found.places} == {("conv-001", "github-token")}
    assert leaked_parts(KIND, TOKEN, repr(found)) == []


def test_an_id_that_is_nowhere_is_not_found(named):
    store, _, index = named
    with pytest.raises(NotFound, match="there is no secret"):
        allow(store, "0" * 12, index_directory=index, find_elsewhere=find_outgoing_secrets)
