"""Push, fetch and clone over HTTP with a password and over ssh, against real servers on this machine."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Inaccessible
from scopes.history.names import list_branch_tips
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote
from tests.support.git_servers import PASSWORD, serve_http, write_credential_helper
from tests.support.history import say
from tests.support.remotes import add, clone_to, connection, fetch_from, machine, make_bare, push_to
from tests.support.store import assert_sound, git, open_store, read_bytes


@pytest.fixture
def served(tmp_path):
    """Make a directory with a repository that may be pushed to over HTTP."""
    path = make_bare(tmp_path / "served" / "talks.git")
    git(path, "config", "http.receivepack", "true")
    return tmp_path / "served"


@pytest.fixture
def helper(tmp_path, monkeypatch):
    """Have git use a credential helper; return the file with what it was asked."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", write_credential_helper(tmp_path / "helper"))
    return tmp_path / "helper" / "asked"


def test_push_fetch_and_clone_over_http_with_a_password(ours, served, helper, tmp_path):
    with serve_http(served, PASSWORD) as server:
        address = f"{server.address}/talks.git"
        add(ours, address, "web")
        assert [row.status for row in push_to(ours, remote="web").conversations] == ["new"]
        clone_to(tmp_path / "other", address)
        other = open_store(tmp_path / "other")
        say(ours, "conv-001/main", "news")
        push_to(ours, remote="web")
        fetch_from(other)
        assert {sent for _, sent in server.requests} > {None}
    assert list_branch_tips(other, "conv-001") == list_branch_tips(ours, "conv-001")
    assert_sound(other)


def test_a_wrong_password_is_refused_and_not_shown(ours, served, helper):
    with serve_http(served, "another password") as server:
        add(ours, f"{server.address}/talks.git", "web")
        with pytest.raises(Inaccessible) as caught:
            push_to(ours, remote="web")
    assert "Authentication failed" in caught.value.message
    assert PASSWORD not in caught.value.message


def test_without_a_helper_git_asks_nobody_and_the_push_fails(ours, served):
    with serve_http(served, PASSWORD) as server:
        add(ours, f"{server.address}/talks.git", "web")
        with pytest.raises(Inaccessible, match="could not read Username"):
            push_to(ours, remote="web")


def test_a_redirect_is_not_followed_and_its_target_is_shown_and_gets_no_password(ours, served, helper):
    with serve_http(served, PASSWORD) as target, serve_http(served, redirect=target.address) as server:
        add(ours, f"{server.address}/talks.git", "web")
        for act in (push_to, fetch_from):
            with pytest.raises(Inaccessible) as caught:
                act(ours, remote="web")
            assert f"it redirects to {target.address}/talks.git" in caught.value.message
        assert target.requests == []
    assert not os.path.exists(helper)


def test_adding_a_remote_says_what_it_has_and_leaves_nothing_there(ours, served, helper):
    with serve_http(served, PASSWORD) as server:
        address = parse_address(f"{server.address}/talks.git")
        added = add_remote(ours, "web", address, connection())
    assert (added.conversations, added.notes) == (0, ())
    assert git(served / "talks.git", "for-each-ref") == ""
    assert b"host=127.0.0.1" in read_bytes(helper)


def test_a_remote_that_takes_no_pushes_is_added_with_a_note(ours, served):
    git(served / "talks.git", "config", "http.receivepack", "false")
    with serve_http(served) as server:
        added = add_remote(ours, "web", parse_address(f"{server.address}/talks.git"), connection())
    assert "did not take a ref of scopes" in added.notes[0].text


def test_a_remote_that_does_not_answer_is_not_added(ours, served):
    with serve_http(served) as server:
        address = parse_address(f"{server.address}/talks.git")
    with pytest.raises(Inaccessible, match="cannot read from"):
        add_remote(ours, "web", address, connection())


@pytest.mark.slow
def test_push_fetch_and_clone_over_ssh(ours, ssh, tmp_path):
    address = ssh.address(make_bare(tmp_path / "ssh.git"))
    add(ours, address, "host", probe=True)
    push_to(ours, remote="host")
    other = machine(tmp_path / "other", address)
    fetch_from(other)
    say(other, "conv-001/fix", "news")
    push_to(other)
    assert [row.status for row in fetch_from(ours, remote="host").conversations] == ["updated"]
    assert list_branch_tips(other, "conv-001") == list_branch_tips(ours, "conv-001")


def test_a_repository_that_an_ssh_server_lacks_is_named(ours, ssh, tmp_path):
    add(ours, ssh.address(tmp_path / "missing.git"), "host")
    with pytest.raises(Inaccessible, match=r"does not appear to be a git repository|Could not read from remote"):
        push_to(ours, remote="host")
