"""A connection over HTTP that is lost at any request: both sides stay whole, and the same command completes the work."""

from __future__ import annotations

import shutil
from contextlib import suppress

import pytest

from scopes.errors import ScopesError
from scopes.sync.addresses import parse_address
from scopes.sync.edit_remotes import set_remote_address
from scopes.sync.local_conversations import Selection, list_roots
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.examples import sample
from tests.support.git_servers import serve_http
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import clone_to, connection, fetch_from, machine, make_bare, push_to
from tests.support.store import assert_sound, git, open_store, refs

NAME = "conv-001"
WAYS = ("before", "within", "after")


@pytest.fixture
@recalled
def prepared(tmp_path):
    """A repository with two conversations, which two machines have; both have news. Return its path."""
    bare = make_bare(tmp_path / "served" / "talks.git")
    git(bare, "config", "http.receivepack", "true")
    ours = machine(tmp_path / "ours", bare, author="carol")
    history(ours, "main: a b", "fix@a: c")
    push_to(ours)
    theirs = machine(tmp_path / "theirs", bare, author="dave")
    fetch_from(theirs)
    say(theirs, f"{NAME}/main", "theirs", author="dave")
    history(theirs, "main: x")
    push_to(theirs)
    say(ours, f"{NAME}/fix", "ours")
    history(ours, "main: q")
    shutil.copytree(bare, tmp_path / "served-before")
    return bare


@pytest.fixture
def server(prepared, tmp_path):
    """Serve it, to the first machine."""
    with serve_http(tmp_path / "served") as served:
        use_address(open_store(tmp_path / "ours"), f"{served.address}/talks.git")
        yield served


def use_address(store, address):
    """Reach the remote in another way; what is known of it stays."""
    set_remote_address(store, "origin", parse_address(address), connection(), probe=False)


def pull_to(store):
    return pull(store, resolve_remote(store, None), Selection(()), connection())


def clone_here(store):
    clone_to(f"{store.path}-clone", resolve_remote(store, None).address.text)


def restore(tmp_path, name):
    """Put the repository back as it was, and return a new copy of the first machine's store."""
    shutil.rmtree(tmp_path / "served" / "talks.git")
    shutil.copytree(tmp_path / "served-before", tmp_path / "served" / "talks.git")
    shutil.copytree(tmp_path / "ours", tmp_path / name)
    return open_store(tmp_path / name)


def count_requests(server, tmp_path, act):
    """Return how many requests a command makes if nothing is lost."""
    server.requests.clear()
    act(restore(tmp_path, "undisturbed"))
    return len(server.requests)


@pytest.mark.parametrize("act", [push_to, fetch_from, pull_to, clone_here])
@pytest.mark.every_case("each command has requests of its own")
def test_a_command_completes_what_a_lost_connection_has_cut(server, prepared, tmp_path, act):
    requests = count_requests(server, tmp_path, act)
    assert requests > 1
    for number in sample([(number, way) for number in range(1, requests + 1) for way in WAYS], 2):
        store = restore(tmp_path, f"lost-{number}")
        before, acknowledged = refs(store), texts(store, f"{NAME}/fix")
        server.requests.clear()
        server.lost_at, server.lost = number
        is_complete = False
        with suppress(ScopesError):
            act(store)
            is_complete = True
        server.lost_at = None
        assert is_complete or act is push_to or refs(store) == before
        assert_sound(open_store(store))
        git(prepared, "fsck", "--strict")
        if not is_complete:
            act(store)
        use_address(store, prepared)  # nothing else is lost
        pull_to(store)
        push_to(store)
        assert texts(store, f"{NAME}/fix") == acknowledged == ["a", "c", "ours"]
        fetch_from(reader := machine(tmp_path / f"reader-{number}", prepared))
        assert list_roots(reader).keys() == list_roots(store).keys()
        assert texts(reader, f"{NAME}/fix") == acknowledged
        assert texts(reader, f"{NAME}/main") == ["a", "b", "theirs"]
