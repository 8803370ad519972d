"""`--project` means the same for everybody: a directory, a path, a name, or the address of the repository."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Ambiguous, NotFound
from scopes.history.names import find_directory
from scopes.store.projects import read_project
from scopes.sync import git_transport
from scopes.sync.choose_to_send import choose_to_send
from scopes.sync.connection import quarantine_of
from scopes.sync.fetch import fetch
from scopes.sync.fetch_manifests import fetch_manifests
from scopes.sync.local_conversations import Selection, choose_local
from scopes.sync.names import project_digest
from scopes.sync.nothing_found import none_selected
from scopes.sync.remote_projects import read_directories
from scopes.sync.remote_selection import list_all
from scopes.sync.remotes import resolve_remote
from tests.support.git_servers import serve_http
from tests.support.history import history, session_in
from tests.support.planted import MIXED, with_crc32
from tests.support.recalled import recalled
from tests.support.remotes import add, connection, fetch_from, machine, push_to
from tests.support.store import git

SHOP, BACKEND, SITE = "/alice/src/shop", "/alice/src/shop/backend", "/alice/src/site"


@pytest.fixture
@recalled
def alice(repository, bare):
    """Three sessions of alice in directories that only her machine has, which were pushed."""
    for number, directory in enumerate((SHOP, BACKEND, SITE), 1):
        session_in(repository, number, directory)
    add(repository, bare)
    push_to(repository)
    return repository


@pytest.fixture
@recalled
def bob(alice, bare, tmp_path):
    """Another machine, which has nothing yet."""
    return machine(tmp_path / "bob-store", bare, "bob")


def checkout(path, url=None):
    """Make a directory with a git repository that names a remote, and return its path."""
    (path / ".git").mkdir(parents=True)
    (path / ".git" / "config").write_text(
        "[core]\n\tbare = false\n" if url is None else f'[remote "origin"]\n\turl = {url}\n'
    )
    return str(path)


def directory(path):
    """Choose the project of a directory."""
    return read_project(str(path), "/")


def fetched_by(store, project):
    """Fetch the conversations of a project, and return where they began."""
    done = fetch(store, resolve_remote(store, None), Selection(project=project), connection())
    return sorted(find_directory(store, row.conversation) for row in done.conversations)


@pytest.mark.parametrize("name", ["shop", "Shop", "git@host:team/shop.git", "https://host/team/shop"])
def test_a_name_and_an_address_find_what_others_have_below_a_directory_of_that_name(bob, name):
    assert fetched_by(bob, read_project(name, "/")) == [SHOP, BACKEND]


@pytest.mark.parametrize(
    ("folder", "url"),
    [("shop", None), ("shop", "git@host:team/other.git"), ("code", "git@host:team/shop.git"), ("x/SHOP", None)],
)
def test_a_directory_here_finds_the_same_project_of_others(bob, tmp_path, folder, url):
    assert fetched_by(bob, directory(checkout(tmp_path / "work" / folder, url))) == [SHOP, BACKEND]


def test_a_path_of_another_machine_is_that_directory_and_what_is_below(bob):
    assert fetched_by(bob, directory(SHOP)) == [SHOP, BACKEND]
    assert fetched_by(bob, directory(SITE)) == [SITE]


def test_a_path_below_the_project_is_narrower(bob):
    assert fetched_by(bob, directory(BACKEND)) == [BACKEND]


def test_an_unknown_project_is_an_error_that_names_those_of_the_remote(bob):
    with pytest.raises(NotFound, match="origin has no conversation of the project git-sync") as caught:
        fetched_by(bob, read_project("git-sync", "/"))
    assert caught.value.hint == "projects: backend, shop, site"


def test_a_secret_in_a_directory_of_others_is_not_shown():
    name = with_crc32("ghp_", MIXED[:30])
    found = none_selected("origin", Selection(project=read_project("x", "/")), ["2026"], ["shop", name, f"a-{name}"])
    assert found.hint.startswith("projects: ")
    assert "shop" in found.hint
    assert MIXED[:8] not in found.hint


def test_manifests_are_chosen_in_the_same_way(bob, tmp_path):
    selection = Selection(project=read_project("site", "/"))
    done = fetch_manifests(bob, resolve_remote(bob, None), selection, connection(), str(tmp_path / "index"))
    assert (done.total, done.new) == (1, 1)


def test_year_and_project_are_both_to_be_met(bob):
    with pytest.raises(NotFound, match="of the project shop and of 1999"):
        fetch(bob, resolve_remote(bob, None), Selection(project=read_project("shop", "/"), year="1999"), connection())


def directories_of(store):
    """Return what is found out about the projects of the remote."""
    remote = resolve_remote(store, None)
    with quarantine_of(store) as quarantine:
        listed = list_all(connection().open(quarantine, remote.address))
    return read_directories(store, remote, connection(), listed)


EVERY = {project_digest(each): each for each in (SHOP, BACKEND, SITE)}


def test_the_roots_say_the_directories_and_nothing_is_taken(bob):
    assert directories_of(bob) == EVERY
    assert git(bob, "for-each-ref") == ""


def test_what_is_here_already_is_not_asked_for(alice, monkeypatch):
    monkeypatch.setattr(git_transport.GitTransport, "fetch_alone", None)
    assert directories_of(alice) == EVERY


def test_a_server_of_protocol_0_is_asked_for_a_whole_conversation_of_each_project(bob, monkeypatch):
    options = [each for each in git_transport._OPTIONS if not each.startswith("protocol.")]
    monkeypatch.setattr(git_transport, "_OPTIONS", (*options, "protocol.version=0"))
    assert directories_of(bob) == EVERY
    assert git(bob, "for-each-ref") == ""


def test_a_server_gives_the_roots_over_http_too(alice, bare, tmp_path):
    with serve_http(os.path.dirname(bare)) as server:
        other = machine(tmp_path / "over-http", f"{server.address}/{os.path.basename(bare)}")
        assert fetched_by(other, read_project("site", "/")) == [SITE]


def test_a_root_that_does_not_agree_with_its_ref_has_no_project(bob, bare):
    ref = next(
        each for each in git(bare, "for-each-ref", "--format=%(refname)").split() if project_digest(SITE) in each
    )
    forged = ref.replace(project_digest(SITE), project_digest("/alice/secret"))
    git(bare, "update-ref", forged, ref)
    git(bare, "update-ref", "-d", ref)
    assert project_digest("/alice/secret") not in directories_of(bob)


def test_conversations_without_a_directory_are_of_no_project(ours, bare, tmp_path):
    push_to(ours)
    other = machine(tmp_path / "other", bare)
    with pytest.raises(NotFound, match="no conversation of the project shop") as caught:
        fetched_by(other, read_project("shop", "/"))
    assert caught.value.hint == "none of them contains the directory of its project"


def test_after_the_fetch_the_list_has_them_by_the_own_directory(bob, tmp_path):
    fetch_from(bob)
    here = directory(checkout(tmp_path / "work" / "shop"))
    assert [find_directory(bob, each) for each in choose_local(bob, Selection(project=here))].count(SITE) == 0
    assert len(choose_local(bob, Selection(project=here))) == 2


def test_a_push_by_a_directory_does_not_send_what_has_only_its_name(bob, tmp_path):
    fetch_from(bob)
    here = Selection(project=directory(checkout(tmp_path / "work" / "shop")))
    assert len(choose_local(bob, here)) == 2
    with pytest.raises(NotFound, match="2 conversations not sent: of the project by the name of a directory"):
        choose_to_send(bob, here)


def test_several_repositories_of_a_name_are_ambiguous_and_listed(bob, tmp_path):
    tops = [checkout(tmp_path / each / "shop", f"git@host:{each}/shop.git") for each in ("one", "two")]
    for number, top in enumerate(tops, 7):
        session_in(bob, number, top)
    with pytest.raises(Ambiguous, match="shop is the name of 2 projects here") as caught:
        fetched_by(bob, read_project("shop", "/"))
    assert all(f"{top} (host/{each}/shop)" in caught.value.hint for top, each in zip(tops, ("one", "two"), strict=True))
    assert choose_local(bob, Selection(project=read_project("git@host:two/shop", "/"))) == ["conv-008"]


def test_a_history_is_not_needed_to_choose(bob):
    history(bob, "main: a")
    assert fetched_by(bob, read_project("site", "/")) == [SITE]
