"""Push, fetch, pull and clone do the same over every transport: a directory, HTTP, ssh, `git daemon`, a bundle by hand."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from scopes.conversation.new_rename_delete import rename_title
from scopes.errors import Inaccessible
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.sync.bundles import create_bundle
from scopes.sync.change_remotes import show_remotes
from scopes.sync.fetch import fetch
from scopes.sync.local_conversations import Selection, list_roots, make_selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.forged_remotes import FOLDER, Forger
from tests.support.git_servers import find_sshd, serve_daemon, serve_http, serve_ssh
from tests.support.history import history, say, texts
from tests.support.remotes import EVERYTHING, add, clone_to, connection, fetch_from, machine, make_bare, push_to
from tests.support.store import assert_sound, git, open_store

TRANSPORTS = ("directory", "http", "ssh", "git")


@pytest.fixture(params=TRANSPORTS)
def served(request, tmp_path, monkeypatch):
    """Serve a bare repository, and return its address and its path."""
    path = make_bare(tmp_path / "served" / "talks.git")
    git(path, "config", "http.receivepack", "true")
    with ExitStack() as servers:
        if request.param == "http":
            yield f"{servers.enter_context(serve_http(tmp_path / 'served')).address}/talks.git", path
        elif request.param == "git":
            yield f"{servers.enter_context(serve_daemon(tmp_path / 'served'))}/talks.git", path
        elif request.param == "ssh":
            if find_sshd() is None:
                pytest.skip("sshd is not installed")
            server = servers.enter_context(serve_ssh(tmp_path / "ssh"))
            monkeypatch.setenv("GIT_SSH_COMMAND", server.command)
            yield server.address(path), path
        else:
            yield path, path


@pytest.fixture
def store(repository, served):
    """A store with two conversations, which knows the remote; the remote was asked."""
    history(repository, "main: a b", "fix@a: c")
    history(repository, "main: x")
    add(repository, served[0], probe=True)
    return repository


@pytest.mark.slow
def test_days_of_two_people(store, served, tmp_path):
    assert [row.status for row in push_to(store).conversations] == ["new", "new"]
    clone_to(tmp_path / "other", served[0])
    other = open_store(tmp_path / "other", actor="dave")
    for number in range(2):
        say(store, "conv-001/main", f"carol {number}")
        say(other, "conv-001/main", f"dave {number}", author="dave")
        rename_title(other, "conv-002", f"Title {number}")
        assert push_to(store).exit_code == 0
        assert {
            each.state for each in pull(other, resolve_remote(other, None), Selection(), connection()).branches
        } == {"merged"}
        assert push_to(other).exit_code == 0
        fetch_from(store)
        assert list_branch_tips(store, "conv-001") == list_branch_tips(other, "conv-001")
        assert read_metadata(store, "conv-002").title == f"Title {number}"
    for each in (store, other):
        assert_sound(each)
    assert git(served[1], "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.slow
def test_what_moved_meanwhile_is_fetched_and_the_push_goes_on(store, served, tmp_path):
    push_to(store)
    other = machine(tmp_path / "other", served[0], "dave")
    fetch_from(other)
    say(other, "conv-001/fix", "news", author="dave")
    push_to(other)
    say(store, "conv-001/main", "mine")
    assert [row.status for row in push_to(store).conversations] == ["updated"]
    assert texts(store, "conv-001/fix")[-1] == "news"


def test_parts_are_chosen(store, served, tmp_path):
    push_to(store)
    root = next(root for root, name in list_roots(store).items() if name == "conv-002")
    other = machine(tmp_path / "other", served[0])
    assert [row.root for row in fetch_from(other, root[:12]).conversations] == [root]
    late = make_selection((), everything=False, project=None, since="2999-01-01", year=None)
    assert fetch(other, resolve_remote(other, None), late, connection()).conversations == ()


@pytest.mark.slow
def test_a_bad_conversation_does_not_stop_the_others(store, served, tmp_path):
    push_to(store, "conv-001")
    forger = Forger(served[1])
    forger.publish(forger.child(forger.message_tree((FOLDER, b".git", forger.meta))))
    push_to(store, "conv-002")
    other = machine(tmp_path / "other", served[0])
    assert sorted(row.status for row in fetch_from(other).conversations) == ["new", "unacceptable"]


def test_a_repository_that_is_not_there_is_named(store, served):
    address = served[0].replace("talks.git", "missing.git")
    add(store, address, "gone")
    with pytest.raises(Exception, match=r"missing\.git") as caught:
        fetch_from(store, remote="gone")
    assert caught.value.exit_code in {4, Inaccessible.exit_code}


def test_the_remote_says_how_it_is_reached(store, served):
    transport = served[0].partition("://")[0] if "://" in served[0] else "directory"
    assert [row.transport for row in show_remotes(store).remotes] == [transport]


def test_a_bundle_by_hand_brings_the_same(store, served, tmp_path):
    push_to(store)
    create_bundle(store, str(tmp_path / "b.bundle"), EVERYTHING, connection())
    by_hand, by_wire = machine(tmp_path / "hand", served[0]), machine(tmp_path / "wire", served[0])
    add(by_hand, str(tmp_path / "b.bundle"), "usb")
    fetch_from(by_hand, remote="usb")
    fetch_from(by_wire)
    assert {root: list_branch_tips(by_hand, name) for root, name in list_roots(by_hand).items()} == {
        root: list_branch_tips(by_wire, name) for root, name in list_roots(by_wire).items()
    }
