"""`remote add --as-branches`: conversations as branches, for a host that takes only branches and tags."""

from __future__ import annotations

import pytest

from scopes.errors import Refused
from scopes.history.names import list_branch_tips
from scopes.store.refs import REMOTES_FILE
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote, remove_remote
from scopes.sync.clone import clone
from scopes.sync.local_conversations import Selection
from scopes.sync.remotes import list_remotes
from tests.support.git_servers import serve_http
from tests.support.history import history, say, texts
from tests.support.remotes import connection, fetch_from, make_bare, push_to
from tests.support.store import git, make_store, open_store, read_bytes

ONLY_BRANCHES = """#!/bin/sh
while read old new ref; do case $ref in refs/heads/*|refs/tags/*);; *) echo "only branches and tags" >&2; exit 1;; esac; done
"""


@pytest.fixture
def host(tmp_path):
    """Serve a repository whose host takes only branches and tags; return its address."""
    path = make_bare(tmp_path / "served" / "talks.git")
    git(path, "config", "http.receivepack", "true")
    hook = tmp_path / "served" / "talks.git" / "hooks" / "pre-receive"
    hook.write_text(ONLY_BRANCHES)
    hook.chmod(0o755)
    with serve_http(tmp_path / "served") as server:
        yield f"{server.address}/talks.git"


@pytest.fixture
def store(repository):
    """A store with a conversation."""
    history(repository, "main: a b", "fix@a: c")
    return repository


def add_as_branches(repository, address, name="origin", **options):
    """Add a remote that keeps conversations as branches."""
    return add_remote(repository, name, parse_address(address)._replace(as_branches=True), connection(), **options)


def test_a_host_that_takes_only_branches_is_noted_with_what_helps(store, host):
    added = add_remote(store, "origin", parse_address(host), connection())
    assert "only branches and tags" in added.notes[0].text
    assert "--as-branches" in added.notes[0].hint
    assert {row.status for row in push_to(store).conversations} == {"refused"}


def test_conversations_are_pushed_and_fetched_as_branches(store, host, tmp_path):
    assert add_as_branches(store, host).notes == ()
    assert [row.status for row in push_to(store).conversations] == ["new"]
    refs = git(tmp_path / "served" / "talks.git", "for-each-ref", "--format=%(refname)").split()
    assert [ref.startswith("refs/heads/scopes/v1/c/") for ref in refs] == [True]
    other = open_store(make_store(tmp_path / "other"), actor="dave")
    add_as_branches(other, host)
    fetch_from(other)
    assert list_branch_tips(other, "conv-001") == list_branch_tips(store, "conv-001")
    say(other, "conv-001/main", "news")
    assert [row.status for row in push_to(other).conversations] == ["updated"]
    fetch_from(store)
    assert texts(store, "conv-001/main")[-1] == "news"
    assert push_to(store).unchanged == 1


@pytest.mark.slow
def test_one_conversation_is_fetched_by_the_id_of_its_root(store, bare, tmp_path):
    history(store, "main: other")
    add_as_branches(store, bare)
    root = push_to(store).conversations[1].root
    other = open_store(make_store(tmp_path / "other"))
    add_as_branches(other, bare)
    assert [row.root for row in fetch_from(other, root[:12]).conversations] == [root]


@pytest.mark.slow
def test_a_clone_remembers_it(store, bare, tmp_path):
    add_as_branches(store, bare)
    push_to(store)
    address, path = parse_address(bare)._replace(as_branches=True), str(tmp_path / "clone")
    clone(path, address, Selection(), connection(), open_store=lambda: open_store(path), name="origin")
    (remote,) = list_remotes(open_store(path))
    assert remote.address.as_branches
    assert fetch_from(open_store(path)).unchanged == 1


def test_a_repository_with_other_branches_is_refused(store, tmp_path, ours, bare):
    push_to(ours, "conv-001")
    git(bare, "update-ref", "refs/heads/main", list_branch_tips(ours, "conv-001")["main"])
    with pytest.raises(Refused, match="has other branches: main"):
        add_as_branches(store, bare, "code")
    assert "code" not in {remote.name for remote in list_remotes(store)}
    add_as_branches(store, bare, "code", probe=False)


def test_the_probe_leaves_no_branch(store, host, tmp_path):
    add_as_branches(store, host)
    assert git(tmp_path / "served" / "talks.git", "for-each-ref") == ""


def test_a_removed_remote_is_forgotten_whole(store, bare):
    add_as_branches(store, bare)
    remove_remote(store, "origin")
    assert b"origin" not in read_bytes(f"{store.path}/{REMOTES_FILE}")
