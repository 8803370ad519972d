"""What is no repository to share through is refused or noted when it is added or cloned: a store, code, an empty one."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest

from scopes.errors import Inaccessible, NotFound, Refused
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote, show_remotes
from scopes.sync.clone import clone_manifests
from scopes.sync.local_conversations import Selection
from scopes.sync.wrong_remotes import kind_of
from tests.support.git_servers import serve_http
from tests.support.history import history
from tests.support.remotes import clone_to, connection, machine, make_bare, push_to
from tests.support.store import git, make_store, open_store


def add_to(store, address, name="team", **options):
    """Add a remote, and return what was said about it."""
    return add_remote(store, name, parse_address(str(address)), connection(), **options)


def clone_list(path, address):
    """Clone only the list of conversations."""
    return clone_manifests(
        str(path), parse_address(str(address)), Selection(), connection(),
        open_store=lambda: open_store(path), name="origin", directory=f"{path}-index",
    )  # fmt: skip


@pytest.fixture
def code(tmp_path):
    """A repository with one branch of code."""
    path = make_bare(tmp_path / "code.git")
    tree = git(path, "hash-object", "-t", "tree", "-w", "--stdin", stdin=b"").strip()
    git(path, "update-ref", "refs/heads/main", git(path, "commit-tree", "-m", "x", tree).strip())
    return path


@pytest.mark.parametrize(
    ("refs", "kind"),
    [
        ([], "empty"),
        (["refs/heads/main", "refs/tags/v1"], "code"),
        (["refs/heads/main", "refs/scopes/v1/c/x"], "shared"),
        (["refs/scopes/v1/purged/x"], "shared"),
        (["refs/heads/conv-001/main", "refs/scopes/meta/conv-001"], "store"),
        (["refs/scopes/v1/c/x", "refs/scopes/meta/conv-001"], "store"),
    ],
)
def test_the_refs_of_a_repository_say_what_it_is(refs, kind):
    assert kind_of(refs) == kind


def test_a_directory_that_is_missing_or_no_repository_has_the_command_that_makes_one(ours, tmp_path):
    (tmp_path / "my talks").mkdir()
    for address in (tmp_path / "my talks", tmp_path / "missing dir"):
        with pytest.raises((NotFound, Inaccessible)) as caught:
            add_to(ours, address)
        assert caught.value.hint.startswith("check the path")
        subprocess.run(shlex.split(caught.value.hint.rpartition(": ")[2]), check=True, capture_output=True)
        assert add_to(ours, address, name=f"r{len(show_remotes(ours).remotes)}").conversations == 0


@pytest.mark.parametrize("probe", [True, False])
def test_the_store_of_somebody_else_is_no_remote(ours, tmp_path, probe):
    history(make_store(tmp_path / "theirs"), "main: a")
    with pytest.raises(Refused, match="is a scopes store, and not a repository to share through") as caught:
        add_to(ours, tmp_path / "theirs", probe=probe)
    assert "git init --bare DIRECTORY" in caught.value.hint
    assert [row.name for row in show_remotes(ours).remotes] == ["origin"]


def test_the_own_store_is_no_remote_also_through_a_link(ours, tmp_path):
    os.symlink(ours.path, tmp_path / "link")
    for address in (ours.path, tmp_path / "link"):
        with pytest.raises(Refused, match="is this store itself"):
            add_to(ours, address, probe=False)


def test_a_store_without_conversations_is_none_either(ours, tmp_path):
    make_store(tmp_path / "new")
    with pytest.raises(Refused, match="is a scopes store"):
        add_to(ours, tmp_path / "new")


@pytest.mark.parametrize("run", [clone_to, clone_list])
def test_a_store_is_not_cloned_and_nothing_is_left(ours, tmp_path, run):
    with pytest.raises(Refused, match="is a scopes store"):
        run(tmp_path / "copy", ours.path)
    assert not (tmp_path / "copy").exists()


def test_a_store_behind_a_server_is_known_by_its_refs(ours, tmp_path):
    store = make_store(tmp_path / "served" / "store.git")
    history(store, "main: a")
    with serve_http(tmp_path / "served") as server:
        with pytest.raises(Refused, match="is a scopes store"):
            add_to(ours, f"{server.address}/store.git")
        with pytest.raises(Refused, match="is a scopes store"):
            clone_to(tmp_path / "copy", f"{server.address}/store.git")
    assert not (tmp_path / "copy").exists()


def test_a_repository_with_code_is_added_with_a_note(ours, code):
    added = add_to(ours, code)
    assert (added.conversations, len(added.notes)) == (0, 1)
    assert "has 1 branch of code, and no conversation yet" in added.notes[0].text
    push_to(ours, remote="team")
    assert add_remote(ours, "again", parse_address(code), connection()).notes == ()


@pytest.mark.parametrize("run", [clone_to, clone_list])
def test_a_clone_of_code_is_an_error_with_the_cure(code, tmp_path, run):
    with pytest.raises(NotFound, match="has 1 branch of code, and no conversation") as caught:
        run(tmp_path / "copy", code)
    assert f"scopes remote add origin {code}, then: scopes push" in caught.value.hint
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("run", [clone_to, clone_list])
def test_a_clone_of_an_empty_repository_says_so_and_has_the_remote(bare, tmp_path, run):
    cloned = run(tmp_path / "copy", bare)
    assert [note.text for note in cloned.notes] == [f"{bare} has no conversation yet"]
    assert cloned.exit_code == 0
    assert [row.name for row in show_remotes(open_store(tmp_path / "copy")).remotes] == ["origin"]


def test_a_clone_of_conversations_asks_nothing_more(ours, bare, tmp_path, monkeypatch):
    push_to(ours)
    monkeypatch.setattr("scopes.sync.clone.explain_empty", None)
    assert clone_to(tmp_path / "copy", bare).notes == ()


def test_conversations_are_shared_through_a_repository_with_code(ours, code, tmp_path):
    add_to(ours, code)
    push_to(ours, remote="team")
    assert len(clone_to(tmp_path / "copy", code).fetched.conversations) == 1
    assert machine(tmp_path / "other", code)
